#include "tilewright/runtime/driver.h"

#include <cuda.h>
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

#include "tilewright/ir/error.h"
#include "tilewright/ir/log.h"
#include "tilewright/runtime/shared_library.h"

namespace tilewright::runtime {
namespace {

// Every function used: TW_CUDA(name in cuda.h, symbol). Symbols are written out because cuda.h maps
// names to the newest version of a symbol, which an older driver lacks.
#define TW_CUDA_FUNCTIONS(TW_CUDA)                              \
  TW_CUDA(cuInit, "cuInit")                                     \
  TW_CUDA(cuDriverGetVersion, "cuDriverGetVersion")             \
  TW_CUDA(cuGetErrorName, "cuGetErrorName")                     \
  TW_CUDA(cuGetErrorString, "cuGetErrorString")                 \
  TW_CUDA(cuDeviceGetCount, "cuDeviceGetCount")                 \
  TW_CUDA(cuDeviceGetName, "cuDeviceGetName")                   \
  TW_CUDA(cuDeviceTotalMem, "cuDeviceTotalMem_v2")              \
  TW_CUDA(cuDeviceGetAttribute, "cuDeviceGetAttribute")         \
  TW_CUDA(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain") \
  TW_CUDA(cuCtxGetCurrent, "cuCtxGetCurrent")                   \
  TW_CUDA(cuCtxPushCurrent, "cuCtxPushCurrent_v2")              \
  TW_CUDA(cuCtxPopCurrent, "cuCtxPopCurrent_v2")                \
  TW_CUDA(cuCtxSynchronize, "cuCtxSynchronize")                 \
  TW_CUDA(cuModuleLoadData, "cuModuleLoadData")                 \
  TW_CUDA(cuModuleUnload, "cuModuleUnload")                     \
  TW_CUDA(cuModuleGetFunction, "cuModuleGetFunction")           \
  TW_CUDA(cuFuncSetAttribute, "cuFuncSetAttribute")             \
  TW_CUDA(cuFuncGetAttribute, "cuFuncGetAttribute")             \
  TW_CUDA(cuLaunchKernel, "cuLaunchKernel")                     \
  TW_CUDA(cuMemAlloc, "cuMemAlloc_v2")                          \
  TW_CUDA(cuMemFree, "cuMemFree_v2")                            \
  TW_CUDA(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2")            \
  TW_CUDA(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2")            \
  TW_CUDA(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2")            \
  TW_CUDA(cuMemsetD8Async, "cuMemsetD8Async")                   \
  TW_CUDA(cuStreamCreate, "cuStreamCreate")                     \
  TW_CUDA(cuStreamDestroy, "cuStreamDestroy_v2")                \
  TW_CUDA(cuStreamSynchronize, "cuStreamSynchronize")           \
  TW_CUDA(cuStreamIsCapturing, "cuStreamIsCapturing")           \
  TW_CUDA(cuEventCreate, "cuEventCreate")                       \
  TW_CUDA(cuEventDestroy, "cuEventDestroy_v2")                  \
  TW_CUDA(cuEventRecord, "cuEventRecord")                       \
  TW_CUDA(cuEventSynchronize, "cuEventSynchronize")             \
  TW_CUDA(cuEventElapsedTime, "cuEventElapsedTime")             \
  TW_CUDA(cuPointerGetAttribute, "cuPointerGetAttribute")

// Functions that only newer drivers have; null where absent.
#define TW_CUDA_OPTIONAL(TW_CUDA)               \
  TW_CUDA(cuLaunchKernelEx, "cuLaunchKernelEx") \
  TW_CUDA(cuFuncLoad, "cuFuncLoad")

struct Functions {
#define TW_CUDA(function, symbol) decltype(&::function) function = nullptr;
  TW_CUDA_FUNCTIONS(TW_CUDA)
  TW_CUDA_OPTIONAL(TW_CUDA)
#undef TW_CUDA
};

constexpr int kMaxDevices = 64;

struct Driver {
  DriverStatus status;
  SharedLibrary library;
  Functions call;
  std::vector<DeviceInfo> devices;
  // Primary contexts, retained on first use and kept: they belong to the process.
  std::array<std::atomic<CUcontext>, kMaxDevices> contexts{};
  std::mutex mutex;
};

// Fills the table; the name of a missing required symbol, or null.
const char* resolve(const SharedLibrary& library, Functions& call) {
#define TW_CUDA(function, symbol) \
  if (!library.find(symbol, call.function)) return symbol;
  TW_CUDA_FUNCTIONS(TW_CUDA)
#undef TW_CUDA
#define TW_CUDA(function, symbol) library.find(symbol, call.function);
  TW_CUDA_OPTIONAL(TW_CUDA)
#undef TW_CUDA
  return nullptr;
}

std::string describe(const Functions& call, CUresult code) {
  const char *name = nullptr, *text = nullptr;
  call.cuGetErrorName(code, &name);
  call.cuGetErrorString(code, &text);
  return fmt::format("{} ({})", name != nullptr ? name : "unknown error",
                     text != nullptr ? text : "no description");
}

DeviceInfo query(const Functions& call, int device) {
  DeviceInfo info;
  char name[256] = {};
  call.cuDeviceGetName(name, sizeof name, device);
  info.name = name;
  size_t bytes = 0;
  call.cuDeviceTotalMem(&bytes, device);
  info.memory_bytes = static_cast<int64_t>(bytes);
  const auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    call.cuDeviceGetAttribute(&value, which, device);
    return value;
  };
  info.major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  info.minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  info.multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  info.shared_bytes = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  info.pageable_access = attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS) != 0;
  return info;
}

