#include "tilewright/runtime/driver.h"

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

#include "tilewright/ir/error.h"
#include "tilewright/ir/log.h"
#include "tilewright/runtime/driver_calls.h"
#include "tilewright/runtime/driver_functions.def"
#include "tilewright/runtime/shared_library.h"

namespace tilewright::runtime {
namespace {

constexpr int kMaxDevices = 64;

struct Driver {
  DriverStatus status;
  SharedLibrary library;
  DriverFunctions call;
  std::vector<DeviceInfo> devices;
  // Primary contexts, retained on first use and kept: they belong to the process.
  std::array<std::atomic<CUcontext>, kMaxDevices> contexts{};
  std::mutex mutex;
};

// Fills the table; the name of a missing required symbol, or null.
const char* resolve(const SharedLibrary& library, DriverFunctions& call) {
#define TW_CUDA(function, symbol) \
  if (!library.find(symbol, call.function)) return symbol;
  TW_CUDA_FUNCTIONS(TW_CUDA)
#undef TW_CUDA
#define TW_CUDA(function, symbol) library.find(symbol, call.function);
  TW_CUDA_OPTIONAL(TW_CUDA)
#undef TW_CUDA
  return nullptr;
}

std::string describe(const DriverFunctions& call, CUresult code) {
  const char *name = nullptr, *text = nullptr;
  call.cuGetErrorName(code, &name);
  call.cuGetErrorString(code, &text);
  return fmt::format("{} ({})", name != nullptr ? name : "unknown error",
                     text != nullptr ? text : "no description");
}

DeviceInfo query(const DriverFunctions& call, int device) {
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
  info.l2_bytes = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
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

CUdeviceptr device_address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

CUcontext primary_context(int device) {
  require_device(device);
  Driver& d = driver();
  if (CUcontext known = d.contexts[device].load(std::memory_order_acquire)) return known;
  std::lock_guard lock(d.mutex);
  if (CUcontext known = d.contexts[device].load()) return known;
  CUcontext context = nullptr;
  check_driver(d.call.cuDevicePrimaryCtxRetain(&context, device),
               fmt::format("retaining the primary context of GPU {}", device));
  d.contexts[device].store(context, std::memory_order_release);
  return context;
}

}  // namespace

const DriverFunctions& driver_calls() { return driver().call; }

void check_driver(int code, std::string_view what) {
  if (code == CUDA_SUCCESS) [[likely]]
    return;
  const char* text = nullptr;
  driver_calls().cuGetErrorString(static_cast<CUresult>(code), &text);
  raise_driver_error(code, driver_error_name(code), text != nullptr ? text : "no description",
                     what);
}

std::string_view driver_error_name(int code) {
  const char* name = nullptr;
  driver_calls().cuGetErrorName(static_cast<CUresult>(code), &name);
  return name != nullptr ? name : "unknown error";
}

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
  check_driver(driver_calls().cuCtxGetCurrent(&current), "asking for the current context");
  if (current == wanted) return;
  check_driver(driver_calls().cuCtxPushCurrent(wanted), "making the primary context current");
  pushed_ = true;
}

ContextScope::~ContextScope() {
  CUcontext popped = nullptr;
  if (pushed_) driver_calls().cuCtxPopCurrent(&popped);
}

void fill_bytes(void* pointer, int value, int64_t bytes, CUstream_st* stream) {
  if (bytes == 0) return;
  check_driver(
      driver_calls().cuMemsetD8Async(device_address(pointer), static_cast<unsigned char>(value),
                                     static_cast<size_t>(bytes), stream),
      "filling device memory");
}

void copy_to_device(void* to, const void* from, int64_t bytes, CUstream_st* stream) {
  if (bytes == 0) return;
  check_driver(driver_calls().cuMemcpyHtoDAsync(device_address(to), from,
                                                static_cast<size_t>(bytes), stream),
               "copying to the device");
}

void copy_to_host(void* to, const void* from, int64_t bytes, CUstream_st* stream) {
  if (bytes == 0) return;
  check_driver(driver_calls().cuMemcpyDtoHAsync(to, device_address(from),
                                                static_cast<size_t>(bytes), stream),
               "copying to the host");
}

void copy_on_device(void* to, const void* from, int64_t bytes, CUstream_st* stream) {
  if (bytes == 0) return;
  check_driver(driver_calls().cuMemcpyDtoDAsync(device_address(to), device_address(from),
                                                static_cast<size_t>(bytes), stream),
               "copying on the device");
}

void* allocate_device(int64_t bytes) {
  if (bytes == 0) return nullptr;
  CUdeviceptr pointer = 0;
  check_driver(driver_calls().cuMemAlloc(&pointer, static_cast<size_t>(bytes)),
               fmt::format("allocating {} bytes of device memory", bytes));
  return reinterpret_cast<void*>(pointer);
}

void free_device(void* pointer) noexcept {
  if (pointer != nullptr) driver_calls().cuMemFree(device_address(pointer));
}

int64_t free_device_bytes() {
  size_t free = 0, total = 0;
  if (driver_calls().cuMemGetInfo == nullptr) return 0;
  check_driver(driver_calls().cuMemGetInfo(&free, &total), "asking for free device memory");
  return static_cast<int64_t>(free);
}

void synchronize_device() {
  check_driver(driver_calls().cuCtxSynchronize(),
               "waiting for the device (an earlier kernel may have failed)");
}

CUstream_st* create_stream() {
  CUstream stream = nullptr;
  check_driver(driver_calls().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "creating a stream");
  return stream;
}

void destroy_stream(CUstream_st* stream) noexcept { driver_calls().cuStreamDestroy(stream); }

void synchronize_stream(CUstream_st* stream) {
  check_driver(driver_calls().cuStreamSynchronize(stream),
               "waiting for a stream (an earlier kernel may have failed)");
}

bool is_capturing(CUstream_st* stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult code = driver_calls().cuStreamIsCapturing(stream, &status);
  if (code == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return true;
  check_driver(code, "asking whether a stream is being captured");
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

CUevent_st* create_event() {
  CUevent event = nullptr;
  check_driver(driver_calls().cuEventCreate(&event, CU_EVENT_DEFAULT), "creating an event");
  return event;
}

void destroy_event(CUevent_st* event) noexcept { driver_calls().cuEventDestroy(event); }

void record_event(CUevent_st* event, CUstream_st* stream) {
  check_driver(driver_calls().cuEventRecord(event, stream), "recording an event");
}

void synchronize_event(CUevent_st* event) {
  check_driver(driver_calls().cuEventSynchronize(event),
               "waiting for an event (an earlier kernel may have failed)");
}

float elapsed_ms(CUevent_st* begin, CUevent_st* end) {
  float milliseconds = 0;
  check_driver(driver_calls().cuEventElapsedTime(&milliseconds, begin, end),
               "timing between events");
  return milliseconds;
}

PointerInfo pointer_info(const void* pointer) {
  PointerInfo info;
  CUmemorytype type{};
  const CUresult code = driver_calls().cuPointerGetAttribute(
      &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device_address(pointer));
  if (code == CUDA_ERROR_INVALID_VALUE) return info;  // not the driver's memory
  check_driver(code, "asking what a pointer points to");
  unsigned managed = 0;
  driver_calls().cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                       device_address(pointer));
  info.kind = managed != 0                 ? PointerInfo::Kind::managed
              : type == CU_MEMORYTYPE_HOST ? PointerInfo::Kind::host
                                           : PointerInfo::Kind::device;
  driver_calls().cuPointerGetAttribute(&info.device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                       device_address(pointer));
  return info;
}

void raise_driver_error(int code, std::string_view name, std::string_view text,
                        std::string_view what) {
  if (code == CUDA_ERROR_OUT_OF_MEMORY) raise(ErrorId::device_out_of_memory, {}, what, name);
  if (code == CUDA_ERROR_ASSERT)
    raise(ErrorId::assertion_failed, {},
          "the driver has printed its message and its line to the standard error");
  raise(ErrorId::cuda_call, {}, what, name, text);
}

}  // namespace tilewright::runtime
