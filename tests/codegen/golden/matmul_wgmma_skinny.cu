// matmul_ddced0a9   c: bf16[16,4096] = matmul(a: bf16[16,4096], b: bf16[4096,4096])   for sm_90a
// config   {"block":[16,64,128],"stages":6,"copy":"tma","matrix":"wgmma"}
// grid     rows by 16, cols by 64, 64 blocks of 256 threads
// shared   127328 B: a_ring bf16[6][2][16][64], b_ring bf16[6][128][64], acc_exchange f32[16][68],
//          full tw::Barrier[6], empty tw::Barrier[6]

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
// rounds to nearest even
__device__ __forceinline__ bf16 to_bf16(float x) {
  bf16 value;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(value.bits) : "f"(x));
  return value;
}
// an address as instructions for shared memory take it
__device__ __forceinline__ unsigned shared_address(const void* p) {
  return (unsigned)__cvta_generic_to_shared(p);
}
// an mbarrier, in shared memory: a phase of it is complete when all arrivals and all bytes that it
// expects have come
struct Barrier { unsigned long long state; };
// by one thread, before all others' use
__device__ __forceinline__ void barrier_init(Barrier* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
               :: "r"(shared_address(barrier)), "r"(arrivals) : "memory");
}
// makes initialized barriers known to the cluster's blocks and to bulk copies
__device__ __forceinline__ void barrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
// arrives, and lets the phase wait for `bytes` of bulk copies as well
__device__ __forceinline__ void barrier_expect(Barrier* barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               :: "r"(shared_address(barrier)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void barrier_arrive(Barrier* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"
               :: "r"(shared_address(barrier)) : "memory");
}
// until the phase of that parity is complete; the first phase has parity 0
__device__ __forceinline__ void barrier_wait(Barrier* barrier, unsigned parity) {
  asm volatile(
      "{ .reg .pred done;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again; }"
      :: "r"(shared_address(barrier)), "r"(parity) : "memory");
}
// how bulk copies see a tensor; the host encodes it
struct alignas(64) TensorMap { unsigned long long opaque[16]; };
// starts a copy of the box at these coordinates (x is the fastest dimension), zeros where the
// tensor has ended, to shared memory; its bytes arrive at the barrier
__device__ __forceinline__ void tma_load(
    void* to, const TensorMap& map, Barrier* barrier,
    int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4}], [%2];"
      :: "r"(shared_address(to)), "l"(&map), "r"(shared_address(barrier)),
         "r"(x), "r"(y) : "memory");
}
// waits for `threads` threads, whole warps, at named barrier 1 to 15
__device__ __forceinline__ void sync_warps(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" :: "r"(barrier), "r"(threads) : "memory");
}
// a matrix in shared memory, as warpgroup products take it: rows of `swizzle` bytes, along k when
// k_first
template <class T, int swizzle, bool k_first> struct MatrixOperand {
  unsigned long long descriptor;
};
// start, distance of panels, distance of groups of 8 rows, pattern
template <int swizzle>
__device__ __forceinline__ unsigned long long matrix_descriptor(
    const void* at, int panel_bytes, int group_bytes) {
  static_assert(swizzle == 128 || swizzle == 64 || swizzle == 32);
  const unsigned low = (shared_address(at) & 0x3ffff) >> 4 | panel_bytes >> 4 << 16;
  const unsigned high = group_bytes >> 4 | (swizzle == 128 ? 1u : swizzle == 64 ? 2u : 3u) << 30;
  return (unsigned long long)high << 32 | low;
}
// rows along k, those of the next 8 m or n `group_bytes` further
template <int swizzle, class T>
__device__ __forceinline__ MatrixOperand<T, swizzle, true> k_major(const T* at, int group_bytes) {
  return {matrix_descriptor<swizzle>(at, 16, group_bytes)};
}
// rows along m or n, those of the next 8 k `group_bytes` further; what does not fit in a row goes
// on `panel_bytes` further
template <int swizzle, class T>
__device__ __forceinline__ MatrixOperand<T, swizzle, false> mn_major(
    const T* at, int panel_bytes, int group_bytes) {
  return {matrix_descriptor<swizzle>(at, panel_bytes, group_bytes)};
}
// orders what was done to registers before with the products that follow
__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
// closes the products issued since the last commit into one group
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// until at most `pending` groups of products are in flight
template <int pending> __device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(pending) : "memory");
}
// where one role is in a ring of slots; the phase changes each time around
template <int stages> struct Ring {
  int stage = 0;
  unsigned phase = 0;
  __device__ __forceinline__ void next() {
    if (++stage < stages) return;
    stage = 0;
    phase ^= 1;
  }
  __device__ __forceinline__ int previous() const { return stage == 0 ? stages - 1 : stage - 1; }
};
// products that were waited for have written these: nothing reads them earlier
template <class T, int n, int m>
__device__ __forceinline__ void complete(T (&acc)[n][m]) {
#pragma unroll
  for (int i = 0; i < n; ++i)
#pragma unroll
    for (int j = 0; j < m; ++j)
      if constexpr (sizeof(T) == sizeof(float) && T(0.5f) != T(0))
        asm volatile("" : "+f"(acc[i][j]) :: "memory");
      else
        asm volatile("" : "+r"(acc[i][j]) :: "memory");
}
// acc = a b, plus acc when `accumulate` is not 0: 64 rows by the four warps of a warpgroup, in
// flight until wgmma_wait
template <int sa, bool ka, int sb, bool kb>
__device__ __forceinline__ void wgmma_m64n16k16_bf16(
    float (&acc)[2][4], MatrixOperand<bf16, sa, ka> a,
    MatrixOperand<bf16, sb, kb> b, int accumulate) {
  auto &top = acc[0], &bottom = acc[1];  // rows r and r + 8
  asm volatile(
      "{ .reg .pred p; setp.ne.b32 p, %10, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7"
      "}, %8, %9, p, 1, 1, %11, %12; }"
      : "+f"(top[0]), "+f"(top[1]), "+f"(bottom[0]), "+f"(bottom[1]), "+f"(top[2]), "+f"(top[3]),
        "+f"(bottom[2]), "+f"(bottom[3])
      : "l"(a.descriptor), "l"(b.descriptor), "r"(accumulate), "n"(!ka), "n"(!kb));
}
}  // namespace tw

