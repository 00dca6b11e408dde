// matmul_2afd4385   c: bf16[4096,4096] = matmul(a: bf16[4096,4096], b: bf16[4096,4096])   for sm_80
// config   {"block":[128,128,32],"group":8,"stages":4,"matrix":"mma"}
// grid     rows by 128, cols by 128, in groups of 8 tile rows, 1024 blocks of 128 threads
// shared   100352 B: a_ring bf16[4][128][32], b_ring bf16[4][32][128], tile_exchange bf16[128][136]

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
// the upper half of a float, as stored
struct bf16 { unsigned short bits; };
// rounds to nearest even
__device__ __forceinline__ bf16 to_bf16(float x) {
  bf16 value;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(value.bits) : "f"(x));
  return value;
}
struct TileId { int row, col; };
// the tile of block `id`, walking `group` tile rows together, so that blocks running at one time
// share rows of one operand and columns of the other in L2
__device__ __forceinline__ TileId grouped_tile(int id, int tile_rows, int tile_cols, int group) {
  const int first = id / (group * tile_cols) * group, in_group = id % (group * tile_cols);
  const int height = ::min(tile_rows - first, group);
  return {first + in_group % height, in_group / height};
}
// n matrices of 8 rows of 16 bytes from shared memory, by the warp: lane 8 i + r gives the address
// of row r of matrix i; of each matrix, lane l gets word l % 4 of row l / 4
template <int n> __device__ __forceinline__ void matrix_load(void* to, const void* row) {
  static_assert(n == 2 || n == 4);
  const unsigned address = (unsigned)__cvta_generic_to_shared(row);
  unsigned words[n];
  if constexpr (n == 4)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(address) : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(words[0]), "=r"(words[1]) : "r"(address) : "memory");
  memcpy(to, words, sizeof words);  // a renaming of registers, not a copy
}
// the same, each matrix transposed: the lane gets elements l / 4 of rows 2 (l % 4) and the next
template <int n> __device__ __forceinline__ void matrix_load_transposed(void* to, const void* row) {
  static_assert(n == 2 || n == 4);
  const unsigned address = (unsigned)__cvta_generic_to_shared(row);
  unsigned words[n];
  if constexpr (n == 4)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(address) : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(words[0]), "=r"(words[1]) : "r"(address) : "memory");
  memcpy(to, words, sizeof words);  // a renaming of registers, not a copy
}
// 16 x 8 results += a b, by the warp: lane l holds columns 2 (l % 4) and the next of rows l / 4
// (top) and l / 4 + 8 (bottom)
__device__ __forceinline__ void mma_m16n8k16_bf16(
    float* top, float* bottom, const void* a, const void* b) {
  unsigned x[4], y[2];
  memcpy(x, a, sizeof x);  // renamings of registers, not copies
  memcpy(y, b, sizeof y);
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(top[0]), "+f"(top[1]), "+f"(bottom[0]), "+f"(bottom[1])
               : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
}
}  // namespace tw

struct Shared {
  tw::bf16 a_ring[4][128][32];  // [stage][row][k], swizzled
  tw::bf16 b_ring[4][32][128];  // [stage][k][col], swizzled
  tw::bf16 tile_exchange[128][136];  // [row][col], to change who holds what
};
static_assert(sizeof(Shared) == 100352);

