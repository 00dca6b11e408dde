#include "tests/support/fake_cuda.h"

#include <cuda.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <utility>

// The driver loads the first version of this function, cuda.h names the second.
#undef cuEventElapsedTime

using tilewright::testing::FakeCuda;
using tilewright::testing::FakeLaunch;
using tilewright::testing::FakeTensorMap;

namespace {

struct FakeModule {
  std::set<std::string> functions;
};

struct FakeEvent {
  double at = 0;  // microseconds
};

// What was captured: the names of the kernels.
struct FakeGraph {
  std::vector<std::string> kernels;
};

std::mutex mutex;
FakeCuda state;
std::map<char*, size_t> memory;
thread_local std::vector<void*> contexts;
char primary;                   // its address is the primary context
FakeGraph* captured = nullptr;  // being made from state.capturing
double clock_us = 0;            // goes on with each kernel
bool faulted = false;           // a kernel has made the context unusable

// Fails the call that a test has chosen.
CUresult result(const char* call) {
  if (state.fail_in != call) return CUDA_SUCCESS;
  state.fail_in.clear();
  return static_cast<CUresult>(state.fail_code);
}

// Floats in each tensor of the kernels below; 0 where there are none of these.
int named_elements() {
  const char* text = std::getenv("FAKE_CUDA_ELEMENTS");
  return text != nullptr ? std::atoi(text) : 0;
}

// In a process that is no test, kernels are known by the ends of their names: c = a + b, in so many
// microseconds ("_3us"), or something that goes wrong.
void run_named(const std::string& kernel, void** params) {
  if (kernel.ends_with("_crash")) std::abort();
  while (kernel.ends_with("_hang")) ::pause();
  if (kernel.ends_with("_fault")) faulted = true;
  const auto tensor = [&](int i) { return *static_cast<float**>(params[i]); };
  for (int i = 0; i < named_elements(); ++i)
    tensor(2)[i] = kernel.ends_with("_wrong") ? tensor(0)[i] : tensor(0)[i] + tensor(1)[i];
}
double duration_of(const std::string& kernel) {
  return kernel.ends_with("us") ? std::atof(kernel.c_str() + kernel.rfind('_') + 1) : 1;
}

CUresult needs_context(const char* call) {
  if (faulted) return CUDA_ERROR_ILLEGAL_ADDRESS;
  return contexts.empty() || contexts.back() == nullptr ? CUDA_ERROR_INVALID_CONTEXT : result(call);
}

CUresult needs_no_capture(const char* call) {
  ++state.synchronizations;
  if (state.capturing != nullptr) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return needs_context(call);
}

// The allocation an address is in, or the end.
auto allocation_of(CUdeviceptr address) {
  auto* pointer = reinterpret_cast<char*>(address);
  auto it = memory.upper_bound(pointer);
  if (it == memory.begin()) return memory.end();
  --it;
  return pointer < it->first + it->second ? it : memory.end();
}

CUdeviceptr allocate(size_t bytes) {
  auto* pointer = static_cast<char*>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  std::lock_guard lock(mutex);
  memory[pointer] = bytes;
  return reinterpret_cast<CUdeviceptr>(pointer);
}

CUresult launch(const char* call, FakeLaunch made, CUfunction function, void** params) {
  const CUresult code = needs_context(call);
  if (code != CUDA_SUCCESS) return code;
  made.kernel = *reinterpret_cast<std::string*>(function);
  if (captured != nullptr && made.stream == state.capturing) {
    captured->kernels.push_back(made.kernel);
    return CUDA_SUCCESS;
  }
  clock_us += duration_of(made.kernel);
  made.context = contexts.back();
  if (state.recording) {
    std::lock_guard lock(mutex);
    state.launches.push_back(made);
  }
  if (state.run != nullptr) state.run(made.kernel.c_str(), params);
  if (named_elements() > 0) run_named(made.kernel, params);
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

FakeCuda* fake_cuda_state() { return &state; }

CUresult cuInit(unsigned) { return state.usable ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE; }
CUresult cuDriverGetVersion(int* version) {
  *version = state.driver_version;
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult code, const char** name) {
  static const std::map<int, const char*> names = {
      {1, "CUDA_ERROR_INVALID_VALUE"},       {2, "CUDA_ERROR_OUT_OF_MEMORY"},
      {100, "CUDA_ERROR_NO_DEVICE"},         {201, "CUDA_ERROR_INVALID_CONTEXT"},
      {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"}, {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
      {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},   {801, "CUDA_ERROR_NOT_SUPPORTED"}};
  const auto it = names.find(code);
  *name = it != names.end() ? it->second : nullptr;
  return *name != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "as the test wants it";
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  *count = 1;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int length, CUdevice) {
  std::strncpy(name, "Fake GPU", static_cast<size_t>(length));
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice) {
  *bytes = size_t{1} << 30;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  static const std::map<int, int> values = {
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 8},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 108},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 163 * 1024}};
  const auto it = values.find(attribute);
  *value = it != values.end() ? it->second : 0;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  *context = reinterpret_cast<CUcontext>(&primary);
  return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = contexts.empty() ? nullptr : static_cast<CUcontext>(contexts.back());
  return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent_v2(CUcontext context) {
  contexts.push_back(context);
  return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  *context = static_cast<CUcontext>(contexts.back());
  contexts.pop_back();
  return CUDA_SUCCESS;
}
CUresult cuCtxSynchronize() { return needs_no_capture("cuCtxSynchronize"); }

CUresult cuModuleLoadData(CUmodule* module, const void*) {
  const CUresult code = needs_no_capture("cuModuleLoadData");
  if (code != CUDA_SUCCESS) return code;
  *module = reinterpret_cast<CUmodule>(new FakeModule);
  ++state.loaded_modules;
  return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule module) {
  delete reinterpret_cast<FakeModule*>(module);
  --state.loaded_modules;
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  auto* loaded = reinterpret_cast<FakeModule*>(module);
  const std::string& kept = *loaded->functions.insert(name).first;
  *function = reinterpret_cast<CUfunction>(const_cast<std::string*>(&kept));
  return needs_context("cuModuleGetFunction");
}
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute attribute, int value) {
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) state.opted_in_shared = value;
  if (attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED)
    state.opted_in_clusters = value != 0;
  return needs_context("cuFuncSetAttribute");
}
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute, CUfunction) {
  *value = 0;
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction function, unsigned x, unsigned, unsigned, unsigned threads,
                        unsigned, unsigned, unsigned shared, CUstream stream, void** params,
                        void**) {
  return launch("cuLaunchKernel",
                {.grid = x, .threads = threads, .shared_bytes = shared, .stream = stream}, function,
                params);
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int, size_t) {
  *blocks = state.resident_blocks;
  return needs_context("cuOccupancyMaxActiveBlocksPerMultiprocessor");
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** params,
                          void**) {
  FakeLaunch made{.grid = config->gridDimX,
                  .threads = config->blockDimX,
                  .shared_bytes = config->sharedMemBytes,
                  .stream = config->hStream};
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config->attrs[i];
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
      made.cluster = attribute.value.clusterDim.x;
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
      made.cooperative = attribute.value.cooperative != 0;
  }
  return launch("cuLaunchKernelEx", made, function, params);
}

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType dtype, cuuint32_t rank,
                                void* base, const cuuint64_t* sizes, const cuuint64_t* strides,
                                const cuuint32_t* box, const cuuint32_t* steps,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  const CUresult code = result("cuTensorMapEncodeTiled");
  if (code != CUDA_SUCCESS) return code;
  FakeTensorMap made{base, dtype, swizzle, interleave, promotion, fill, rank};
  for (cuuint32_t i = 0; i < std::min(rank, 3u); ++i) {
    made.sizes[i] = sizes[i];
    made.box[i] = box[i];
    made.steps[i] = steps[i];
    if (i > 0) made.strides[i - 1] = strides[i - 1];
  }
  static_assert(sizeof made <= sizeof *map);
  std::memset(map, 0, sizeof *map);
  std::memcpy(map, &made, sizeof made);
  std::lock_guard lock(mutex);
  state.maps.push_back(made);
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  const CUresult code = needs_no_capture("cuMemAlloc");
  if (code != CUDA_SUCCESS) return code;
  *address = allocate(bytes);
  std::lock_guard lock(mutex);
  ++state.allocations;
  ++state.allocated;
  return CUDA_SUCCESS;
}
CUresult cuMemFree_v2(CUdeviceptr address) {
  std::lock_guard lock(mutex);
  if (memory.erase(reinterpret_cast<char*>(address)) == 0) return CUDA_ERROR_INVALID_VALUE;
  std::free(reinterpret_cast<void*>(address));
  --state.allocations;
  return CUDA_SUCCESS;
}
CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps*) {
  *pool = reinterpret_cast<CUmemoryPool>(&primary);
  return result("cuMemPoolCreate");
}
CUresult cuMemPoolSetAttribute(CUmemoryPool, CUmemPool_attribute, void*) { return CUDA_SUCCESS; }
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool, CUstream) {
  const CUresult code = needs_context("cuMemAllocFromPoolAsync");
  if (code != CUDA_SUCCESS) return code;
  *address = allocate(bytes);
  std::lock_guard lock(mutex);
  ++state.pool_allocations;
  ++state.pool_allocated;
  return CUDA_SUCCESS;
}
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  std::lock_guard lock(mutex);
  if (memory.erase(reinterpret_cast<char*>(address)) == 0) return CUDA_ERROR_INVALID_VALUE;
  std::free(reinterpret_cast<void*>(address));
  --state.pool_allocations;
  state.pool_stream = stream;
  state.pool_releases_at = state.launches.size();
  return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return needs_context("cuMemcpyHtoDAsync");
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream) {
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return needs_context("cuMemcpyDtoHAsync");
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream) {
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  return needs_context("cuMemcpyDtoDAsync");
}
CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t bytes, CUstream stream) {
  const CUresult code = needs_context("cuMemsetD8Async");
  if (code != CUDA_SUCCESS) return code;
  std::memset(reinterpret_cast<void*>(address), value, bytes);
  std::lock_guard lock(mutex);
  state.launches.push_back({.stream = stream,
                            .context = contexts.back(),
                            .pointer = reinterpret_cast<void*>(address),
                            .value = value,
                            .bytes = bytes});
  return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream* stream, unsigned) {
  *stream = reinterpret_cast<CUstream>(new char);
  return needs_context("cuStreamCreate");
}
CUresult cuStreamDestroy_v2(CUstream stream) {
  delete reinterpret_cast<char*>(stream);
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream) { return needs_no_capture("cuStreamSynchronize"); }
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  const bool own = state.capturing != nullptr && state.capturing == stream;
  *status = own ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  if (stream == nullptr && state.capturing != nullptr) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  return needs_context("cuStreamIsCapturing");
}

