#include "bench/device_kernels.h"

#include <array>
#include <cmath>
#include <cstring>

#include "tilewright/runtime/nvrtc.h"

namespace tilewright::bench {
namespace {

constexpr const char* kSource = R"(
typedef unsigned long long u64;

// splitmix64 of the position, and Box-Muller.
__device__ float normal(u64 i, unsigned seed) {
  u64 z = (i + 1) * 0x9e3779b97f4a7c15ull + seed * 0xd1b54a32d192ed03ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  z ^= z >> 31;
  const float u = ((float)(unsigned)(z >> 40) + 0.5f) * 0x1p-24f;
  const float v = (float)(unsigned)(z & 0xffffff) * 0x1p-24f;
  return sqrtf(-2.0f * logf(u)) * cospif(2.0f * v);
}

__device__ float from_bf16(unsigned short bits) { return __uint_as_float((unsigned)bits << 16); }

__device__ u64 first() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ u64 step() { return (u64)gridDim.x * blockDim.x; }

extern "C" __global__ void fill_f32(float* out, u64 n, unsigned seed) {
  for (u64 i = first(); i < n; i += step()) out[i] = normal(i, seed);
}

extern "C" __global__ void fill_bf16(unsigned short* out, u64 n, unsigned seed) {
  for (u64 i = first(); i < n; i += step()) {
    const unsigned bits = __float_as_uint(normal(i, seed));
    out[i] = (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
}

extern "C" __global__ void widen(double* out, const float* in, u64 n, int absolute) {
  for (u64 i = first(); i < n; i += step()) out[i] = absolute ? fabs((double)in[i]) : (double)in[i];
}

extern "C" __global__ void copy_1(uint4* __restrict__ to, const uint4* __restrict__ from, u64 n) {
  const u64 i = first();
  if (i < n) to[i] = from[i];
}

extern "C" __global__ void copy_4(uint4* __restrict__ to, const uint4* __restrict__ from, u64 n) {
  const u64 i = (u64)blockIdx.x * blockDim.x * 4 + threadIdx.x;
  uint4 values[4];
#pragma unroll
  for (int j = 0; j < 4; ++j)
    if (i + j * blockDim.x < n) values[j] = from[i + j * blockDim.x];
#pragma unroll
  for (int j = 0; j < 4; ++j)
    if (i + j * blockDim.x < n) to[i + j * blockDim.x] = values[j];
}

// How many elements are wrong, and the bits of the largest error over what is allowed: positive
// doubles are ordered like their bits.
struct Verdict { u64 wrong, worst; };

__device__ void judge(double error, double allowed, Verdict* verdict) {
  if (error <= allowed) {
    const u64 ratio = __double_as_longlong(allowed > 0 ? error / allowed : 0.0);
    if (ratio > *(volatile u64*)&verdict->worst) atomicMax(&verdict->worst, ratio);
    return;
  }
  const double ratio = error / allowed;
  atomicAdd(&verdict->wrong, 1ull);
  atomicMax(&verdict->worst, __double_as_longlong(ratio < 1e300 ? ratio : 1e300));
}

extern "C" __global__ void product(const float* out, const double* value, const double* magnitude,
                                   u64 n, double per_magnitude, Verdict* verdict) {
  for (u64 i = first(); i < n; i += step())
    judge(fabs(out[i] - value[i]), 0x1p-23 * fabs(value[i]) + per_magnitude * magnitude[i],
          verdict);
}

extern "C" __global__ void sum(const float* a, const float* b, const float* c, u64 n,
                               Verdict* verdict) {
  for (u64 i = first(); i < n; i += step()) judge(fabs((double)(a[i] + b[i]) - c[i]), 0.0, verdict);
}

// One block of 256 threads for each row.
extern "C" __global__ void normalized_exp(const unsigned short* x, const unsigned short* y,
                                          u64 columns, Verdict* verdict) {
  __shared__ double parts[256];
  x += blockIdx.x * columns;
  y += blockIdx.x * columns;
  double total = 0;
  for (u64 i = threadIdx.x; i < columns; i += 256) total += exp((double)from_bf16(x[i]));
  parts[threadIdx.x] = total;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  for (u64 i = threadIdx.x; i < columns; i += 256) {
    const double value = exp((double)from_bf16(x[i])) / parts[0];
    judge(fabs(from_bf16(y[i]) - value), 1.01 * 0x1p-8 * value, verdict);
  }
}
)";

constexpr int kThreads = 256;

void launch(CUfunc_st* function, int64_t grid, const Stream& stream,
            std::span<void* const> params) {
  std::array<void*, 8> pointers{};
  std::ranges::copy(params, pointers.begin());
  runtime::launch_kernel(function, {.grid = grid, .threads = kThreads}, stream.handle(),
                         pointers.data(), "launching a kernel of the benchmarks");
}

// Launches with arguments of exactly the kernel's parameter types.
template <class... Args>
void launch_with(CUfunc_st* function, int64_t grid, const Stream& stream, Args... args) {
  const std::array<void*, sizeof...(Args)> params{static_cast<void*>(&args)...};
  launch(function, grid, stream, params);
}

uint64_t count_of(const Array& array) { return static_cast<uint64_t>(array.elements()); }

constexpr int64_t kGrid = 4096;  // of kernels that stride over their data

runtime::Module compile_module() {
  const runtime::CompiledCuda compiled =
      runtime::compile_cuda(kSource, "bench_kernels", runtime::device_target(0));
  return {0, compiled.cubin, compiled.ptx, "bench_kernels", compiled.compiler};
}

}  // namespace

DeviceKernels::DeviceKernels()
    : module_(compile_module()),
      fill_f32_(module_.function("fill_f32", 0)),
      fill_bf16_(module_.function("fill_bf16", 0)),
      widen_(module_.function("widen", 0)),
      copy_1_(module_.function("copy_1", 0)),
      copy_4_(module_.function("copy_4", 0)),
      product_(module_.function("product", 0)),
      sum_(module_.function("sum", 0)),
      exp_(module_.function("normalized_exp", 0)) {}

void DeviceKernels::fill_normal(const Array& out, unsigned seed, const Stream& stream) const {
  launch_with(out.dtype() == DType::bf16 ? fill_bf16_ : fill_f32_, kGrid, stream, out.data(),
              count_of(out), seed);
}

void DeviceKernels::poison(const Array& out, const Stream& stream) const {
  runtime::fill_bytes(out.data(), 0xff, out.bytes(), stream.handle());
}

void DeviceKernels::widen(const Array& out, const Array& in, bool absolute) const {
  launch_with(widen_, kGrid, {}, out.data(), in.data(), count_of(in), static_cast<int>(absolute));
}

void DeviceKernels::copy(void* to, const void* from, int64_t bytes, int unroll,
                         const Stream& stream) const {
  const int64_t vectors = bytes / 16, per_block = int64_t{kThreads} * unroll;
  launch_with(unroll == 1 ? copy_1_ : copy_4_, (vectors + per_block - 1) / per_block, stream, to,
              from, static_cast<uint64_t>(vectors));
}

Verdict DeviceKernels::judge(const std::function<void(void* verdict)>& launch) const {
  const Array device = Array::zeros(Device::cuda(0), {2}, DType::i64);
  launch(device.data());
  const Array host = device.to_host();
  const auto words = host.values<int64_t>();
  Verdict verdict{words[0], 0};
  std::memcpy(&verdict.worst, &words[1], sizeof verdict.worst);
  return verdict;
}

Verdict DeviceKernels::check_product(const Array& out, const Array& value, const Array& magnitude,
                                     int64_t terms) const {
  const double per_magnitude = 4 * std::sqrt(static_cast<double>(terms)) * 0x1p-24;
  return judge([&](void* verdict) {
    launch_with(product_, kGrid, {}, out.data(), value.data(), magnitude.data(), count_of(out),
                per_magnitude, verdict);
  });
}

Verdict DeviceKernels::check_sum(const Array& a, const Array& b, const Array& c) const {
  return judge([&](void* verdict) {
    launch_with(sum_, kGrid, {}, a.data(), b.data(), c.data(), count_of(c), verdict);
  });
}

Verdict DeviceKernels::check_normalized_exp(const Array& x, const Array& y) const {
  return judge([&](void* verdict) {
    launch_with(exp_, x.size(0), {}, x.data(), y.data(), static_cast<uint64_t>(x.size(1)), verdict);
  });
}

}  // namespace tilewright::bench
