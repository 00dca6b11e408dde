// Their text is CUDA C++ around instructions of PTX ISA 8: mbarrier, cp.async.bulk.tensor,
// fence.proxy, barrier.cluster, setmaxnreg, stmatrix, wgmma.
#include "tilewright/codegen/prelude_hopper.h"

#include <fmt/format.h>

#include <array>

namespace tilewright::codegen {
namespace {

std::vector<Helper> barrier_helpers() {
  return {
      {.name = "shared_address",
       .doc = "an address as instructions for shared memory take it",
       .text = R"(__device__ __forceinline__ unsigned shared_address(const void* p) {
  return (unsigned)__cvta_generic_to_shared(p);
})"},
      {.name = "Barrier",
       .doc = "an mbarrier, in shared memory: a phase of it is complete when all arrivals and all "
              "bytes that it expects have come",
       .text = "struct Barrier { unsigned long long state; };"},
      {.name = "barrier_init",
       .doc = "by one thread, before all others' use",
       .text = R"(__device__ __forceinline__ void barrier_init(Barrier* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
               :: "r"(shared_address(barrier)), "r"(arrivals) : "memory");
})",
       .needs = {"shared_address", "Barrier"},
       .min_sm = 90},
      {.name = "barrier_init_fence",
       .doc = "makes initialized barriers known to the cluster's blocks and to bulk copies",
       .text = R"(__device__ __forceinline__ void barrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
})",
       .min_sm = 90},
      {.name = "barrier_expect",
       .doc = "arrives, and lets the phase wait for `bytes` of bulk copies as well",
       .text = R"(__device__ __forceinline__ void barrier_expect(Barrier* barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               :: "r"(shared_address(barrier)), "r"(bytes) : "memory");
})",
       .needs = {"shared_address", "Barrier"},
       .min_sm = 90},
      {.name = "barrier_arrive",
       .doc = "",
       .text = R"(__device__ __forceinline__ void barrier_arrive(Barrier* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"
               :: "r"(shared_address(barrier)) : "memory");
})",
       .needs = {"shared_address", "Barrier"},
       .min_sm = 90},
      {.name = "barrier_arrive_at",
       .doc = "at the same barrier of another block of the cluster",
       .text =
           R"(__device__ __forceinline__ void barrier_arrive_at(Barrier* barrier, unsigned block) {
  asm volatile(
      "{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [there]; }"
      :: "r"(shared_address(barrier)), "r"(block) : "memory");
})",
       .needs = {"shared_address", "Barrier"},
       .min_sm = 90},
      {.name = "barrier_wait",
       .doc = "until the phase of that parity is complete; the first phase has parity 0",
       .text = R"(__device__ __forceinline__ void barrier_wait(Barrier* barrier, unsigned parity) {
  asm volatile(
      "{ .reg .pred done;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again; }"
      :: "r"(shared_address(barrier)), "r"(parity) : "memory");
})",
       .needs = {"shared_address", "Barrier"},
       .min_sm = 90},
  };
}

constexpr std::array<std::string_view, 5> kCoordinates = {"x", "y", "z", "w", "v"};

// "int x, int y"; or "%3, %4"; or "\"r\"(x), \"r\"(y)" of a tensor's rank.
struct Coordinates {
  std::string parameters, operands, constraints;
  Coordinates(int rank, int first_operand) {
    for (int i = 0; i < rank; ++i) {
      const char* comma = i > 0 ? ", " : "";
      parameters += fmt::format("{}int {}", comma, kCoordinates[static_cast<size_t>(i)]);
      operands += fmt::format("{}%{}", comma, first_operand + i);
      constraints += fmt::format("{}\"r\"({})", comma, kCoordinates[static_cast<size_t>(i)]);
    }
  }
};

std::string load_text(int rank, bool multicast) {
  const Coordinates at(rank, multicast ? 4 : 3);
  return fmt::format(
      R"(__device__ __forceinline__ void tma_load{0}(
    void* to, const TensorMap& map, Barrier* barrier,
    {1}{2}) {{
  asm volatile(
      "cp.async.bulk.tensor.{3}d.shared::cluster.global.mbarrier::complete_tx::bytes"
      "{4} [%0], [%1, {{{5}}}], [%2]{6};"
      :: "r"(shared_address(to)), "l"(&map), "r"(shared_address(barrier)),{7}
         {8} : "memory");
}})",
      multicast ? "_multicast" : "", multicast ? "unsigned short blocks, " : "", at.parameters,
      rank, multicast ? ".multicast::cluster" : "", at.operands, multicast ? ", %3" : "",
      multicast ? " \"h\"(blocks)," : "", at.constraints);
}

std::string store_text(int rank) {
  const Coordinates at(rank, 2);
  return fmt::format(
      R"(__device__ __forceinline__ void tma_store(
    const TensorMap& map, const void* from, {0}) {{
  asm volatile(
      "cp.async.bulk.tensor.{1}d.global.shared::cta.bulk_group [%0, {{{2}}}], [%1];"
      :: "l"(&map), "r"(shared_address(from)), {3} : "memory");
}})",
      at.parameters, rank, at.operands, at.constraints);
}