CUresult cuEventCreate(CUevent* event, unsigned) {
  *event = reinterpret_cast<CUevent>(new FakeEvent);
  return needs_context("cuEventCreate");
}
CUresult cuEventDestroy_v2(CUevent event) {
  delete reinterpret_cast<FakeEvent*>(event);
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream) {
  reinterpret_cast<FakeEvent*>(event)->at = clock_us;
  return needs_context("cuEventRecord");
}
CUresult cuEventSynchronize(CUevent) { return needs_no_capture("cuEventSynchronize"); }
CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
  const double us = reinterpret_cast<FakeEvent*>(end)->at - reinterpret_cast<FakeEvent*>(begin)->at;
  *milliseconds = named_elements() > 0 ? static_cast<float>(us / 1000) : 1.5f;
  return needs_context("cuEventElapsedTime");
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode) {
  captured = new FakeGraph;
  state.capturing = stream;
  return needs_context("cuStreamBeginCapture");
}
CUresult cuStreamEndCapture(CUstream, CUgraph* graph) {
  *graph = reinterpret_cast<CUgraph>(std::exchange(captured, nullptr));
  state.capturing = nullptr;
  return result("cuStreamEndCapture");
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* made, CUgraph graph, unsigned long long) {
  *made = reinterpret_cast<CUgraphExec>(new FakeGraph(*reinterpret_cast<FakeGraph*>(graph)));
  return result("cuGraphInstantiateWithFlags");
}
CUresult cuGraphDestroy(CUgraph graph) {
  delete reinterpret_cast<FakeGraph*>(graph);
  return CUDA_SUCCESS;
}
CUresult cuGraphExecDestroy(CUgraphExec graph) {
  delete reinterpret_cast<FakeGraph*>(graph);
  return CUDA_SUCCESS;
}
CUresult cuGraphLaunch(CUgraphExec graph, CUstream) {
  for (const std::string& kernel : reinterpret_cast<FakeGraph*>(graph)->kernels)
    clock_us += duration_of(kernel);
  return needs_context("cuGraphLaunch");
}
CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  *free = *total = size_t{1} << 26;
  return needs_context("cuMemGetInfo");
}

CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  std::lock_guard lock(mutex);
  if (allocation_of(address) == memory.end()) return CUDA_ERROR_INVALID_VALUE;
  int answer = 0;
  if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE) answer = CU_MEMORYTYPE_DEVICE;
  if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) answer = state.pointer_device;
  std::memcpy(value, &answer, sizeof answer);
  return CUDA_SUCCESS;
}

}  // extern "C"
