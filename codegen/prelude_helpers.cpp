// The table of device helpers. Text is CUDA C++ as NVRTC takes it with no headers.
#include "tilewright/codegen/prelude.h"
#include "tilewright/codegen/prelude_bytes.h"
#include "tilewright/codegen/prelude_debug.h"
#include "tilewright/codegen/prelude_evict.h"
#include "tilewright/codegen/prelude_fp8.h"
#include "tilewright/codegen/prelude_hopper.h"
#include "tilewright/codegen/prelude_mma.h"
#include "tilewright/codegen/prelude_ring.h"

namespace tilewright::codegen {
namespace {

std::vector<Helper> memory_helpers() {
  return {
      {.name = "shared_memory",
       .doc = "the block's shared memory, as the struct that maps it",
       .text = R"(template <class T> __device__ __forceinline__ T& shared_memory() {
  extern __shared__ __align__(1024) unsigned char bytes[];
  return *reinterpret_cast<T*>(bytes);
})"},
      {.name = "Word",
       .doc = "an unsigned type of that many bytes: what one access moves",
       .text = R"(template <int bytes> struct Word;
template <> struct Word<1> { using type = unsigned char; };
template <> struct Word<2> { using type = unsigned short; };
template <> struct Word<4> { using type = unsigned; };
template <> struct Word<8> { using type = uint2; };
template <> struct Word<16> { using type = uint4; };)"},
      {.name = "load",
       .doc = "n elements from memory to registers in one access",
       .text =
           R"(template <int n, class T> __device__ __forceinline__ void load(T* to, const T* from) {
  using W = typename Word<n * sizeof(T)>::type;
  *reinterpret_cast<W*>(to) = *reinterpret_cast<const W*>(from);
})",
       .needs = {"Word"},
       .pointers = {{0, Access::write}, {1, Access::read}}},
      {.name = "store",
       .doc = "n elements from registers to memory in one access",
       .text =
           R"(template <int n, class T> __device__ __forceinline__ void store(T* to, const T* from) {
  typename Word<n * sizeof(T)>::type word;
  memcpy(&word, from, sizeof word);  // a renaming of registers, not a copy
  *reinterpret_cast<decltype(word)*>(to) = word;
})",
       .needs = {"Word"},
       .pointers = {{0, Access::write}, {1, Access::read}}},
      {.name = "copy_async",
       .doc =
           "n elements from global to shared memory, asynchronously; zeros for those past `valid`",
       .text = R"(template <int n, class T>
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
})",
       .pointers = {{0, Access::write}, {1, Access::read}},
       .min_sm = 80},
      {.name = "copy_async_commit",
       .doc = "closes the copies issued since the last commit into one group",
       .text = R"(__device__ __forceinline__ void copy_async_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
})",
       .min_sm = 80},
      {.name = "copy_async_wait",
       .doc = "waits until at most `pending` of this thread's groups are still in flight",
       .text = R"(template <int pending> __device__ __forceinline__ void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;" :: "n"(pending) : "memory");
})",
       .min_sm = 80},
  };
}

std::vector<Helper> grid_helpers() {
  return {
      {.name = "grid_barrier",
       .doc = "waits until every block of the grid has come here; what they stored is then there. "
              "`arrivals` is 0 when the kernel starts, and all blocks are resident",
       .text = R"(__device__ __forceinline__ void grid_barrier(int* arrivals) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();  // what this block stored comes before its arrival
    const int blocks = (int)gridDim.x, before = atomicAdd(arrivals, 1);
    const int complete = (before / blocks + 1) * blocks;
    while (*(volatile int*)arrivals < complete) {
    }
    __threadfence();  // and the arrival of the others before what this block loads
  }
  __syncthreads();
})"},
  };
}

