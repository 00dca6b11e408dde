// Memory pools: allocation in the order of a stream.
#include <cuda.h>
#include <fmt/format.h>

#include <map>
#include <mutex>

#include "tilewright/ir/error.h"
#include "tilewright/runtime/driver_calls.h"
#include "tilewright/runtime/driver_functions.def"
#include "tilewright/runtime/stream_memory.h"

namespace tilewright::runtime {
namespace {

// What a pool keeps for later when the device is waited for; without that the driver returns all.
constexpr cuuint64_t kKeptBytes = cuuint64_t{256} << 20;

// The pool of a device, made when first needed and kept; null where there are none.
CUmemoryPool pool_of(int device) {
  static std::mutex mutex;
  static std::map<int, CUmemoryPool> pools;
  const DriverFunctions& call = driver_calls();
  if (call.cuMemPoolCreate == nullptr || call.cuMemPoolSetAttribute == nullptr ||
      call.cuMemAllocFromPoolAsync == nullptr || call.cuMemFreeAsync == nullptr)
    return nullptr;
  std::lock_guard lock(mutex);
  if (const auto known = pools.find(device); known != pools.end()) return known->second;
  CUmemPoolProps properties = {};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  CUmemoryPool pool = nullptr;
  const CUresult code = call.cuMemPoolCreate(&pool, &properties);
  if (code == CUDA_ERROR_NOT_SUPPORTED) return nullptr;
  check_driver(code, "making a pool of device memory");
  cuuint64_t kept = kKeptBytes;
  check_driver(call.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &kept),
               "setting up a pool of device memory");
  return pools[device] = pool;
}

}  // namespace

StreamMemory::StreamMemory(int device, int64_t bytes, CUstream_st* stream) : stream_(stream) {
  if (bytes == 0) return;
  CUmemoryPool pool = pool_of(device);
  if (pool == nullptr) {
    if (is_capturing(stream)) raise(ErrorId::workspace_in_capture, {}, bytes);
    pointer_ = allocate_device(bytes);
    return;
  }
  CUdeviceptr pointer = 0;
  check_driver(
      driver_calls().cuMemAllocFromPoolAsync(&pointer, static_cast<size_t>(bytes), pool, stream),
      fmt::format("allocating {} bytes of workspace", bytes));
  pointer_ = reinterpret_cast<void*>(pointer);
  pooled_ = true;
}

void StreamMemory::prepare(int device) { pool_of(device); }

StreamMemory& StreamMemory::operator=(StreamMemory&& other) noexcept {
  std::swap(pointer_, other.pointer_);
  std::swap(stream_, other.stream_);
  std::swap(pooled_, other.pooled_);
  return *this;
}

StreamMemory::~StreamMemory() {
  if (pooled_)
    driver_calls().cuMemFreeAsync(reinterpret_cast<CUdeviceptr>(pointer_), stream_);
  else
    free_device(pointer_);
}

}  // namespace tilewright::runtime
