// matmul_b2b85b56   c: bf16[4200,4104] = matmul(a: bf16[4200,1000], b: bf16[1000,4104])   for
//          sm_90a
// config   {"block":[128,256,64],"group":8,"warps":8,"stages":4,"copy":"tma","matrix":"wgmma",
//          "persistent":true,"cluster":2}
// grid     rows by 128, cols by 256, in groups of 8 tile rows, 132 blocks of 384 threads, in
//          clusters of 2
// shared   229440 B: a_ring bf16[4][128][64], b_ring bf16[4][4][64][64], c_out bf16[2][2][64][64],
//          full tw::Barrier[4], empty tw::Barrier[4]

namespace tw {  // only what this kernel uses
// the block's shared memory, as the struct that maps it
template <class T> __device__ __forceinline__ T& shared_memory() {
  extern __shared__ __align__(1024) unsigned char bytes[];
  return *reinterpret_cast<T*>(bytes);
}
// the upper half of a float, as stored
struct bf16 { unsigned short bits; };
struct TileId { int row, col; };
// the tile of block `id`, walking `group` tile rows together, so that blocks running at one time
// share rows of one operand and columns of the other in L2
__device__ __forceinline__ TileId grouped_tile(int id, int tile_rows, int tile_cols, int group) {
  const int first = id / (group * tile_cols) * group, in_group = id % (group * tile_cols);
  const int height = ::min(tile_rows - first, group);
  return {first + in_group % height, in_group / height};
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
// at the same barrier of another block of the cluster
__device__ __forceinline__ void barrier_arrive_at(Barrier* barrier, unsigned block) {
  asm volatile(
      "{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [there]; }"
      :: "r"(shared_address(barrier)), "r"(block) : "memory");
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
// the same to the same place in each of `blocks` of the cluster (a mask), each of which gets the
// bytes at its barrier
__device__ __forceinline__ void tma_load_multicast(
    void* to, const TensorMap& map, Barrier* barrier,
    unsigned short blocks, int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%4, %5}], [%2], %3;"
      :: "r"(shared_address(to)), "l"(&map), "r"(shared_address(barrier)), "h"(blocks),
         "r"(x), "r"(y) : "memory");
}
// starts a copy of the box at these coordinates from shared memory, less what lies outside of the
// tensor
__device__ __forceinline__ void tma_store(
    const TensorMap& map, const void* from, int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];"
      :: "l"(&map), "r"(shared_address(from)), "r"(x), "r"(y) : "memory");
}
// closes the stores that this thread issued since the last commit into one group
__device__ __forceinline__ void tma_store_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
// until at most `pending` of this thread's groups of stores are not complete
template <int pending> __device__ __forceinline__ void tma_store_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" :: "n"(pending) : "memory");
}
// until at most `pending` of this thread's groups of stores still read shared memory
template <int pending> __device__ __forceinline__ void tma_store_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" :: "n"(pending) : "memory");
}
// lets bulk stores and warpgroup products see what this thread wrote to shared memory
__device__ __forceinline__ void fence_async_shared() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
// waits for `threads` threads, whole warps, at named barrier 1 to 15
__device__ __forceinline__ void sync_warps(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" :: "r"(barrier), "r"(threads) : "memory");
}
// waits for all threads of the cluster's blocks; whole warps
__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
// the warpgroup gives registers back and goes on with `count` for each thread
template <int count> __device__ __forceinline__ void registers_down() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(count));
}
// the warpgroup waits for registers, until it has `count` for each thread
template <int count> __device__ __forceinline__ void registers_up() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(count));
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
// two floats, rounded to nearest even, in one word
template <class T> __device__ unsigned pack(float low, float high);
template <> __device__ __forceinline__ unsigned pack<bf16>(float low, float high) {
  unsigned both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}