std::vector<Helper> half_helpers() {
  return {
      {.name = "f16",
       .doc = "IEEE half precision, as stored",
       .text = "struct f16 { unsigned short bits; };"},
      {.name = "bf16",
       .doc = "the upper half of a float, as stored",
       .text = "struct bf16 { unsigned short bits; };"},
      {.name = "to_float",
       .doc = "",
       .text = R"(__device__ __forceinline__ float to_float(f16 x) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(x.bits));
  return value;
})",
       .only_with = "f16"},
      {.name = "to_float",
       .doc = "",
       .text = R"(__device__ __forceinline__ float to_float(bf16 x) {
  return __uint_as_float((unsigned)x.bits << 16);
})",
       .only_with = "bf16"},
      {.name = "float_at",
       .doc = "x[i], read from the word that holds two: one instruction",
       .text =
           R"(template <int n> __device__ __forceinline__ float float_at(const bf16 (&x)[n], int i) {
  unsigned word;
  memcpy(&word, &x[i & ~1], 4);
  return __uint_as_float(i % 2 == 0 ? word << 16 : word & 0xffff0000);
})",
       .needs = {"bf16"}},
      {.name = "hold",
       .doc =
           "what was computed from x is to be computed again from here on, not held in registers",
       .text = R"(template <class T, int n> __device__ __forceinline__ void hold(T (&x)[n]) {
#pragma unroll
  for (int i = 0; i < n; i += 4 / sizeof(T)) {
    unsigned word;
    memcpy(&word, &x[i], 4);
    asm volatile("" : "+r"(word));  // as if changed
    memcpy(&x[i], &word, 4);
  }
})"},
      {.name = "to_f16",
       .doc = "rounds to nearest even",
       .text = R"(__device__ __forceinline__ f16 to_f16(float x) {
  f16 value;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(value.bits) : "f"(x));
  return value;
})",
       .needs = {"f16"}},
      {.name = "to_bf16",
       .doc = "rounds to nearest even",
       .text = R"(__device__ __forceinline__ bf16 to_bf16(float x) {
  bf16 value;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(value.bits) : "f"(x));
  return value;
})",
       .needs = {"bf16"},
       .min_sm = 80,
       .older_text = R"(__device__ __forceinline__ bf16 to_bf16(float x) {
  if (x != x) return {0x7fff};  // NaN: rounding its bits could make an infinity of it
  const unsigned bits = __float_as_uint(x);
  return {(unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
})"},
      {.name = "odd",
       .doc = "of the two floats around a value, the one whose last bit is set: rounded further, "
              "to a half type, "
              "it gives what rounding the value itself once would",
       .text = R"(__device__ __forceinline__ float odd(float below, float above) {
  return __float_as_uint(below) & 1 ? below : above;
})"},
      {.name = "to_odd",
       .doc = "to float, so that rounding the result further to a half type is right",
       .text = R"(__device__ __forceinline__ float to_odd(double x) {
  return odd(__double2float_rd(x), __double2float_ru(x));
}
__device__ __forceinline__ float to_odd(int x) { return odd(__int2float_rd(x), __int2float_ru(x)); }
__device__ __forceinline__ float to_odd(long long x) {
  return odd(__ll2float_rd(x), __ll2float_ru(x));
})",
       .needs = {"odd"}},
      {.name = "fma_odd",
       .doc = "x * y + z, so that rounding the result further to a half type is right",
       .text = R"(__device__ __forceinline__ float fma_odd(float x, float y, float z) {
  return odd(__fmaf_rd(x, y, z), __fmaf_ru(x, y, z));
})",
       .needs = {"odd"}},
  };
}

std::vector<Helper> shuffle_helpers() {
  return {
      {.name = "shuffle_xor",
       .doc =
           "the value of the lane whose number differs by `mask`; all lanes of the warp take part",
       .text = R"(template <class T> __device__ __forceinline__ T shuffle_xor(T value, int mask) {
  unsigned words[(sizeof(T) + 3) / 4] = {};
  memcpy(words, &value, sizeof(T));
  for (unsigned& word : words) word = __shfl_xor_sync(0xffffffff, word, mask);
  memcpy(&value, words, sizeof(T));
  return value;
})"},
      {.name = "shuffle",
       .doc = "the value of another lane; all lanes of the warp take part",
       .text = R"(template <class T> __device__ __forceinline__ T shuffle(T value, int lane) {
  unsigned words[(sizeof(T) + 3) / 4] = {};
  memcpy(words, &value, sizeof(T));
  for (unsigned& word : words) word = __shfl_sync(0xffffffff, word, lane);
  memcpy(&value, words, sizeof(T));
  return value;
})"},
  };
}