std::vector<Helper> tensor_copy_helpers() {
  constexpr std::array<std::string_view, 5> ranks = {"1", "2", "3", "4", "5"};
  std::vector<Helper> made = {
      {.name = "TensorMap",
       .doc = "how bulk copies see a tensor; the host encodes it",
       .text = "struct alignas(64) TensorMap { unsigned long long opaque[16]; };"}};
  for (const bool multicast : {false, true})
    for (int rank = 1; rank <= 5; ++rank)
      made.push_back(
          {.name = multicast ? "tma_load_multicast" : "tma_load",
           .doc = multicast
                      ? "the same to the same place in each of `blocks` of the cluster (a mask), "
                        "each of which gets the bytes at its barrier"
                      : "starts a copy of the box at these coordinates (x is the fastest "
                        "dimension), zeros where the tensor has ended, to shared memory; its "
                        "bytes arrive at the barrier",
           .text = load_text(rank, multicast),
           .needs = {"shared_address", "Barrier", "TensorMap"},
           .pointers = {{0, Access::write}},
           .min_sm = 90,
           .overload = ranks[static_cast<size_t>(rank - 1)]});
  for (int rank = 1; rank <= 5; ++rank)
    made.push_back({.name = "tma_store",
                    .doc = "starts a copy of the box at these coordinates from shared memory, less "
                           "what lies outside of the tensor",
                    .text = store_text(rank),
                    .needs = {"shared_address", "TensorMap"},
                    .pointers = {{1, Access::read}},
                    .min_sm = 90,
                    .overload = ranks[static_cast<size_t>(rank - 1)]});
  return made;
}

std::vector<Helper> bulk_group_helpers() {
  return {
      {.name = "tma_store_commit",
       .doc = "closes the stores that this thread issued since the last commit into one group",
       .text = R"(__device__ __forceinline__ void tma_store_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
})",
       .min_sm = 90},
      {.name = "tma_store_wait",
       .doc = "until at most `pending` of this thread's groups of stores are not complete",
       .text = R"(template <int pending> __device__ __forceinline__ void tma_store_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" :: "n"(pending) : "memory");
})",
       .min_sm = 90},
      {.name = "tma_store_wait_read",
       .doc = "until at most `pending` of this thread's groups of stores still read shared memory",
       .text = R"(template <int pending> __device__ __forceinline__ void tma_store_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" :: "n"(pending) : "memory");
})",
       .min_sm = 90},
      {.name = "fence_async_shared",
       .doc = "lets bulk stores and warpgroup products see what this thread wrote to shared memory",
       .text = R"(__device__ __forceinline__ void fence_async_shared() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
})",
       .min_sm = 90},
  };
}

std::vector<Helper> group_helpers() {
  return {
      {.name = "sync_warps",
       .doc = "waits for `threads` threads, whole warps, at named barrier 1 to 15",
       .text = R"(__device__ __forceinline__ void sync_warps(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" :: "r"(barrier), "r"(threads) : "memory");
})"},
      {.name = "cluster_rank",
       .doc = "this block's number in its cluster",
       .text = R"(__device__ __forceinline__ unsigned cluster_rank() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
})",
       .min_sm = 90},
      {.name = "cluster_sync",
       .doc = "waits for all threads of the cluster's blocks; whole warps",
       .text = R"(__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
})",
       .min_sm = 90},
      {.name = "registers_down",
       .doc = "the warpgroup gives registers back and goes on with `count` for each thread",
       .text = R"(template <int count> __device__ __forceinline__ void registers_down() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(count));
})",
       .min_sm = 90,
       .specific = true},
      {.name = "registers_up",
       .doc = "the warpgroup waits for registers, until it has `count` for each thread",
       .text = R"(template <int count> __device__ __forceinline__ void registers_up() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(count));
})",
       .min_sm = 90,
       .specific = true},
  };
}

std::vector<Helper> operand_helpers() {
  return {
      {.name = "MatrixOperand",
       .doc = "a matrix in shared memory, as warpgroup products take it: rows of `swizzle` bytes, "
              "along k when k_first",
       .text = R"(template <class T, int swizzle, bool k_first> struct MatrixOperand {
  unsigned long long descriptor;
};)"},
      {.name = "matrix_descriptor",
       .doc = "start, distance of panels, distance of groups of 8 rows, pattern",
       .text = R"(template <int swizzle>
__device__ __forceinline__ unsigned long long matrix_descriptor(
    const void* at, int panel_bytes, int group_bytes) {
  static_assert(swizzle == 128 || swizzle == 64 || swizzle == 32);
  const unsigned low = (shared_address(at) & 0x3ffff) >> 4 | panel_bytes >> 4 << 16;
  const unsigned high = group_bytes >> 4 | (swizzle == 128 ? 1u : swizzle == 64 ? 2u : 3u) << 30;
  return (unsigned long long)high << 32 | low;
})",
       .needs = {"shared_address"}},
      {.name = "k_major",
       .doc = "rows along k, those of the next 8 m or n `group_bytes` further",
       .text = R"(template <int swizzle, class T>
__device__ __forceinline__ MatrixOperand<T, swizzle, true> k_major(const T* at, int group_bytes) {
  return {matrix_descriptor<swizzle>(at, 16, group_bytes)};
})",
       .needs = {"MatrixOperand", "matrix_descriptor"},
       .pointers = {{0, Access::read}},
       .min_sm = 90},
      {.name = "mn_major",
       .doc =
           "rows along m or n, those of the next 8 k `group_bytes` further; what does not fit in "
           "a row goes on `panel_bytes` further",
       .text = R"(template <int swizzle, class T>
__device__ __forceinline__ MatrixOperand<T, swizzle, false> mn_major(
    const T* at, int panel_bytes, int group_bytes) {
  return {matrix_descriptor<swizzle>(at, panel_bytes, group_bytes)};
})",
       .needs = {"MatrixOperand", "matrix_descriptor"},
       .pointers = {{0, Access::read}},
       .min_sm = 90},
  };
}

