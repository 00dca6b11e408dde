// Queues of device work, and marks in them.
#pragma once

#include <memory>

#include "tilewright/runtime/device.h"

struct CUstream_st;
struct CUevent_st;

namespace tilewright {

/// A queue of work on one device: a CUstream or cudaStream_t borrowed from anywhere, or one made by
/// create(). Copies are the same stream. The default is the device's default ("legacy") stream.
class Stream {
 public:
  Stream() = default;
  /// Borrows a stream (of the primary context), which must outlive its use.
  Stream(CUstream_st* handle) : handle_(handle) {}
  /// A new stream that does not wait for the default stream, destroyed with its last copy. Raises
  /// missing_driver, no_gpu, no_such_device or bad_device (the CPU has no streams).
  static Stream create(Device device = Device::cuda(0));

  CUstream_st* handle() const { return handle_; }
  /// Waits for all work enqueued so far. Raises cuda_call when some of it failed.
  void synchronize(Device device = Device::cuda(0)) const;
  /// Whether a graph is being captured from it.
  bool capturing(Device device = Device::cuda(0)) const;

 private:
  CUstream_st* handle_ = nullptr;
  std::shared_ptr<CUstream_st> owner_;  ///< null for borrowed streams
};

/// A mark in a stream, for timing. Move-only.
class Event {
 public:
  explicit Event(Device device = Device::cuda(0));
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;
  ~Event();

  void record(const Stream& stream = {});
  void synchronize() const;  ///< waits until the work before the mark is done
  /// Milliseconds from `begin` to this mark; waits for this mark.
  float since(const Event& begin) const;
  CUevent_st* handle() const { return handle_; }

 private:
  Device device_;
  CUevent_st* handle_ = nullptr;
};

/// Waits for everything on the device; does nothing for the CPU.
void synchronize(Device device);

}  // namespace tilewright
