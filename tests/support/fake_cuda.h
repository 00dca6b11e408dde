// A CUDA driver without a GPU: device memory is host memory, and a launch calls a function of the
// test. It is a library of its own, loaded in place of libcuda.so.1.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::testing {

/// One kernel launch or fill, as the driver was asked for it.
struct FakeLaunch {
  std::string kernel = {};  ///< empty for a fill
  uint64_t grid = 0;
  unsigned threads = 0, shared_bytes = 0;
  unsigned cluster = 1;
  bool cooperative = false;
  void* stream = nullptr;
  void* context = nullptr;  ///< current on the launching thread
  void* pointer = nullptr;  ///< of a fill
  int value = 0;            ///< of a fill
  uint64_t bytes = 0;       ///< of a fill
};

/// A tensor map, as the driver was asked for it; also what it writes into the 128 bytes of the map.
struct FakeTensorMap {
  void* base = nullptr;
  int dtype = 0, swizzle = 0;  ///< the driver's numbers
  int interleave = 0, promotion = 0, fill = 0;
  uint32_t rank = 0;
  uint64_t sizes[3] = {}, strides[2] = {};
  uint32_t box[3] = {}, steps[3] = {};
};

/// What tests see and set; one for the process.
struct FakeCuda {
  /// Stands for the kernels' code: `params` as given to the launch. Null: launches do nothing.
  void (*run)(const char* kernel, void** params) = nullptr;
  bool recording = true;
  std::vector<FakeLaunch> launches;
  void* capturing = nullptr;              ///< the stream that is being captured
  int fail_code = 0;                      ///< what the next call of fail_in returns, once
  std::string fail_in;                    ///< e.g. "cuMemAlloc"
  int allocations = 0;                    ///< live ones
  int allocated = 0;                      ///< ever
  std::atomic<int> synchronizations = 0;  ///< calls that wait
  std::atomic<int> loaded_modules = 0;    ///< live ones
  std::vector<FakeTensorMap> maps;        ///< made so far
  int pool_allocations = 0;               ///< live ones, made in the order of a stream
  int pool_allocated = 0;                 ///< ever
  void* pool_stream = nullptr;            ///< of the last release
  size_t pool_releases_at = 0;            ///< launches before the last release
  int64_t opted_in_shared = 0;
  bool opted_in_clusters = false;
  int resident_blocks = 2;  ///< of any kernel, on one multiprocessor
  int pointer_device = 0;   ///< which GPU all device memory is said to be on
  int driver_version = 13000;
  bool usable = true;  ///< read when the driver is first used
};

}  // namespace tilewright::testing
