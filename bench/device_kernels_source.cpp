#include "bench/device_kernels_source.h"

namespace tilewright::bench {

const char* const kDeviceKernelsSource = R"(
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

__device__ unsigned short to_bf16(float x) {
  const unsigned bits = __float_as_uint(x);
  return (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
__device__ unsigned short to_f16(float x) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
__device__ float from_f16(unsigned short bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}
// To nearest even; what is too large becomes the largest, 448.
__device__ unsigned char to_e4m3(float x) {
  const float size = fabsf(x);
  const unsigned char sign = x < 0 ? 0x80 : 0;
  if (size < 0x1p-6f) return sign | (unsigned char)rintf(size * 0x1p9f);
  const unsigned bits = __float_as_uint(size);
  const unsigned code = (bits + 0x7ffff + (bits >> 20 & 1) >> 20) - (120 << 3);
  return sign | (unsigned char)(code < 0x7e ? code : 0x7e);
}
__device__ float from_e4m3(unsigned char bits) {
  const int exponent = bits >> 3 & 15, fraction = bits & 7;
  const float size = exponent == 0 ? fraction * 0x1p-9f : ldexpf(1.0f + fraction / 8.0f, exponent - 7);
  return bits & 0x80 ? -size : size;
}

// Element types, as the host numbers them.
enum Type { f32, bf16, f16, e4m3, i8, i32, u8 };

__device__ double element(const void* at, u64 i, int type) {
  switch (type) {
    case bf16: return from_bf16(((const unsigned short*)at)[i]);
    case f16: return from_f16(((const unsigned short*)at)[i]);
    case e4m3: return from_e4m3(((const unsigned char*)at)[i]);
    case i8: return ((const signed char*)at)[i];
    case i32: return ((const int*)at)[i];
    case u8: return ((const unsigned char*)at)[i];
  }
  return ((const float*)at)[i];
}

// Numbers of the type that are distributed normally; whole ones with a deviation of 32, u8 evenly.
extern "C" __global__ void fill(void* out, u64 n, unsigned seed, int type) {
  for (u64 i = first(); i < n; i += step()) {
    const float x = normal(i, seed);
    switch (type) {
      case f32: ((float*)out)[i] = x; break;
      case bf16: ((unsigned short*)out)[i] = to_bf16(x); break;
      case f16: ((unsigned short*)out)[i] = to_f16(x); break;
      case e4m3: ((unsigned char*)out)[i] = to_e4m3(x); break;
      case i8: ((signed char*)out)[i] = (signed char)rintf(fminf(fmaxf(32.0f * x, -127.0f), 127.0f)); break;
      case u8: ((unsigned char*)out)[i] = (unsigned char)(__float_as_uint(x) >> 3); break;
    }
  }
}

// Two numbers of 4 bits, from -8 on, from each of n bytes: the lower ones, then the upper ones.
extern "C" __global__ void unpack(signed char* out, const unsigned char* in, u64 n) {
  for (u64 i = first(); i < n; i += step()) {
    out[i] = (signed char)((in[i] & 15) - 8);
    out[n + i] = (signed char)((in[i] >> 4) - 8);
  }
}

struct Gather {
  double* out;
  const void* in;
  const u64* starts;
  u64 count, each, step;
  int type;
};

extern "C" __global__ void gather(Gather g) {
  for (u64 i = first(); i < g.count * g.each; i += step())
    g.out[i] = element(g.in, g.starts[i / g.each] + i % g.each * g.step, g.type);
}

struct Product {
  double *value, *magnitude;
  const void *a, *b, *bias;
  u64 m, n, k, a_row, a_column, b_row, b_column;
  int a_type, b_type;
  double of_magnitude;
};

constexpr int tile = 64, depth = 16;

// Rows or columns `from` .. `from` + 63 of an operand, 16 terms from `at` on; zeros beyond the edges.
__device__ void stage(double (&to)[depth][tile], const void* in, u64 from, u64 limit, u64 across,
                      u64 at, u64 terms, u64 along, int type) {
  for (int e = threadIdx.x; e < tile * depth; e += 256) {
    const int l = along == 1 ? e % depth : e / tile, r = along == 1 ? e / depth : e % tile;
    const bool inside = from + r < limit && at + l < terms;
    to[l][r] = inside ? element(in, (from + r) * across + (at + l) * along, type) : 0.0;
  }
}

// a . b and |a| . |b| in double. A block of 256 threads for each 64 by 64 tile; a thread has 4 rows,
// and 4 columns as two pairs.
extern "C" __global__ void __launch_bounds__(256, 2) multiply(Product p) {
  __shared__ __align__(16) double a[depth][tile], b[depth][tile];
  const u64 tiles = (p.n + tile - 1) / tile;
  const u64 rows = blockIdx.x / tiles * tile, columns = blockIdx.x % tiles * tile;
  const int row = threadIdx.x / 16 * 4, column = threadIdx.x % 16 * 2;
  double value[4][4] = {}, magnitude[4][4] = {};
  for (u64 at = 0; at < p.k; at += depth) {
    stage(a, p.a, rows, p.m, p.a_row, at, p.k, p.a_column, p.a_type);
    stage(b, p.b, columns, p.n, p.b_column, at, p.k, p.b_row, p.b_type);
    __syncthreads();
#pragma unroll
    for (int l = 0; l < depth; ++l) {
      double x[4], y[4];
      for (int i = 0; i < 2; ++i) {
        *(double2*)&x[2 * i] = *(const double2*)&a[l][row + 2 * i];
        *(double2*)&y[2 * i] = *(const double2*)&b[l][column + 32 * i];
      }
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) {
          value[i][j] = fma(x[i], y[j], value[i][j]);
          magnitude[i][j] = fma(fabs(x[i]), fabs(y[j]), magnitude[i][j]);
        }
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      const u64 r = rows + row + i, c = columns + column + j % 2 + j / 2 * 32;
      if (r >= p.m || c >= p.n) continue;
      double x = value[i][j], size = magnitude[i][j];
      if (p.bias != 0) {
        // gelu has a slope of at most 1.13. In f32, 1 + erf(x) is off by as much where it is small.
        const double bias = element(p.bias, c, p.a_type), v = x + bias;
        size = 1.13 * (size + fabs(bias)) + 0x1p-22 * fabs(v) / p.of_magnitude;
        x = 0.5 * v * (1 + erf(v * 0.70710678118654752440));
      }
      p.value[r * p.n + c] = x;
      p.magnitude[r * p.n + c] = size;
    }
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

extern "C" __global__ void compare(const void* out, int type, const double* value,
                                   const double* magnitude, u64 n, double of_value,
                                   double of_magnitude, Verdict* verdict) {
  for (u64 i = first(); i < n; i += step())
    judge(fabs(element(out, i, type) - value[i]),
          of_value * fabs(value[i]) + of_magnitude * magnitude[i], verdict);
}

extern "C" __global__ void sum(const float* a, const float* b, const float* c, u64 n,
                               Verdict* verdict) {
  for (u64 i = first(); i < n; i += step()) judge(fabs((double)(a[i] + b[i]) - c[i]), 0.0, verdict);
}

// Adds all elements to totals[0], and their sizes to totals[1].
extern "C" __global__ void add_up(const void* in, u64 n, int type, double* totals) {
  double sum = 0, sizes = 0;
  for (u64 i = first(); i < n; i += step()) {
    const double x = element(in, i, type);
    sum += x;
    sizes += fabs(x);
  }
  atomicAdd(&totals[0], sum);
  atomicAdd(&totals[1], sizes);
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

}  // namespace tilewright::bench
