// row_sum_f2abf947   sums: f32[1000] = row_sum(x: f32[1000,999])   for sm_80
// config   {"block":[4,256]}
// grid     rows by 4, 250 blocks of 128 threads
// shared   64 B: sum_of_warps f32[4][4]

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
// n elements from registers to memory in one access
template <int n, class T> __device__ __forceinline__ void store(T* to, const T* from) {
  typename Word<n * sizeof(T)>::type word;
  memcpy(&word, from, sizeof word);  // a renaming of registers, not a copy
  *reinterpret_cast<decltype(word)*>(to) = word;
}
// the value of the lane whose number differs by `mask`; all lanes of the warp take part
template <class T> __device__ __forceinline__ T shuffle_xor(T value, int mask) {
  unsigned words[(sizeof(T) + 3) / 4] = {};
  memcpy(words, &value, sizeof(T));
  for (unsigned& word : words) word = __shfl_xor_sync(0xffffffff, word, mask);
  memcpy(&value, words, sizeof(T));
  return value;
}
}  // namespace tw

struct Shared {
  float sum_of_warps[4][4];  // what each warp contributes
};
static_assert(sizeof(Shared) == 64);

extern "C" __global__ void __launch_bounds__(128)
row_sum_f2abf947(const float* __restrict__ x, float* __restrict__ sums) {
  Shared& shared = tw::shared_memory<Shared>();
  const int thread_col = threadIdx.x;

  // for (auto rows : tw::tile(m)) {                                                    row_sum.h:13
  const int rows = blockIdx.x * 4;

  //   tw::Tile total = tw::zeros({rows}, tw::f32);                                     row_sum.h:14
  float total[4] = {};

  //   for (auto cols : tw::tile(n)) {                                                  row_sum.h:15
  for (int cols = 0; cols < 999; cols += 256) {
    //     total += tw::sum(tw::cast(x[rows, cols], tw::f32), tw::axis(1));             row_sum.h:16
    float x_tile[4][2];
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        x_tile[i][j] = cols + thread_col + 128 * j < 999
            ? x[(rows + i) * 999 + cols + thread_col + 128 * j] : 0.0f;
      }
    float sum[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      sum[i] = 0.0f;
#pragma unroll
      for (int j = 0; j < 2; ++j) sum[i] = sum[i] + x_tile[i][j];
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int lanes = 1; lanes < 32; lanes += lanes) {
        sum[i] = sum[i] + tw::shuffle_xor(sum[i], lanes);
      }
    __syncthreads();  // everybody is done with sum_of_warps
    if (threadIdx.x % 32 == 0) {
#pragma unroll
      for (int i = 0; i < 4; ++i) shared.sum_of_warps[threadIdx.x / 32][i] = sum[i];
    }
    __syncthreads();  // sum_of_warps is complete
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      sum[i] = shared.sum_of_warps[0][i];
#pragma unroll
      for (int warp = 1; warp < 4; ++warp) sum[i] = sum[i] + shared.sum_of_warps[warp][i];
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) total[i] = total[i] + sum[i];
  }

  //   sums[rows] = total;                                                              row_sum.h:18
  if (threadIdx.x == 0) tw::store<4>(&sums[rows], total);
}