// Loads and initialises; returns what is wrong, empty when nothing is.
std::string open(Driver& driver) {
  const char* path = std::getenv("TILEWRIGHT_LIBCUDA");
  driver.status.library = path != nullptr ? path : "libcuda.so.1";
  std::string problem;
  driver.library = SharedLibrary::open(driver.status.library, problem);
  if (!driver.library)
    return fmt::format(
        "{}; it comes with the NVIDIA driver: install that, and in a container pass "
        "the GPU through (docker run --gpus all)",
        problem);
  if (const char* symbol = resolve(driver.library, driver.call))
    return fmt::format("{} has no {}: the NVIDIA driver is too old, install 525 or newer",
                       driver.status.library, symbol);
  driver.status.loaded = true;
  driver.call.cuDriverGetVersion(&driver.status.version);
  if (const CUresult code = driver.call.cuInit(0); code != CUDA_SUCCESS) {
    const std::string text = describe(driver.call, code);
    return fmt::format(
        "the driver does not start: {}; check that nvidia-smi lists a GPU and that "
        "CUDA_VISIBLE_DEVICES does not hide it",
        text);
  }
  driver.call.cuDeviceGetCount(&driver.status.devices);
  if (driver.status.devices > kMaxDevices) driver.status.devices = kMaxDevices;
  for (int i = 0; i < driver.status.devices; ++i) driver.devices.push_back(query(driver.call, i));
  if (driver.status.devices == 0)
    return "the driver sees no GPU; check nvidia-smi and CUDA_VISIBLE_DEVICES";
  return {};
}

// Never destroyed: arrays with static lifetime free their memory after statics are gone.
Driver& driver() {
  static Driver* const instance = [] {
    auto* fresh = new Driver;
    fresh->status.problem = open(*fresh);
    if (!fresh->status.usable()) log(LogLevel::info, "CUDA driver: {}", fresh->status.problem);
    return fresh;
  }();
  return *instance;
}

const Functions& calls() { return driver().call; }

void check(CUresult code, std::string_view what) {
  if (code == CUDA_SUCCESS) [[likely]]
    return;
  const char *name = nullptr, *text = nullptr;
  calls().cuGetErrorName(code, &name);
  calls().cuGetErrorString(code, &text);
  raise_driver_error(code, name != nullptr ? name : "unknown error",
                     text != nullptr ? text : "no description", what);
}

CUcontext primary_context(int device) {
  require_device(device);
  Driver& d = driver();
  if (CUcontext known = d.contexts[device].load(std::memory_order_acquire)) return known;
  std::lock_guard lock(d.mutex);
  if (CUcontext known = d.contexts[device].load()) return known;
  CUcontext context = nullptr;
  check(d.call.cuDevicePrimaryCtxRetain(&context, device),
        fmt::format("retaining the primary context of GPU {}", device));
  d.contexts[device].store(context, std::memory_order_release);
  return context;
}

CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

// Codes that mean "this binary is not for this driver or device".
bool cannot_load(CUresult code) {
  return code == CUDA_ERROR_NO_BINARY_FOR_GPU || code == CUDA_ERROR_UNSUPPORTED_PTX_VERSION ||
         code == CUDA_ERROR_INVALID_IMAGE || code == CUDA_ERROR_INVALID_PTX ||
         code == CUDA_ERROR_JIT_COMPILER_NOT_FOUND || code == CUDA_ERROR_INVALID_SOURCE;
}