extern "C" __global__ void __launch_bounds__(128, 1)
matmul_2afd4385(const tw::bf16* __restrict__ a, const tw::bf16* __restrict__ b,
    tw::bf16* __restrict__ c) {
  Shared& shared = tw::shared_memory<Shared>();
  const int thread_row = threadIdx.x / 4, thread_k = threadIdx.x % 4 * 8;
  const int thread_k_2 = threadIdx.x / 16, thread_col = threadIdx.x % 16 * 8;
  const int thread_row_2 = threadIdx.x / 64 * 64 + threadIdx.x % 16;
  const int thread_k_3 = threadIdx.x / 16 % 2 * 8;
  const int thread_col_2 = threadIdx.x / 32 % 2 * 64 + threadIdx.x / 16 % 2 * 8;
  const int thread_k_4 = threadIdx.x % 16;
  const int thread_row_3 = threadIdx.x / 64 * 64 + threadIdx.x / 4 % 8;
  const int thread_col_3 = threadIdx.x / 32 % 2 * 64 + threadIdx.x % 4 * 2;

  // for (auto [rows, cols] : tw::tile({m, n})) {        // the grid: one program per output tile
  //                                                                                     matmul.h:15
  const tw::TileId block_tile = tw::grouped_tile(blockIdx.x, 32, 32, 8);
  const int rows = block_tile.row * 128, cols = block_tile.col * 128;

  //   tw::Tile acc = tw::zeros({rows, cols}, tw::f32);  // stays in registers           matmul.h:16
  float acc[8][16] = {};

  //   for (auto ks : tw::tile(k)) {                     // a sequential loop, pipelined
  //                                                                                     matmul.h:17

  auto load_step = [&](int step_to_load) {
    const int next_ks = step_to_load * 32, stage_to_fill = step_to_load % 4;

    //     acc = tw::addmm(acc, a[rows, ks], b[ks, cols]);                               matmul.h:18
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      tw::copy_async<8>(&shared.a_ring[stage_to_fill][thread_row +
          32 * i][((thread_k / 8) ^ (thread_row / 2 % 4)) * 8],
          &a[(rows + thread_row + 32 * i) * 4096 + next_ks + thread_k]);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      tw::copy_async<8>(&shared.b_ring[stage_to_fill][thread_k_2 +
          8 * i][((thread_col / 8) ^ (thread_k_2 % 8)) * 8],
          &b[(next_ks + thread_k_2 + 8 * i) * 4096 + cols + thread_col]);
    }
  };

  for (int step = 0; step < 3; ++step) {
    load_step(step);
    tw::copy_async_commit();
  }
  for (int step = 0; step < 128; ++step) {
    const int stage = step % 4;
    tw::copy_async_wait<2>();
    __syncthreads();  // these tiles are there, and nobody still reads the stage refilled next
    if (step + 3 < 128) load_step(step + 3);
    tw::copy_async_commit();

    //     acc = tw::addmm(acc, a[rows, ks], b[ks, cols]);                               matmul.h:18
#pragma unroll
    for (int kk = 0; kk < 32; kk += 16) {
      tw::bf16 a_frag[4][8];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        tw::matrix_load<4>(a_frag[i],
            &shared.a_ring[stage][thread_row_2 +
            16 * i][(((thread_k_3 + kk) / 8) ^ (thread_row_2 / 2 % 4)) * 8]);
      }
      tw::bf16 b_frag[8][4];
#pragma unroll
      for (int j = 0; j < 8; j += 2) {
        tw::matrix_load_transposed<4>(b_frag[j],
            &shared.b_ring[stage][thread_k_4 +
            kk][((j + thread_col_2 / 8) ^ ((thread_k_4 + kk) % 8)) * 8]);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          tw::mma_m16n8k16_bf16(&acc[2 * i][2 * j], &acc[2 * i + 1][2 * j], a_frag[i], b_frag[j]);
        }
    }
  }

  //   c[rows, cols] = acc;  // converted to c's dtype, edge-masked                      matmul.h:20
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int j = 0; j < 16; j += 2) {
      tw::bf16 run[2];
#pragma unroll
      for (int p = 0; p < 2; ++p) run[p] = tw::to_bf16(acc[i][j + p]);
      tw::store<2>(&shared.tile_exchange[thread_row_3 + 8 * i][thread_col_3 + 4 * j], run);
    }
  tw::bf16 tile_2[16][8];
  __syncthreads();  // tile_exchange is complete
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    tw::load<8>(tile_2[i], &shared.tile_exchange[thread_k_2 + 8 * i][thread_col]);
  }
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    tw::store<8>(&c[(rows + thread_k_2 + 8 * i) * 4096 + cols + thread_col], tile_2[i]);
  }
}