std::vector<Helper> float_helpers() {
  return {
      {.name = "infinity",
       .doc = "",
       .text =
           "__device__ __forceinline__ float infinity() { return __uint_as_float(0x7f800000); }"},
      {.name = "nan",
       .doc = "",
       .text = "__device__ __forceinline__ float nan() { return __uint_as_float(0x7fffffff); }"},
      {.name = "max",
       .doc = "NaN if either is; -0 is below +0",
       .text = R"(__device__ __forceinline__ float max(float x, float y) {
  float value;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(value) : "f"(x), "f"(y));
  return value;
})",
       .min_sm = 80,
       .older_text = R"(__device__ __forceinline__ float max(float x, float y) {
  if (x != x || y != y) return __uint_as_float(0x7fffffff);
  if (x == y)  // differ for zeros only
    return __uint_as_float(__float_as_uint(x) & __float_as_uint(y));
  return x > y ? x : y;
})"},
      {.name = "min",
       .doc = "NaN if either is; -0 is below +0",
       .text = R"(__device__ __forceinline__ float min(float x, float y) {
  float value;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(value) : "f"(x), "f"(y));
  return value;
})",
       .min_sm = 80,
       .older_text = R"(__device__ __forceinline__ float min(float x, float y) {
  if (x != x || y != y) return __uint_as_float(0x7fffffff);
  if (x == y)  // differ for zeros only
    return __uint_as_float(__float_as_uint(x) | __float_as_uint(y));
  return x < y ? x : y;
})"},
      {.name = "max_double",
       .doc = "NaN if either is; -0 is below +0",
       .text = R"(__device__ __forceinline__ double max_double(double x, double y) {
  if (x != x || y != y) return x + y;
  if (x == y)  // differ for zeros only
    return __longlong_as_double(__double_as_longlong(x) & __double_as_longlong(y));
  return x > y ? x : y;
})"},
      {.name = "min_double",
       .doc = "NaN if either is; -0 is below +0",
       .text = R"(__device__ __forceinline__ double min_double(double x, double y) {
  if (x != x || y != y) return x + y;
  if (x == y)  // differ for zeros only
    return __longlong_as_double(__double_as_longlong(x) | __double_as_longlong(y));
  return x < y ? x : y;
})"},
      {.name = "quotient",
       .doc = "x / y for many x and one y, whose reciprocal is computed once: the second remainder "
              "makes q the nearest, if it is exact",
       .text = R"(__device__ __forceinline__ float quotient(float x, float y, float& smallest) {
  const float reciprocal = 1.0f / y;
  float q = x * reciprocal;
  q = fmaf(fmaf(-y, q, x), reciprocal, q);
  q = fmaf(fmaf(-y, q, x), reciprocal, q);
  smallest = min(smallest, fabsf(q));  // NaN also where x / y is no number or too large
  return q;
})",
       .needs = {"min"}},
      {.name = "least_quotient",
       .doc = "from here on the remainders that quotient computes are exact",
       .text = R"(__device__ __forceinline__ float least_quotient(float y) {
  const float size = fabsf(y), least = 0x1p-100f * fabsf(1.0f / y);
  if (!(size >= 0x1p-100f && size <= 0x1p+100f)) return infinity();
  return least > 0x1p-125f ? least : 0x1p-125f;
})",
       .needs = {"infinity"}},
  };
}

std::vector<Helper> integer_helpers() {
  return {
      {.name = "div",
       .doc = "truncating; x / 0 is 0, and the lowest value / -1 wraps to itself",
       .text = R"(template <class T> __device__ __forceinline__ T div(T x, T y) {
  if (y == -1) return (T)(0ull - x);
  return y == 0 ? 0 : x / y;
})"},
      {.name = "rem",
       .doc = "has the sign of x; x % 0 is x, and x % -1 is 0",
       .text = R"(template <class T> __device__ __forceinline__ T rem(T x, T y) {
  if (y == -1) return 0;
  return y == 0 ? x : x % y;
})"},
      {.name = "abs",
       .doc = "the lowest value wraps to itself",
       .text =
           R"(template <class T> __device__ __forceinline__ T abs(T x) {
  return x < 0 ? (T)(0ull - x) : x;
})"},
      {.name = "to_int",
       .doc = "cuts off the fraction; values out of range become the nearest end of it, NaN 0",
       .text = R"(template <class T, class F> __device__ __forceinline__ T to_int(F x) {
  constexpr bool is_signed = (T)-1 < (T)0;
  constexpr T highest = (T)(~0ull >> (64 - 8 * sizeof(T) + is_signed));
  constexpr T lowest = is_signed ? -highest - 1 : 0;
  constexpr F end = (F)(1ull << (8 * sizeof(T) - is_signed));  // highest + 1, which F has exactly
  if (x != x) return 0;
  return x >= end ? highest : x <= (F)lowest ? lowest : (T)x;
})"},
  };
}

std::vector<Helper> tile_helpers() {
  return {
      {.name = "TileId", .doc = "", .text = "struct TileId { int row, col; };"},
      {.name = "grouped_tile",
       .doc = "the tile of block `id`, walking `group` tile rows together, so that blocks running "
              "at one "
              "time share rows of one operand and columns of the other in L2",
       .text =
           R"(__device__ __forceinline__ TileId grouped_tile(int id, int tile_rows, int tile_cols, int group) {
  const int first = id / (group * tile_cols) * group, in_group = id % (group * tile_cols);
  const int height = ::min(tile_rows - first, group);
  return {first + in_group % height, in_group / height};
})",
       .needs = {"TileId"}},
  };
}

}  // namespace

const std::vector<Helper>& helpers() {
  static const std::vector<Helper> table = [] {
    std::vector<Helper> all;
    for (std::vector<Helper> part :
         {memory_helpers(), evict_helpers(), half_helpers(), fp8_helpers(), byte_helpers(),
          shuffle_helpers(), float_helpers(), integer_helpers(), tile_helpers(), mma_helpers(),
          hopper_helpers(), ring_helpers(), grid_helpers(), debug_helpers()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return table;
}

}  // namespace tilewright::codegen
