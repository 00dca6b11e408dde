// softmax_f558c1dc   y: bf16[8192,4096] = softmax(x: bf16[8192,4096])   for sm_80
// config   {"block":[1],"warps":8}
// grid     rows by 1, 8192 blocks of 256 threads
// shared   64 B: max_value_of_warps f32[8][1], sum_of_warps f32[8][1]

namespace tw {  // only what this kernel uses
// the block's shared memory, as the struct that maps it
template <class T> __device__ __forceinline__ T& shared_memory() {
  extern __shared__ __align__(1024) unsigned char bytes[];
  return *reinterpret_cast<T*>(bytes);
}
// an unsigned type of that many bytes: what one access moves
template <int bytes> struct Word;
template <> struct Word<1> { using type = unsigned char; };
template <> struct Word<2> { using type = unsigned short; };
template <> struct Word<4> { using type = unsigned; };
template <> struct Word<8> { using type = uint2; };
template <> struct Word<16> { using type = uint4; };
// n elements from memory to registers in one access
template <int n, class T> __device__ __forceinline__ void load(T* to, const T* from) {
  using W = typename Word<n * sizeof(T)>::type;
  *reinterpret_cast<W*>(to) = *reinterpret_cast<const W*>(from);
}
// n elements from registers to memory in one access
template <int n, class T> __device__ __forceinline__ void store(T* to, const T* from) {
  typename Word<n * sizeof(T)>::type word;
  memcpy(&word, from, sizeof word);  // a renaming of registers, not a copy
  *reinterpret_cast<decltype(word)*>(to) = word;
}
// the upper half of a float, as stored
struct bf16 { unsigned short bits; };
__device__ __forceinline__ float to_float(bf16 x) {
  return __uint_as_float((unsigned)x.bits << 16);
}
// rounds to nearest even
__device__ __forceinline__ bf16 to_bf16(float x) {
  bf16 value;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(value.bits) : "f"(x));
  return value;
}
// the value of the lane whose number differs by `mask`; all lanes of the warp take part
template <class T> __device__ __forceinline__ T shuffle_xor(T value, int mask) {
  unsigned words[(sizeof(T) + 3) / 4] = {};
  memcpy(words, &value, sizeof(T));
  for (unsigned& word : words) word = __shfl_xor_sync(0xffffffff, word, mask);
  memcpy(&value, words, sizeof(T));
  return value;
}
__device__ __forceinline__ float infinity() { return __uint_as_float(0x7f800000); }
// NaN if either is; -0 is below +0
__device__ __forceinline__ float max(float x, float y) {
  float value;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(value) : "f"(x), "f"(y));
  return value;
}
__device__ __forceinline__ float min(float x, float y) {
  float value;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(value) : "f"(x), "f"(y));
  return value;
}
// x / y for many x and one y, whose reciprocal is computed once: the second remainder makes q the
// nearest, if it is exact
__device__ __forceinline__ float quotient(float x, float y, float& smallest) {
  const float reciprocal = 1.0f / y;
  float q = x * reciprocal;
  q = fmaf(fmaf(-y, q, x), reciprocal, q);
  q = fmaf(fmaf(-y, q, x), reciprocal, q);
  smallest = min(smallest, fabsf(q));  // NaN also where x / y is no number or too large
  return q;
}
// from here on the remainders that quotient computes are exact
__device__ __forceinline__ float least_quotient(float y) {
  const float size = fabsf(y), least = 0x1p-100f * fabsf(1.0f / y);
  if (!(size >= 0x1p-100f && size <= 0x1p+100f)) return infinity();
  return least > 0x1p-125f ? least : 0x1p-125f;
}
}  // namespace tw

struct Shared {
  float max_value_of_warps[8][1];  // what each warp contributes
  float sum_of_warps[8][1];  // what each warp contributes
};
static_assert(sizeof(Shared) == 64);

extern "C" __global__ void __launch_bounds__(256)
softmax_f558c1dc(const tw::bf16* __restrict__ x, tw::bf16* __restrict__ y) {
  Shared& shared = tw::shared_memory<Shared>();
  const int thread_col = threadIdx.x * 8;

  // for (auto rows : tw::tile(x.size(0))) {                                            softmax.h:16
  const int rows = blockIdx.x;

  //   tw::Tile row = tw::cast(x[rows, tw::all], tw::f32);                              softmax.h:17
  tw::bf16 x_tile[16];
#pragma unroll
  for (int j = 0; j < 16; j += 8) tw::load<8>(&x_tile[j], &x[rows * 4096 + thread_col + 256 * j]);
  float row[16];
#pragma unroll
  for (int j = 0; j < 16; ++j) row[j] = tw::to_float(x_tile[j]);

  //   tw::Tile e = tw::exp(row - tw::max(row, tw::axis(1), tw::keep_dims));            softmax.h:18
  float max_value;
  max_value = -tw::infinity();
#pragma unroll
  for (int j = 0; j < 16; ++j) max_value = tw::max(max_value, row[j]);
#pragma unroll
  for (int lanes = 1; lanes < 32; lanes += lanes) {
    max_value = tw::max(max_value, tw::shuffle_xor(max_value, lanes));
  }
  if (threadIdx.x % 32 == 0) shared.max_value_of_warps[threadIdx.x / 32][0] = max_value;
  __syncthreads();  // max_value_of_warps is complete
  max_value = shared.max_value_of_warps[0][0];
#pragma unroll
  for (int warp = 1; warp < 8; ++warp) {
    max_value = tw::max(max_value, shared.max_value_of_warps[warp][0]);
  }
  float e[16];
#pragma unroll
  for (int j = 0; j < 16; ++j) e[j] = expf(row[j] - max_value);

  //   y[rows, tw::all] = e / tw::sum(e, tw::axis(1), tw::keep_dims);                   softmax.h:19
  float sum;
  sum = 0.0f;
#pragma unroll
  for (int j = 0; j < 16; ++j) sum = sum + e[j];
#pragma unroll
  for (int lanes = 1; lanes < 32; lanes += lanes) sum = sum + tw::shuffle_xor(sum, lanes);
  if (threadIdx.x % 32 == 0) shared.sum_of_warps[threadIdx.x / 32][0] = sum;
  __syncthreads();  // sum_of_warps is complete
  sum = shared.sum_of_warps[0][0];
#pragma unroll
  for (int warp = 1; warp < 8; ++warp) sum = sum + shared.sum_of_warps[warp][0];
#pragma unroll
  for (int j = 0; j < 16; j += 8) {
    tw::bf16 run[8];
    float smallest = tw::infinity();
#pragma unroll
    for (int p = 0; p < 8; ++p) run[p] = tw::to_bf16(tw::quotient(e[j + p], sum, smallest));
    if (!(smallest >= tw::least_quotient(sum))) {
#pragma unroll
      for (int p = 0; p < 8; ++p) run[p] = tw::to_bf16(e[j + p] / sum);
    }
    tw::store<8>(&y[rows * 4096 + thread_col + 256 * j], run);
  }
}
