// transposed_copy_82803238   y: f32[1000,1000] = transposed_copy(arg0: f32[1000,1000])   for sm_80
// config   {"block":[32,32]}
// grid     rows by 32, cols by 32, 1024 blocks of 128 threads
// shared   4096 B: arg0_tile_exchange f32[32][32]

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
}  // namespace tw

struct Shared {
  float arg0_tile_exchange[32][32];  // [col][row], to change who holds what
};
static_assert(sizeof(Shared) == 4096);

extern "C" __global__ void __launch_bounds__(128)
transposed_copy_82803238(const float* __restrict__ arg0, float* __restrict__ y) {
  Shared& shared = tw::shared_memory<Shared>();
  const int thread_row = threadIdx.x / 8, thread_col = threadIdx.x % 8 * 4;

  // for (auto [rows, cols] : tile({m, n}))                                 kernels_elementwise.h:67
  const int rows = (int)blockIdx.x / 32 * 32, cols = (int)blockIdx.x % 32 * 32;

  //   y[cols, rows] = transpose(x[rows, cols]);                            kernels_elementwise.h:68
  float arg0_tile[2][4] = {};
#pragma unroll
  for (int i = 0; i < 2; ++i)
    if (rows + thread_row + 16 * i < 1000 && cols + thread_col < 1000) {
      tw::load<4>(arg0_tile[i], &arg0[(rows + thread_row + 16 * i) * 1000 + cols + thread_col]);
    }
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      shared.arg0_tile_exchange[thread_col + j][((4 * i + thread_row / 4) ^ ((thread_col + j) / 4 % 8)) * 4 + thread_row % 4] =
          arg0_tile[i][j];
    }
  float tile_2[4][2];
  __syncthreads();  // arg0_tile_exchange is complete
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    float run[4];
    tw::load<4>(run,
        &shared.arg0_tile_exchange[thread_row +
        16 * j][((thread_col / 4) ^ ((4 * j + thread_row / 4) % 8)) * 4]);
#pragma unroll
    for (int p = 0; p < 4; ++p) tile_2[p][j] = run[p];
  }
#pragma unroll
  for (int i = 0; i < 2; ++i)
    if (cols + thread_row + 16 * i < 1000 && rows + thread_col < 1000) {
      float run_2[4];
#pragma unroll
      for (int p = 0; p < 4; ++p) run_2[p] = tile_2[p][i];
      tw::store<4>(&y[(cols + thread_row + 16 * i) * 1000 + rows + thread_col], run_2);
    }
}
