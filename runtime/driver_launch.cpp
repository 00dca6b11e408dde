// Kernels: loading them, and launching them.
#include <cuda.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "tilewright/codegen/tensor_map.h"
#include "tilewright/ir/error.h"
#include "tilewright/ir/log.h"
#include "tilewright/runtime/driver.h"
#include "tilewright/runtime/driver_calls.h"
#include "tilewright/runtime/driver_functions.def"

namespace tilewright::runtime {
namespace {

// Codes that mean "this binary is not for this driver or device".
bool cannot_load(CUresult code) {
  return code == CUDA_ERROR_NO_BINARY_FOR_GPU || code == CUDA_ERROR_UNSUPPORTED_PTX_VERSION ||
         code == CUDA_ERROR_INVALID_IMAGE || code == CUDA_ERROR_INVALID_PTX ||
         code == CUDA_ERROR_JIT_COMPILER_NOT_FOUND || code == CUDA_ERROR_INVALID_SOURCE;
}

void launch_extended(CUfunction function, const LaunchShape& shape, CUstream stream, void** params,
                     std::string_view what) {
  if (driver_calls().cuLaunchKernelEx == nullptr)
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
  check_driver(driver_calls().cuLaunchKernelEx(&config, function, params, nullptr), what);
}

// Of element types that are numbers to nobody on the way, only the size counts.
CUtensorMapDataType map_dtype(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case DType::bf16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case DType::f32:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case DType::f64:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
    case DType::i16:
      return CU_TENSOR_MAP_DATA_TYPE_UINT16;
    case DType::i32:
      return CU_TENSOR_MAP_DATA_TYPE_INT32;
    case DType::i64:
      return CU_TENSOR_MAP_DATA_TYPE_INT64;
    default:
      internal_check(size_of(dtype) == 1, "a tensor map of an unknown dtype");
      return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  }
}

CUtensorMapSwizzle map_swizzle(int bytes) {
  switch (bytes) {
    case 0:
      return CU_TENSOR_MAP_SWIZZLE_NONE;
    case 32:
      return CU_TENSOR_MAP_SWIZZLE_32B;
    case 64:
      return CU_TENSOR_MAP_SWIZZLE_64B;
    case 128:
      return CU_TENSOR_MAP_SWIZZLE_128B;
    default:
      throw InternalError(fmt::format("a tensor map with a swizzle of {} bytes", bytes));
  }
}

}  // namespace

Module::Module(int device, std::string_view cubin, std::string_view ptx, std::string_view what,
               int compiler)
    : device_(device) {
  ContextScope scope(device);
  CUresult code = driver_calls().cuModuleLoadData(&module_, cubin.data());
  if (code == CUDA_ERROR_NO_BINARY_FOR_GPU && !ptx.empty()) {
    log(LogLevel::info, "kernel {}: no machine code for GPU {}; the driver compiles its PTX", what,
        device);
    code = driver_calls().cuModuleLoadData(&module_, std::string(ptx).c_str());
  }
  if (cannot_load(code)) {
    raise_driver_too_old(what, compiler, driver_status().version, driver_error_name(code));
  }
  check_driver(code, fmt::format("loading kernel {}", what));
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
    driver_calls().cuModuleUnload(module_);
  } catch (const std::exception&) {
    // The driver is shutting down; the process's end frees the module.
  }
}

CUfunc_st* Module::function(const std::string& symbol, const LaunchShape& shape) const {
  ContextScope scope(device_);
  CUfunction found = nullptr;
  check_driver(driver_calls().cuModuleGetFunction(&found, module_, symbol.c_str()),
               fmt::format("looking up kernel {}", symbol));
  if (driver_calls().cuFuncLoad != nullptr)
    check_driver(driver_calls().cuFuncLoad(found), fmt::format("loading kernel {}", symbol));
  const auto allow = [&](CUfunction_attribute what, int64_t value, std::string_view text) {
    check_driver(driver_calls().cuFuncSetAttribute(found, what, static_cast<int>(value)),
                 fmt::format("allowing kernel {} {} {}", symbol, value, text));
  };
  constexpr int64_t without_opt_in = 48 * 1024;
  if (shape.shared_bytes > without_opt_in)
    allow(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shape.shared_bytes,
          "bytes of shared memory");
  internal_check(shape.cluster >= 1 && shape.cluster <= LaunchShape::kLargestCluster,
                 "no GPU has clusters of so many blocks");
  if (shape.cluster > LaunchShape::kPortableCluster)
    allow(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1, "clusters of more than 8 blocks");
  return found;
}

void launch_kernel(CUfunc_st* function, const LaunchShape& shape, CUstream_st* stream,
                   void** params, std::string_view what) {
  internal_check(shape.grid % shape.cluster == 0, "a grid is no multiple of its clusters");
  if (shape.cluster > 1 || shape.cooperative)
    return launch_extended(function, shape, stream, params, what);
  check_driver(driver_calls().cuLaunchKernel(function, static_cast<unsigned>(shape.grid), 1, 1,
                                             static_cast<unsigned>(shape.threads), 1, 1,
                                             static_cast<unsigned>(shape.shared_bytes), stream,
                                             params, nullptr),
               what);
}

int64_t resident_blocks(CUfunc_st* function, const LaunchShape& shape, int device,
                        std::string_view what) {
  int blocks = 0;
  check_driver(driver_calls().cuOccupancyMaxActiveBlocksPerMultiprocessor(
                   &blocks, function, shape.threads, static_cast<size_t>(shape.shared_bytes)),
               fmt::format("asking how many blocks of kernel {} fit", what));
  return int64_t{blocks} * device_info(device).multiprocessors;
}

TensorMap encode_tensor_map(const codegen::TensorMapSpec& spec, const void* base,
                            std::string_view what) {
  if (driver_calls().cuTensorMapEncodeTiled == nullptr)
    raise(ErrorId::missing_driver, {},
          "copies by tensor map need cuTensorMapEncodeTiled, NVIDIA driver 525 or newer");
  static_assert(sizeof(TensorMap) == sizeof(CUtensorMap));
  std::array<cuuint64_t, 5> sizes{}, strides{};
  std::array<cuuint32_t, 5> box{}, steps{};
  const size_t rank = spec.sizes.size();
  internal_check(rank >= 1 && rank <= sizes.size(), "a tensor map with an impossible rank");
  std::ranges::copy(spec.sizes, sizes.begin());
  std::ranges::copy(codegen::map_strides(spec), strides.begin());
  std::ranges::copy(spec.box, box.begin());
  steps.fill(1);
  CUtensorMap map;
  check_driver(driver_calls().cuTensorMapEncodeTiled(
                   &map, map_dtype(spec.dtype), static_cast<cuuint32_t>(rank),
                   const_cast<void*>(base), sizes.data(), strides.data(), box.data(), steps.data(),
                   CU_TENSOR_MAP_INTERLEAVE_NONE, map_swizzle(spec.swizzle),
                   CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
               what);
  return std::bit_cast<TensorMap>(map);
}

void raise_driver_too_old(std::string_view kernel, int compiler, int driver,
                          std::string_view name) {
  raise(ErrorId::driver_too_old, {}, kernel, version_text(compiler), version_text(driver), name,
        compiler / 1000);
}

}  // namespace tilewright::runtime
