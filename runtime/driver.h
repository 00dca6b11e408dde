// The CUDA driver: loaded at run time, every call checked, every handle owned. Only driver*.cpp
// and stream_memory.cpp know the driver's own types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "tilewright/codegen/target.h"

struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUstream_st;
struct CUevent_st;

namespace tilewright::codegen {
struct TensorMapSpec;
}

namespace tilewright::runtime {

/// What the driver is like on this machine; for reports and for choosing a device.
struct DriverStatus {
  bool loaded = false;  ///< the library is there and has all functions
  int version = 0;      ///< the newest CUDA it supports, e.g. 13000 for 13.0
  int devices = 0;      ///< visible GPUs
  std::string library;  ///< the name it was loaded by
  std::string problem;  ///< why it cannot be used; empty when it can

  bool usable() const { return problem.empty(); }
};

/// Loads the driver on the first call; never throws, never retries. The library is
/// TILEWRIGHT_LIBCUDA when set, else libcuda.so.1 on the loader's path.
const DriverStatus& driver_status();

/// "13.0" for 13000.
std::string version_text(int version);

struct DeviceInfo {
  std::string name;
  int major = 0, minor = 0;
  int multiprocessors = 0;
  int64_t memory_bytes = 0;
  int64_t l2_bytes = 0;          ///< size of the L2 cache
  int64_t shared_bytes = 0;      ///< opt-in dynamic shared memory per block
  bool pageable_access = false;  ///< kernels can read any host memory
};

/// Raises missing_driver, no_gpu or no_such_device unless kernels can run on this device.
void require_device(int device);
/// Properties of a device; raises like require_device.
const DeviceInfo& device_info(int device);
/// The code-generation target of a device; raises like require_device.
Target device_target(int device);

/// Makes the primary context of a device current while alive, and then restores what was current.
/// Costs one query when it is current already. Works on threads that have no context.
class ContextScope {
 public:
  explicit ContextScope(int device);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  bool pushed_ = false;
};

/// Geometry of one launch.
struct LaunchShape {
  static constexpr int kPortableCluster = 8;  ///< that every GPU with clusters can run
  static constexpr int kLargestCluster = 16;

  int64_t grid = 1;          ///< blocks, at most 2^31 - 1; a multiple of the cluster
  int threads = 0;           ///< per block
  int cluster = 1;           ///< blocks per cluster
  int64_t shared_bytes = 0;  ///< dynamic shared memory
  bool cooperative = false;  ///< all blocks run at the same time
};

/// A loaded cubin or PTX text, and its functions.
class Module {
 public:
  /// Loads `cubin` on the device, or `ptx` where the cubin has no code for it. `what` names the
  /// kernel in errors; `compiler` is the NVRTC version that made them, e.g. 13000. Raises
  /// driver_too_old, device_out_of_memory or cuda_call.
  Module(int device, std::string_view cubin, std::string_view ptx, std::string_view what,
         int compiler);
  Module(Module&& other) noexcept
      : device_(other.device_), module_(std::exchange(other.module_, nullptr)) {}
  Module& operator=(Module&& other) noexcept;
  ~Module();

  /// The function `symbol`, fully loaded (so that a later launch is legal in stream capture), and
  /// allowed what launches of this shape need: dynamic shared memory, clusters of more than 8.
  CUfunc_st* function(const std::string& symbol, const LaunchShape& shape) const;

 private:
  int device_ = 0;
  CUmod_st* module_ = nullptr;
};

/// A CUtensorMap, which kernels take by value.
struct alignas(64) TensorMap {
  uint64_t words[16];
};

/// Makes the map by which bulk copies see the tensor at `base`; positions outside are zeros. Raises
/// missing_driver where the driver cannot, or cuda_call. Needs no context.
TensorMap encode_tensor_map(const codegen::TensorMapSpec& spec, const void* base,
                            std::string_view what);

// The calls below need the device's context current (ContextScope). `what` says what was being done
// in the error's words. None of them waits for the device unless it says so.

/// Enqueues a kernel; `params` points to one pointer per parameter.
void launch_kernel(CUfunc_st* function, const LaunchShape& shape, CUstream_st* stream,
                   void** params, std::string_view what);
/// How many blocks of a kernel the current device runs at the same time. Raises cuda_call.
int64_t resident_blocks(CUfunc_st* function, const LaunchShape& shape, int device,
                        std::string_view what);
void fill_bytes(void* pointer, int value, int64_t bytes, CUstream_st* stream);
void copy_to_device(void* to, const void* from, int64_t bytes, CUstream_st* stream);
void copy_to_host(void* to, const void* from, int64_t bytes, CUstream_st* stream);
void copy_on_device(void* to, const void* from, int64_t bytes, CUstream_st* stream);
/// Device memory, 256-byte aligned; null for 0 bytes. Raises device_out_of_memory.
void* allocate_device(int64_t bytes);
void free_device(void* pointer) noexcept;
/// Device memory that is free just now, bytes; 0 where the driver does not say.
int64_t free_device_bytes();
/// Waits for everything on the device.
void synchronize_device();

CUstream_st* create_stream();
void destroy_stream(CUstream_st* stream) noexcept;
void synchronize_stream(CUstream_st* stream);  ///< waits
/// Whether the stream records a graph. A query the driver refuses because some capture is going on
/// counts as yes.
bool is_capturing(CUstream_st* stream);

CUevent_st* create_event();
void destroy_event(CUevent_st* event) noexcept;
void record_event(CUevent_st* event, CUstream_st* stream);
void synchronize_event(CUevent_st* event);  ///< waits
/// Between two recorded and finished events, milliseconds.
float elapsed_ms(CUevent_st* begin, CUevent_st* end);

/// What the driver knows of an address.
struct PointerInfo {
  enum class Kind { unknown, host, device, managed } kind = Kind::unknown;
  int device = 0;  ///< owner of device memory
};
PointerInfo pointer_info(const void* pointer);

/// Raises the error for a driver call that returned `code` (its name and text given): out of
/// memory, or cuda_call saying what was being done.
[[noreturn]] void raise_driver_error(int code, std::string_view name, std::string_view text,
                                     std::string_view what);
/// Raises driver_too_old for a kernel that the driver cannot load.
[[noreturn]] void raise_driver_too_old(std::string_view kernel, int compiler, int driver,
                                       std::string_view name);

}  // namespace tilewright::runtime
