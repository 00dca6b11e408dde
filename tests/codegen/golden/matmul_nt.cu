// matmul_4003b847   c: f32[1024,1024] = matmul(a: f32[1024,512], b: f32[512,1024]:[1,512])   for
//          sm_80
// config   {"block":[64,64,16],"stages":3}
// grid     rows by 64, cols by 64, 256 blocks of 128 threads
// shared   24576 B: a_ring f32[3][64][16], b_ring f32[3][64][16]

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
// n elements from global to shared memory, asynchronously; zeros for those past `valid`
template <int n, class T>
__device__ __forceinline__ void copy_async(T* to, const T* from, int valid = n) {
  constexpr int bytes = n * sizeof(T);
  const unsigned address = (unsigned)__cvta_generic_to_shared(to);
  const int read = valid * (int)sizeof(T);
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"(address), "l"(from), "r"(read) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                 :: "r"(address), "l"(from), "n"(bytes), "r"(read) : "memory");
}
// closes the copies issued since the last commit into one group
__device__ __forceinline__ void copy_async_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
// waits until at most `pending` of this thread's groups are still in flight
template <int pending> __device__ __forceinline__ void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;" :: "n"(pending) : "memory");
}
}  // namespace tw

struct Shared {
  float a_ring[3][64][16];  // [stage][row][k]
  float b_ring[3][64][16];  // [stage][col][k], swizzled
};
static_assert(sizeof(Shared) == 24576);

extern "C" __global__ void __launch_bounds__(128)
matmul_4003b847(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c) {
  Shared& shared = tw::shared_memory<Shared>();
  const int thread_row = threadIdx.x / 4, thread_k = threadIdx.x % 4 * 4;
  const int thread_row_2 = threadIdx.x / 64 * 32 + threadIdx.x / 8 % 4 * 2 + threadIdx.x % 2;
  const int thread_col = threadIdx.x / 32 % 2 * 32 + threadIdx.x / 2 % 4 * 4;

  // for (auto [rows, cols] : tw::tile({m, n})) {        // the grid: one program per output tile
  //                                                                                     matmul.h:15
  const int rows = (int)blockIdx.x / 16 * 64, cols = (int)blockIdx.x % 16 * 64;

  //   tw::Tile acc = tw::zeros({rows, cols}, tw::f32);  // stays in registers           matmul.h:16
  float acc[4][8] = {};

  //   for (auto ks : tw::tile(k)) {                     // a sequential loop, pipelined
  //                                                                                     matmul.h:17

  auto load_step = [&](int step_to_load) {
    const int next_ks = step_to_load * 16, stage_to_fill = step_to_load % 3;

    //     acc = tw::addmm(acc, a[rows, ks], b[ks, cols]);                               matmul.h:18
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      tw::copy_async<4>(&shared.a_ring[stage_to_fill][thread_row + 32 * i][thread_k],
          &a[(rows + thread_row + 32 * i) * 512 + next_ks + thread_k]);
    }
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      tw::copy_async<4>(&shared.b_ring[stage_to_fill][thread_row +
          32 * j][((thread_k / 4) ^ (thread_row / 4 % 4)) * 4],
          &b[next_ks + thread_k + (cols + thread_row + 32 * j) * 512]);
    }
  };

  for (int step = 0; step < 2; ++step) {
    load_step(step);
    tw::copy_async_commit();
  }
  for (int step = 0; step < 32; ++step) {
    const int stage = step % 3;
    tw::copy_async_wait<1>();
    __syncthreads();  // these tiles are there, and nobody still reads the stage refilled next
    if (step + 2 < 32) load_step(step + 2);
    tw::copy_async_commit();

    //     acc = tw::addmm(acc, a[rows, ks], b[ks, cols]);                               matmul.h:18
#pragma unroll
    for (int kk = 0; kk < 16; kk += 4) {
      float a_frag[4][4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        tw::load<4>(a_frag[i], &shared.a_ring[stage][thread_row_2 + 8 * i][kk]);
      }
      float b_frag[8][4];
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        tw::load<4>(b_frag[j],
            &shared.b_ring[stage][thread_col + j % 4 +
            j / 4 * 16][((kk / 4) ^ ((thread_col + j % 4) / 4 % 4)) * 4 + kk % 4]);
      }
#pragma unroll
      for (int p = 0; p < 4; ++p)
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
          for (int j = 0; j < 8; ++j) acc[i][j] = fmaf(a_frag[i][p], b_frag[j][p], acc[i][j]);
    }
  }

  //   c[rows, cols] = acc;  // converted to c's dtype, edge-masked                      matmul.h:20
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 8; j += 4) {
      tw::store<4>(&c[(rows + thread_row_2 + 8 * i) * 1024 + cols + thread_col + 4 * j],
          &acc[i][j]);
    }
}