std::vector<Helper> product_helpers() {
  return {
      {.name = "wgmma_fence",
       .doc = "orders what was done to registers before with the products that follow",
       .text = R"(__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
})",
       .min_sm = 90,
       .max_sm = 90,
       .specific = true},
      {.name = "wgmma_commit",
       .doc = "closes the products issued since the last commit into one group",
       .text = R"(__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
})",
       .min_sm = 90,
       .max_sm = 90,
       .specific = true},
      {.name = "wgmma_wait",
       .doc = "until at most `pending` groups of products are in flight",
       .text = R"(template <int pending> __device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(pending) : "memory");
})",
       .min_sm = 90,
       .max_sm = 90,
       .specific = true},
  };
}

std::string matrix_store_text(bool transposed) {
  return fmt::format(
      R"(template <int n>
__device__ __forceinline__ void matrix_store{0}(void* row, const unsigned (&r)[n]) {{
  static_assert(n == 4 || n == 2);
  if constexpr (n == 4)
    asm volatile("stmatrix.sync.aligned.m8n8.x4{1}.shared.b16 [%0], {{%1, %2, %3, %4}};"
                 :: "r"(shared_address(row)), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
  else
    asm volatile("stmatrix.sync.aligned.m8n8.x2{1}.shared.b16 [%0], {{%1, %2}};"
                 :: "r"(shared_address(row)), "r"(r[0]), "r"(r[1]) : "memory");
}})",
      transposed ? "_transposed" : "", transposed ? ".trans" : "");
}

std::vector<Helper> fragment_helpers() {
  return {
      {.name = "tf32_low",
       .doc =
           "what is left of x when the last 13 bits are cut off, as products by wgmma do; to the "
           "nearest number that these leave whole",
       .text = R"(__device__ __forceinline__ float tf32_low(float x) {
  const float rest = x - __uint_as_float(__float_as_uint(x) & 0xffffe000);
  return __uint_as_float(__float_as_uint(rest) + 0x1000);
})"},
      {.name = "word",
       .doc = "neighbouring elements, four bytes in all, in one word; the first is lowest",
       .text = R"(template <class T, class... Rest>
__device__ __forceinline__ unsigned word(T first, Rest... rest) {
  const T elements[] = {first, rest...};
  static_assert(sizeof elements == 4);
  unsigned bits;
  memcpy(&bits, elements, 4);  // a renaming of registers, not a copy
  return bits;
})"},
      {.name = "pack",
       .doc = "two floats, rounded to nearest even, in one word",
       .text = "template <class T> __device__ unsigned pack(float low, float high);",
       .min_sm = 80},
      {.name = "pack",
       .doc = "",
       .text = R"(template <> __device__ __forceinline__ unsigned pack<f16>(float low, float high) {
  unsigned both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
})",
       .min_sm = 80,
       .only_with = "f16"},
      {.name = "pack",
       .doc = "",
       .text =
           R"(template <> __device__ __forceinline__ unsigned pack<bf16>(float low, float high) {
  unsigned both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
})",
       .min_sm = 80,
       .only_with = "bf16"},
      {.name = "matrix_store",
       .doc = "n matrices of 8 by 8 halves to shared memory: lane l holds elements 2 (l % 4) and "
              "the next of row l / 4 of each, and the addresses of their rows come from lanes 8 i "
              "to 8 i + 7",
       .text = matrix_store_text(false),
       .needs = {"shared_address"},
       .pointers = {{0, Access::write}},
       .min_sm = 90},
      {.name = "matrix_store_transposed",
       .doc = "the same with rows and columns of each matrix exchanged",
       .text = matrix_store_text(true),
       .needs = {"shared_address"},
       .pointers = {{0, Access::write}},
       .min_sm = 90},
  };
}

}  // namespace

std::vector<Helper> hopper_helpers() {
  std::vector<Helper> all;
  for (std::vector<Helper> part :
       {barrier_helpers(), tensor_copy_helpers(), bulk_group_helpers(), group_helpers(),
        operand_helpers(), product_helpers(), fragment_helpers()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace tilewright::codegen