void launch_extended(CUfunction function, const LaunchShape& shape, CUstream stream, void** params,
                     std::string_view what) {
  if (calls().cuLaunchKernelEx == nullptr)
    raise(ErrorId::missing_driver, {},
          "clusters and cooperative launches need cuLaunchKernelEx, NVIDIA driver 520 or newer");
  CUlaunchAttribute attributes[2] = {};
  CUlaunchConfig config = {};
  config.gridDimX = static_cast<unsigned>(shape.grid);
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = static_cast<unsigned>(shape.threads);
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = static_cast<unsigned>(shape.shared_bytes);
  config.hStream = stream;
  config.attrs = attributes;
  if (shape.cluster > 1) {
    CUlaunchAttribute& cluster = attributes[config.numAttrs++];
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim.x = static_cast<unsigned>(shape.cluster);
    cluster.value.clusterDim.y = cluster.value.clusterDim.z = 1;
  }
  if (shape.cooperative) {
    CUlaunchAttribute& cooperative = attributes[config.numAttrs++];
    cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    cooperative.value.cooperative = 1;
  }
  check(calls().cuLaunchKernelEx(&config, function, params, nullptr), what);
}

}  // namespace

const DriverStatus& driver_status() { return driver().status; }

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

void require_device(int device) {
  const DriverStatus& status = driver_status();
  if (!status.loaded) [[unlikely]]
    raise(ErrorId::missing_driver, {}, status.problem);
  if (!status.usable()) [[unlikely]]
    raise(ErrorId::no_gpu, {}, status.problem);
  if (device < 0 || device >= status.devices) [[unlikely]]
    raise(ErrorId::no_such_device, {}, device, status.devices);
}

const DeviceInfo& device_info(int device) {
  require_device(device);
  return driver().devices[device];
}

Target device_target(int device) {
  const DeviceInfo& info = device_info(device);
  Target target = target_of_device(info.major, info.minor, info.multiprocessors);
  if (info.shared_bytes > 0) target.shared_bytes = static_cast<int>(info.shared_bytes);
  return target;
}

ContextScope::ContextScope(int device) {
  CUcontext wanted = primary_context(device);
  CUcontext current = nullptr;
  check(calls().cuCtxGetCurrent(&current), "asking for the current context");
  if (current == wanted) return;
  check(calls().cuCtxPushCurrent(wanted), "making the primary context current");
  pushed_ = true;
}

ContextScope::~ContextScope() {
  CUcontext popped = nullptr;
  if (pushed_) calls().cuCtxPopCurrent(&popped);
}

Module::Module(int device, std::string_view cubin, std::string_view ptx, std::string_view what,
               int compiler)
    : device_(device) {
  ContextScope scope(device);
  CUresult code = calls().cuModuleLoadData(&module_, cubin.data());
  if (code == CUDA_ERROR_NO_BINARY_FOR_GPU && !ptx.empty()) {
    log(LogLevel::info, "kernel {}: no machine code for GPU {}; the driver compiles its PTX", what,
        device);
    code = calls().cuModuleLoadData(&module_, std::string(ptx).c_str());
  }
  if (cannot_load(code)) {
    const char* name = nullptr;
    calls().cuGetErrorName(code, &name);
    raise_driver_too_old(what, compiler, driver_status().version,
                         name != nullptr ? name : "unknown error");
  }
  check(code, fmt::format("loading kernel {}", what));
}

Module& Module::operator=(Module&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(module_, other.module_);
  return *this;
}

Module::~Module() {
  if (module_ == nullptr) return;
  try {
    ContextScope scope(device_);
    calls().cuModuleUnload(module_);
  } catch (const std::exception&) {
    // The driver is shutting down; the process's end frees the module.
  }
}

CUfunc_st* Module::function(const std::string& symbol, int64_t shared_bytes) const {
  ContextScope scope(device_);
  CUfunction found = nullptr;
  check(calls().cuModuleGetFunction(&found, module_, symbol.c_str()),
        fmt::format("looking up kernel {}", symbol));
  if (calls().cuFuncLoad != nullptr)
    check(calls().cuFuncLoad(found), fmt::format("loading kernel {}", symbol));
  constexpr int64_t without_opt_in = 48 * 1024;
  if (shared_bytes > without_opt_in)
    check(calls().cuFuncSetAttribute(found, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                     static_cast<int>(shared_bytes)),
          fmt::format("allowing kernel {} {} bytes of shared memory", symbol, shared_bytes));
  return found;
}