// n matrices of 8 by 8 halves to shared memory: lane l holds elements 2 (l % 4) and the next of row
// l / 4 of each, and the addresses of their rows come from lanes 8 i to 8 i + 7
template <int n>
__device__ __forceinline__ void matrix_store(void* row, const unsigned (&r)[n]) {
  static_assert(n == 4 || n == 2);
  if constexpr (n == 4)
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                 :: "r"(shared_address(row)), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
  else
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};"
                 :: "r"(shared_address(row)), "r"(r[0]), "r"(r[1]) : "memory");
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
__device__ __forceinline__ void wgmma_m64n256k16_bf16(
    float (&acc)[2][64], MatrixOperand<bf16, sa, ka> a,
    MatrixOperand<bf16, sb, kb> b, int accumulate) {
  auto &top = acc[0], &bottom = acc[1];  // rows r and r + 8
  asm volatile(
      "{ .reg .pred p; setp.ne.b32 p, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19,"
      "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37,"
      "%38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55,"
      "%56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73,"
      "%74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91,"
      "%92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107,"
      "%108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122,"
      "%123, %124, %125, %126, %127"
      "}, %128, %129, p, 1, 1, %131, %132; }"
      : "+f"(top[0]), "+f"(top[1]), "+f"(bottom[0]), "+f"(bottom[1]), "+f"(top[2]), "+f"(top[3]),
        "+f"(bottom[2]), "+f"(bottom[3]), "+f"(top[4]), "+f"(top[5]), "+f"(bottom[4]),
        "+f"(bottom[5]), "+f"(top[6]), "+f"(top[7]), "+f"(bottom[6]), "+f"(bottom[7]), "+f"(top[8]),
        "+f"(top[9]), "+f"(bottom[8]), "+f"(bottom[9]), "+f"(top[10]), "+f"(top[11]),
        "+f"(bottom[10]), "+f"(bottom[11]), "+f"(top[12]), "+f"(top[13]), "+f"(bottom[12]),
        "+f"(bottom[13]), "+f"(top[14]), "+f"(top[15]), "+f"(bottom[14]), "+f"(bottom[15]),
        "+f"(top[16]), "+f"(top[17]), "+f"(bottom[16]), "+f"(bottom[17]), "+f"(top[18]),
        "+f"(top[19]), "+f"(bottom[18]), "+f"(bottom[19]), "+f"(top[20]), "+f"(top[21]),
        "+f"(bottom[20]), "+f"(bottom[21]), "+f"(top[22]), "+f"(top[23]), "+f"(bottom[22]),
        "+f"(bottom[23]), "+f"(top[24]), "+f"(top[25]), "+f"(bottom[24]), "+f"(bottom[25]),
        "+f"(top[26]), "+f"(top[27]), "+f"(bottom[26]), "+f"(bottom[27]), "+f"(top[28]),
        "+f"(top[29]), "+f"(bottom[28]), "+f"(bottom[29]), "+f"(top[30]), "+f"(top[31]),
        "+f"(bottom[30]), "+f"(bottom[31]), "+f"(top[32]), "+f"(top[33]), "+f"(bottom[32]),
        "+f"(bottom[33]), "+f"(top[34]), "+f"(top[35]), "+f"(bottom[34]), "+f"(bottom[35]),
        "+f"(top[36]), "+f"(top[37]), "+f"(bottom[36]), "+f"(bottom[37]), "+f"(top[38]),
        "+f"(top[39]), "+f"(bottom[38]), "+f"(bottom[39]), "+f"(top[40]), "+f"(top[41]),
        "+f"(bottom[40]), "+f"(bottom[41]), "+f"(top[42]), "+f"(top[43]), "+f"(bottom[42]),
        "+f"(bottom[43]), "+f"(top[44]), "+f"(top[45]), "+f"(bottom[44]), "+f"(bottom[45]),
        "+f"(top[46]), "+f"(top[47]), "+f"(bottom[46]), "+f"(bottom[47]), "+f"(top[48]),
        "+f"(top[49]), "+f"(bottom[48]), "+f"(bottom[49]), "+f"(top[50]), "+f"(top[51]),
        "+f"(bottom[50]), "+f"(bottom[51]), "+f"(top[52]), "+f"(top[53]), "+f"(bottom[52]),
        "+f"(bottom[53]), "+f"(top[54]), "+f"(top[55]), "+f"(bottom[54]), "+f"(bottom[55]),
        "+f"(top[56]), "+f"(top[57]), "+f"(bottom[56]), "+f"(bottom[57]), "+f"(top[58]),
        "+f"(top[59]), "+f"(bottom[58]), "+f"(bottom[59]), "+f"(top[60]), "+f"(top[61]),
        "+f"(bottom[60]), "+f"(bottom[61]), "+f"(top[62]), "+f"(top[63]), "+f"(bottom[62]),
        "+f"(bottom[63])
      : "l"(a.descriptor), "l"(b.descriptor), "r"(accumulate), "n"(!ka), "n"(!kb));
}
}  // namespace tw

