// Device memory that lives as long as some work on a stream does.
#pragma once

#include <cstdint>
#include <utility>

#include "tilewright/runtime/driver.h"

namespace tilewright::runtime {

/// Memory allocated and released in the order of a stream: work enqueued between the constructor
/// and the destructor may use it, and nobody waits. It comes from a pool of the process, which
/// keeps what was released for the next one. Legal in stream capture (the graph then allocates).
/// Where the driver or the device has no pools, it is ordinary memory, whose release waits for the
/// device.
class StreamMemory {
 public:
  StreamMemory() = default;
  /// 256-byte aligned; needs the device's context current. Raises device_out_of_memory, cuda_call,
  /// or workspace_in_capture where the driver has no pools and the stream is captured.
  StreamMemory(int device, int64_t bytes, CUstream_st* stream);
  StreamMemory(StreamMemory&& other) noexcept { *this = std::move(other); }
  StreamMemory& operator=(StreamMemory&& other) noexcept;
  ~StreamMemory();

  void* data() const { return pointer_; }

  /// Makes the device's pool, which later allocations in a capture find.
  static void prepare(int device);

 private:
  void* pointer_ = nullptr;
  CUstream_st* stream_ = nullptr;
  bool pooled_ = false;
};

}  // namespace tilewright::runtime