struct Shared {
  tw::bf16 a_ring[6][2][16][64];  // [stage][panel][row][k], swizzled
  tw::bf16 b_ring[6][128][64];  // [stage][k][col], swizzled
  float acc_exchange[16][68];  // [row][col], to change who holds what
  tw::Barrier full[6];  // a slot's copies have arrived
  tw::Barrier empty[6];  // a slot has been read
};
static_assert(sizeof(Shared) == 127328);

extern "C" __global__ void __launch_bounds__(256, 1)
matmul_ddced0a9(tw::bf16* __restrict__ c, const __grid_constant__ tw::TensorMap a_map,
    const __grid_constant__ tw::TensorMap b_map) {
  Shared& shared = tw::shared_memory<Shared>();
  if (threadIdx.x == 0) {
    for (int i = 0; i < 6; ++i) {
      tw::barrier_init(&shared.full[i], 1);
      tw::barrier_init(&shared.empty[i], 4);
    }
    tw::barrier_init_fence();
  }
  __syncthreads();  // the barriers are ready
  if (threadIdx.x >= 128) {  // the producer: one thread starts all copies
    if (threadIdx.x == 128) {
      tw::Ring<6> ring;

      // for (auto [rows, cols] : tw::tile({m, n})) {        // the grid: one program per output
      //     tile                                                                        matmul.h:15
      const int rows = 0, cols = blockIdx.x * 64;

      //   for (auto ks : tw::tile(k)) {                     // a sequential loop, pipelined
      //                                                                                 matmul.h:17
      for (int step = 0; step < 32; ++step) {
        const int ks = step * 128;
        tw::barrier_wait(&shared.empty[ring.stage], ring.phase ^ 1);
        tw::barrier_expect(&shared.full[ring.stage], 20480);

        //     acc = tw::addmm(acc, a[rows, ks], b[ks, cols]);                           matmul.h:18
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          tw::tma_load(shared.a_ring[ring.stage][i], a_map, &shared.full[ring.stage], ks + 64 * i,
              rows);
        }
        tw::tma_load(shared.b_ring[ring.stage], b_map, &shared.full[ring.stage], cols, ks);
        ring.next();
      }
    }
  } else {
    const int thread_col = threadIdx.x / 32 * 16 + threadIdx.x / 4 % 8;
    const int thread_row = threadIdx.x % 4 * 2;
    const int thread_col_2 = threadIdx.x % 8 * 8;
    const int thread_row_2 = threadIdx.x / 8;
    tw::Ring<6> ring;

    // for (auto [rows, cols] : tw::tile({m, n})) {        // the grid: one program per output tile
    //                                                                                   matmul.h:15
    const int rows = 0, cols = blockIdx.x * 64;

    //   for (auto ks : tw::tile(k)) {                     // a sequential loop, pipelined
    //                                                                                   matmul.h:17
    float acc[2][4];
    for (int step = 0; step < 32; ++step) {
      tw::barrier_wait(&shared.full[ring.stage], ring.phase);  // this step's tiles are there

      //     acc = tw::addmm(acc, a[rows, ks], b[ks, cols]);                             matmul.h:18
      tw::wgmma_fence();
#pragma unroll
      for (int kk = 0; kk < 128; kk += 16) {
        tw::wgmma_m64n16k16_bf16(acc, tw::mn_major<128>(shared.b_ring[ring.stage][kk], 16384, 1024),
            tw::k_major<128>(&shared.a_ring[ring.stage][kk / 64][0][kk % 64], 1024),
            step > 0 || kk > 0);
      }
      tw::wgmma_commit();
      tw::wgmma_wait<1>();  // the step before has been multiplied
      if (step > 0 && threadIdx.x % 32 == 0) tw::barrier_arrive(&shared.empty[ring.previous()]);
      ring.next();
    }
    tw::wgmma_wait<0>();
    tw::complete(acc);
    if (threadIdx.x % 32 == 0) tw::barrier_arrive(&shared.empty[ring.previous()]);

    //   for (auto ks : tw::tile(k)) {                     // a sequential loop, pipelined
    //                                                                                   matmul.h:17
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        shared.acc_exchange[thread_row + j % 2 + j / 2 * 8][thread_col + 8 * i] = acc[i][j];
      }
    float acc_2[8];
    tw::sync_warps(1, 128);  // acc_exchange is complete
#pragma unroll
    for (int i = 0; i < 8; i += 4) {
      tw::load<4>(&acc_2[i], &shared.acc_exchange[thread_row_2][thread_col_2 + i]);
    }

    //   c[rows, cols] = acc;  // converted to c's dtype, edge-masked                    matmul.h:20
    tw::bf16 run[8];
#pragma unroll
    for (int p = 0; p < 8; ++p) run[p] = tw::to_bf16(acc_2[p]);
    tw::store<8>(&c[(rows + thread_row_2) * 4096 + cols + thread_col_2], run);
  }
}
