// product_3f2a91c0   c[1000,1008] = a[1000,992] b[992,1008]   f32, row-major
// config   {"block":[64,64,16],"warps":4,"stages":2}
// shared   18,432 B: a_ring 2x[64][20] f32 (16 of 20 used, so rows start in different banks),
//          b_ring 2x[16][64] f32

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
struct TileId { int row, col; };
// the tile of block `id`, walking `group` tile rows together, so that blocks running at one time
// share rows of one operand and columns of the other in L2
__device__ __forceinline__ TileId grouped_tile(int id, int tile_rows, int tile_cols, int group) {
  const int first = id / (group * tile_cols) * group, in_group = id % (group * tile_cols);
  const int height = ::min(tile_rows - first, group);
  return {first + in_group % height, in_group / height};
}
}  // namespace tw

struct Shared {
  float a_ring[2][64][20];  // [stage][row][k]
  float b_ring[2][16][64];  // [stage][k][col]
};
static_assert(sizeof(Shared) == 18432);

extern "C" __global__ void __launch_bounds__(128)
product_3f2a91c0(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c) {
  Shared& shared = tw::shared_memory<Shared>();
  const tw::TileId tile = tw::grouped_tile(blockIdx.x, 16, 16, 8);
  const int rows = tile.row * 64, cols = tile.col * 64;
  const int thread_row = threadIdx.x / 16, thread_col = threadIdx.x % 16 * 4;
  float acc[8][4] = {};  // rows thread_row + 8 i, columns thread_col + j

  auto load_step = [&](int step) {
    const int ks = step * 16, stage = step % 2;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = threadIdx.x / 4 + 32 * i, kk = threadIdx.x % 4 * 4;
      tw::copy_async<4>(&shared.a_ring[stage][row][kk], &a[(rows + row) * 992 + ks + kk],
          rows + row < 1000 ? 4 : 0);
    }
    tw::copy_async_commit();
  };

  load_step(0);
  for (int step = 0; step < 62; ++step) {
    tw::copy_async_wait<0>();
    __syncthreads();  // this step's tiles are there, and nobody still reads the stage refilled next
    if (step + 1 < 62) load_step(step + 1);
    const int stage = step % 2;
#pragma unroll
    for (int kk = 0; kk < 16; ++kk) {
      float a_frag[8], b_frag[4];
      tw::load<4>(b_frag, &shared.b_ring[stage][kk][thread_col]);
#pragma unroll
      for (int i = 0; i < 8; ++i) a_frag[i] = shared.a_ring[stage][thread_row + 8 * i][kk];
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) acc[i][j] = fmaf(a_frag[i], b_frag[j], acc[i][j]);
    }
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int row = rows + thread_row + 8 * i, col = cols + thread_col;
    if (row < 1000 && col < 1008) tw::store<4>(&c[row * 1008 + col], acc[i]);
  }
}