struct Shared {
  tw::bf16 a_ring[4][128][64];  // [stage][row][k], swizzled
  tw::bf16 b_ring[4][4][64][64];  // [stage][panel][k][col], swizzled
  tw::bf16 c_out[2][2][64][64];  // [warpgroup][slot][row][col], swizzled
  tw::Barrier full[4];  // a slot's copies have arrived
  tw::Barrier empty[4];  // a slot has been read
};
static_assert(sizeof(Shared) == 229440);

extern "C" __global__ void __launch_bounds__(384, 1)
matmul_b2b85b56(const __grid_constant__ tw::TensorMap a_map,
    const __grid_constant__ tw::TensorMap b_map, const __grid_constant__ tw::TensorMap c_map) {
  Shared& shared = tw::shared_memory<Shared>();
  if (threadIdx.x == 0) {
    for (int i = 0; i < 4; ++i) {
      tw::barrier_init(&shared.full[i], 1);
      tw::barrier_init(&shared.empty[i], 16);
    }
    tw::barrier_init_fence();
  }
  tw::cluster_sync();  // every block's barriers are ready
  if (threadIdx.x >= 256) {  // the producer: one thread starts all copies
    tw::registers_down<40>();
    if (threadIdx.x == 256) {
      tw::Ring<4> ring;
      const int block_of_cluster = blockIdx.x % 2;

      // for (auto [rows, cols] : tw::tile({m, n})) {        // the grid: one program per output
      //     tile                                                                        matmul.h:15
      for (int tile_id = blockIdx.x / 2; tile_id < 289; tile_id += gridDim.x / 2) {
        const tw::TileId block_tile = tw::grouped_tile(tile_id, 17, 17, 8);
        const int rows = (block_tile.row * 2 + (int)(blockIdx.x % 2)) * 128;
        const int cols = block_tile.col * 256;

        //   for (auto ks : tw::tile(k)) {                     // a sequential loop, pipelined
        //                                                                               matmul.h:17
        for (int step = 0; step < 16; ++step) {
          const int ks = step * 64;
          tw::barrier_wait(&shared.empty[ring.stage], ring.phase ^ 1);
          tw::barrier_expect(&shared.full[ring.stage], 49152);

          //     acc = tw::addmm(acc, a[rows, ks], b[ks, cols]);                         matmul.h:18
          tw::tma_load(shared.a_ring[ring.stage], a_map, &shared.full[ring.stage], ks, rows);
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            tw::tma_load_multicast(shared.b_ring[ring.stage][block_of_cluster * 2 + i], b_map,
                &shared.full[ring.stage], 3, cols + (block_of_cluster * 2 + i) * 64, ks);
          }
          ring.next();
        }
      }
    }
    __syncwarp();
  } else {
    tw::registers_up<232>();
    const int warpgroup = threadIdx.x / 128;
    tw::Ring<4> ring;
    const int block_of_cluster = blockIdx.x % 2;
    unsigned c_words[4][4][4];  // the tile before this one, until its store is hidden by products
    int c_cols = 0, c_rows = 0;
    bool c_waits = false;

    auto store_c = [&]() {
#pragma unroll
      for (int l = 0; l < 4; ++l) {
        if (threadIdx.x % 128 == 0) tw::tma_store_wait_read<1>();
        tw::sync_warps(warpgroup + 2, 128);  // the slot's last panel has been read
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          tw::matrix_store<4>(&shared.c_out[warpgroup][l % 2][threadIdx.x % 128 / 32 * 16 +
              threadIdx.x % 16][((2 * j + threadIdx.x % 32 / 16) ^ (threadIdx.x % 8)) * 8],
              c_words[l][j]);
        }
        tw::fence_async_shared();
        tw::sync_warps(warpgroup + 2, 128);  // the panel is complete
        if (threadIdx.x % 128 == 0) {
          tw::tma_store(c_map, shared.c_out[warpgroup][l % 2], c_cols + 64 * l,
              c_rows + warpgroup * 64);
          tw::tma_store_commit();
        }
      }
    };

    // for (auto [rows, cols] : tw::tile({m, n})) {        // the grid: one program per output tile
    //                                                                                   matmul.h:15
    for (int tile_id = blockIdx.x / 2; tile_id < 289; tile_id += gridDim.x / 2) {
      const tw::TileId block_tile = tw::grouped_tile(tile_id, 17, 17, 8);
      const int rows = (block_tile.row * 2 + (int)(blockIdx.x % 2)) * 128;
      const int cols = block_tile.col * 256;

      //   tw::Tile acc = tw::zeros({rows, cols}, tw::f32);  // stays in registers       matmul.h:16
      float acc[2][64];

      //   for (auto ks : tw::tile(k)) {                     // a sequential loop, pipelined
      //                                                                                 matmul.h:17
      for (int step = 0; step < 16; ++step) {
        tw::barrier_wait(&shared.full[ring.stage], ring.phase);  // this step's tiles are there

        //     acc = tw::addmm(acc, a[rows, ks], b[ks, cols]);                           matmul.h:18
        tw::wgmma_fence();
#pragma unroll
        for (int kk = 0; kk < 64; kk += 16) {
          tw::wgmma_m64n256k16_bf16(acc,
              tw::k_major<128>(&shared.a_ring[ring.stage][warpgroup * 64][kk], 1024),
              tw::mn_major<128>(shared.b_ring[ring.stage][0][kk], 8192, 1024), step > 0 || kk > 0);
        }
        tw::wgmma_commit();
        if (step == 0 && c_waits) store_c();
        tw::wgmma_wait<1>();  // the step before has been multiplied
        if (step > 0 && threadIdx.x % 32 < 2) {
          tw::barrier_arrive_at(&shared.empty[ring.previous()], threadIdx.x % 32);
        }
        ring.next();
      }
      tw::wgmma_wait<0>();
      tw::complete(acc);
      if (threadIdx.x % 32 < 2) {
        tw::barrier_arrive_at(&shared.empty[ring.previous()], threadIdx.x % 32);
      }

      //   c[rows, cols] = acc;  // converted to c's dtype, edge-masked                  matmul.h:20
#pragma unroll
      for (int l = 0; l < 4; ++l)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          c_words[l][j][0] = tw::pack<tw::bf16>(acc[0][16 * l + 4 * j], acc[0][16 * l + 4 * j + 1]);
          c_words[l][j][1] = tw::pack<tw::bf16>(acc[1][16 * l + 4 * j], acc[1][16 * l + 4 * j + 1]);
          c_words[l][j][2] = tw::pack<tw::bf16>(acc[0][16 * l + 4 * j + 2],
              acc[0][16 * l + 4 * j + 3]);
          c_words[l][j][3] = tw::pack<tw::bf16>(acc[1][16 * l + 4 * j + 2],
              acc[1][16 * l + 4 * j + 3]);
        }
      c_cols = cols;
      c_rows = rows;
      c_waits = true;  // for the next tile's products
    }
    if (c_waits) store_c();
    if (threadIdx.x % 128 == 0) tw::tma_store_wait<0>();
  }
  tw::cluster_sync();
}