void launch_kernel(CUfunc_st* function, const LaunchShape& shape, CUstream_st* stream,
                   void** params, std::string_view what) {
  if (shape.cluster > 1 || shape.cooperative)
    return launch_extended(function, shape, stream, params, what);
  check(calls().cuLaunchKernel(function, static_cast<unsigned>(shape.grid), 1, 1,
                               static_cast<unsigned>(shape.threads), 1, 1,
                               static_cast<unsigned>(shape.shared_bytes), stream, params, nullptr),
        what);
}

void fill_bytes(void* pointer, int value, int64_t bytes, CUstream_st* stream) {
  if (bytes == 0) return;
  check(calls().cuMemsetD8Async(address(pointer), static_cast<unsigned char>(value),
                                static_cast<size_t>(bytes), stream),
        "filling device memory");
}

void copy_to_device(void* to, const void* from, int64_t bytes, CUstream_st* stream) {
  if (bytes == 0) return;
  check(calls().cuMemcpyHtoDAsync(address(to), from, static_cast<size_t>(bytes), stream),
        "copying to the device");
}

void copy_to_host(void* to, const void* from, int64_t bytes, CUstream_st* stream) {
  if (bytes == 0) return;
  check(calls().cuMemcpyDtoHAsync(to, address(from), static_cast<size_t>(bytes), stream),
        "copying to the host");
}

void copy_on_device(void* to, const void* from, int64_t bytes, CUstream_st* stream) {
  if (bytes == 0) return;
  check(calls().cuMemcpyDtoDAsync(address(to), address(from), static_cast<size_t>(bytes), stream),
        "copying on the device");
}

void* allocate_device(int64_t bytes) {
  if (bytes == 0) return nullptr;
  CUdeviceptr pointer = 0;
  check(calls().cuMemAlloc(&pointer, static_cast<size_t>(bytes)),
        fmt::format("allocating {} bytes of device memory", bytes));
  return reinterpret_cast<void*>(pointer);
}

void free_device(void* pointer) noexcept {
  if (pointer != nullptr) calls().cuMemFree(address(pointer));
}

void synchronize_device() {
  check(calls().cuCtxSynchronize(), "waiting for the device (an earlier kernel may have failed)");
}

CUstream_st* create_stream() {
  CUstream stream = nullptr;
  check(calls().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "creating a stream");
  return stream;
}

void destroy_stream(CUstream_st* stream) noexcept { calls().cuStreamDestroy(stream); }

void synchronize_stream(CUstream_st* stream) {
  check(calls().cuStreamSynchronize(stream),
        "waiting for a stream (an earlier kernel may have failed)");
}

bool is_capturing(CUstream_st* stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult code = calls().cuStreamIsCapturing(stream, &status);
  if (code == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return true;
  check(code, "asking whether a stream is being captured");
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

CUevent_st* create_event() {
  CUevent event = nullptr;
  check(calls().cuEventCreate(&event, CU_EVENT_DEFAULT), "creating an event");
  return event;
}

void destroy_event(CUevent_st* event) noexcept { calls().cuEventDestroy(event); }

void record_event(CUevent_st* event, CUstream_st* stream) {
  check(calls().cuEventRecord(event, stream), "recording an event");
}

void synchronize_event(CUevent_st* event) {
  check(calls().cuEventSynchronize(event),
        "waiting for an event (an earlier kernel may have failed)");
}

float elapsed_ms(CUevent_st* begin, CUevent_st* end) {
  float milliseconds = 0;
  check(calls().cuEventElapsedTime(&milliseconds, begin, end), "timing between events");
  return milliseconds;
}

PointerInfo pointer_info(const void* pointer) {
  PointerInfo info;
  CUmemorytype type{};
  const CUresult code =
      calls().cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address(pointer));
  if (code == CUDA_ERROR_INVALID_VALUE) return info;  // not the driver's memory
  check(code, "asking what a pointer points to");
  unsigned managed = 0;
  calls().cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address(pointer));
  info.kind = managed != 0                 ? PointerInfo::Kind::managed
              : type == CU_MEMORYTYPE_HOST ? PointerInfo::Kind::host
                                           : PointerInfo::Kind::device;
  calls().cuPointerGetAttribute(&info.device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                address(pointer));
  return info;
}

void raise_driver_error(int code, std::string_view name, std::string_view text,
                        std::string_view what) {
  if (code == CUDA_ERROR_OUT_OF_MEMORY) raise(ErrorId::device_out_of_memory, {}, what, name);
  raise(ErrorId::cuda_call, {}, what, name, text);
}

void raise_driver_too_old(std::string_view kernel, int compiler, int driver,
                          std::string_view name) {
  raise(ErrorId::driver_too_old, {}, kernel, version_text(compiler), version_text(driver), name,
        compiler / 1000);
}

}  // namespace tilewright::runtime
