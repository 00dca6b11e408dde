// matmul_69a52761   c: f32[10,10] = matmul(a: f32[10,10], b: f32[10,10])   for sm_80
// config   {"block":[3,3,3],"warps":1}
// grid     rows by 3, cols by 3, 16 blocks of 32 threads
// shared   192 B: a_ring f32[2][3][4], b_ring f32[2][3][4]

namespace tw {  // only what this kernel uses
// the block's shared memory, as the struct that maps it
template <class T> __device__ __forceinline__ T& shared_memory() {
  extern __shared__ __align__(1024) unsigned char bytes[];
  return *reinterpret_cast<T*>(bytes);
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
  float a_ring[2][3][4];  // [stage][row][k], 3 of 4 used: rows start in different banks
  float b_ring[2][3][4];  // [stage][k][col], 3 of 4 used: rows start in different banks
};
static_assert(sizeof(Shared) == 192);

extern "C" __global__ void __launch_bounds__(32)
matmul_69a52761(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c) {
  Shared& shared = tw::shared_memory<Shared>();
  // for (auto [rows, cols] : tw::tile({m, n})) {        // the grid: one program per output tile
  //                                                                                     matmul.h:15
  const int rows = (int)blockIdx.x / 4 * 3, cols = (int)blockIdx.x % 4 * 3;

  //   tw::Tile acc = tw::zeros({rows, cols}, tw::f32);  // stays in registers           matmul.h:16
  float acc[3][3] = {};

  //   for (auto ks : tw::tile(k)) {                     // a sequential loop, pipelined
  //                                                                                     matmul.h:17

  auto load_step = [&](int step_to_load) {
    const int next_ks = step_to_load * 3, stage_to_fill = step_to_load % 2;

    //     acc = tw::addmm(acc, a[rows, ks], b[ks, cols]);                               matmul.h:18
    if (threadIdx.x == 0) {
#pragma unroll
      for (int i = 0; i < 3; ++i)
#pragma unroll
        for (int j = 0; j < 3; ++j) {
          tw::copy_async<1>(&shared.a_ring[stage_to_fill][i][j], &a[(rows + i) * 10 + next_ks + j],
              rows + i < 10 && next_ks + j < 10 ? 1 : 0);
        }
    }
    if (threadIdx.x == 0) {
#pragma unroll
      for (int i = 0; i < 3; ++i)
#pragma unroll
        for (int j = 0; j < 3; ++j) {
          tw::copy_async<1>(&shared.b_ring[stage_to_fill][i][j], &b[(next_ks + i) * 10 + cols + j],
              next_ks + i < 10 && cols + j < 10 ? 1 : 0);
        }
    }
  };

  load_step(0);
  tw::copy_async_commit();
  for (int step = 0; step < 4; ++step) {
    const int stage = step % 2;
    tw::copy_async_wait<0>();
    __syncthreads();  // these tiles are there, and nobody still reads the stage refilled next
    if (step + 1 < 4) load_step(step + 1);
    tw::copy_async_commit();

    //     acc = tw::addmm(acc, a[rows, ks], b[ks, cols]);                               matmul.h:18
#pragma unroll
    for (int kk = 0; kk < 3; ++kk) {
      float a_frag[3];
#pragma unroll
      for (int i = 0; i < 3; ++i) a_frag[i] = shared.a_ring[stage][i][kk];
      float b_frag[3];
#pragma unroll
      for (int j = 0; j < 3; ++j) b_frag[j] = shared.b_ring[stage][kk][j];
#pragma unroll
      for (int i = 0; i < 3; ++i)
#pragma unroll
        for (int j = 0; j < 3; ++j) acc[i][j] = fmaf(a_frag[i], b_frag[j], acc[i][j]);
    }
  }

  //   c[rows, cols] = acc;  // converted to c's dtype, edge-masked                      matmul.h:20
  if (threadIdx.x == 0) {
#pragma unroll
    for (int i = 0; i < 3; ++i)
#pragma unroll
      for (int j = 0; j < 3; ++j)
        if (rows + i < 10 && cols + j < 10) c[(rows + i) * 10 + cols + j] = acc[i][j];
  }
}
