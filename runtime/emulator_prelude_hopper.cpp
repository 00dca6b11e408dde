#include "tilewright/runtime/emulator_prelude_hopper.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "tilewright/codegen/prelude_wgmma.h"

namespace tilewright::runtime {
namespace {

struct HopperTwin {
  std::string_view name, text;
};

// By the PTX ISA. Lanes of a matrix store collect the rows whose addresses they give, as the
// hardware does, and write 16 bytes at once.
constexpr HopperTwin kTwins[] = {
    {"shared_address",
     "inline unsigned shared_address(const void* p) { return tw_emu_shared_offset(p); }"},
    {"complete", "template <class T, int n, int m> inline void complete(T (&)[n][m]) {}"},
    {"barrier_init",
     "inline void barrier_init(Barrier* barrier, int arrivals) { tw_emu_mbarrier(0, barrier, "
     "arrivals); }"},
    {"barrier_init_fence", "inline void barrier_init_fence() { tw_emu_fence(1); }"},
    {"barrier_expect",
     "inline void barrier_expect(Barrier* barrier, int bytes) { tw_emu_mbarrier(1, barrier, "
     "bytes); }"},
    {"barrier_arrive",
     "inline void barrier_arrive(Barrier* barrier) { tw_emu_mbarrier(2, barrier, -1); }"},
    {"barrier_arrive_at",
     "inline void barrier_arrive_at(Barrier* barrier, unsigned block) { tw_emu_mbarrier(2, "
     "barrier, block); }"},
    {"barrier_release_at",
     "inline void barrier_release_at(Barrier* barrier, unsigned block) { tw_emu_mbarrier(2, "
     "barrier, block); }"},
    {"barrier_acquire",
     "inline void barrier_acquire(Barrier* barrier, unsigned parity) { tw_emu_mbarrier(3, barrier, "
     "parity); }"},
    {"barrier_wait",
     "inline void barrier_wait(Barrier* barrier, unsigned parity) { tw_emu_mbarrier(3, barrier, "
     "parity); }"},
    {"barrier_release_at",
     "inline void barrier_release_at(Barrier* barrier, unsigned block) { tw_emu_mbarrier(2, "
     "barrier, block); }"},
    {"barrier_acquire",
     "inline void barrier_acquire(Barrier* barrier, unsigned parity) { tw_emu_mbarrier(3, "
     "barrier, parity); }"},
    {"store_at", R"(template <class T> inline void store_at(T* at, unsigned block, T value) {
  static_assert(sizeof(T) == 4);
  unsigned word;
  memcpy(&word, &value, 4);
  tw_emu_store_at(at, block, word);
})"},
    {"tma_load", R"(template <class... C>
inline void tma_load(void* to, const TensorMap& map, Barrier* barrier, C... at) {
  const int coordinates[] = {(int)at...};
  tw_emu_bulk_load(to, &map, barrier, 0, sizeof...(C), coordinates);
})"},
    {"tma_load_multicast", R"(template <class... C>
inline void tma_load_multicast(void* to, const TensorMap& map, Barrier* barrier,
                               unsigned short blocks, C... at) {
  const int coordinates[] = {(int)at...};
  tw_emu_bulk_load(to, &map, barrier, blocks, sizeof...(C), coordinates);
})"},
    {"tma_store", R"(template <class... C>
inline void tma_store(const TensorMap& map, const void* from, C... at) {
  const int coordinates[] = {(int)at...};
  tw_emu_bulk_store(&map, from, sizeof...(C), coordinates);
})"},
    {"tma_store_commit", "inline void tma_store_commit() { tw_emu_bulk_commit(); }"},
    {"tma_store_wait",
     "template <int pending> inline void tma_store_wait() { tw_emu_bulk_wait(pending, 0); }"},
    {"tma_store_wait_read",
     "template <int pending> inline void tma_store_wait_read() { tw_emu_bulk_wait(pending, 1); }"},
    {"fence_async_shared", "inline void fence_async_shared() { tw_emu_fence(0); }"},
    {"sync_warps",
     "inline void sync_warps(int barrier, int threads) { tw_emu_named_barrier(barrier, threads); "
     "}"},
    {"cluster_rank", "inline unsigned cluster_rank() { return tw_emu_cluster_rank(); }"},
    {"cluster_sync", "inline void cluster_sync() { tw_emu_cluster_sync(); }"},
    {"registers_down",
     "template <int count> inline void registers_down() { tw_emu_registers(count, 0); }"},
    {"registers_up",
     "template <int count> inline void registers_up() { tw_emu_registers(count, 1); }"},
    {"wgmma_fence", "inline void wgmma_fence() { tw_emu_fence(2); }"},
    {"wgmma_commit", "inline void wgmma_commit() { tw_emu_product_commit(); }"},
    {"wgmma_wait", R"(template <int pending> inline void wgmma_wait() {
  tw_emu_product_wait(pending);
}
template <class T, int swizzle, bool k_first>
inline TwOperand tw_operand(MatrixOperand<T, swizzle, k_first> matrix) {
  return {matrix.descriptor, 0, swizzle, k_first};
}
inline TwOperand tw_operand(const unsigned* words) { return {0, words, 0, 1}; })"},
    {"matrix_store",
     R"(template <int n> inline void matrix_store(void* row, const unsigned (&r)[n]) {
  const unsigned lane = threadIdx.x % 32;
  unsigned words[4] = {};
  for (unsigned i = 0; i < n; ++i)
    for (unsigned w = 0; w < 4; ++w) {
      const unsigned word = tw_emu_shuffle(r[i], 4 * (lane % 8) + w, 0);
      if (i == lane / 8) words[w] = word;
    }
  TwWords mine;
  memcpy(&mine, words, 16);
  if (lane < 8 * n) tw_emu_store(row, mine, 16);
})"},
    {"matrix_store_transposed",
     R"(template <int n> inline void matrix_store_transposed(void* row, const unsigned (&r)[n]) {
  const unsigned lane = threadIdx.x % 32, column = lane % 8;
  unsigned short halves[8] = {};
  for (unsigned i = 0; i < n; ++i)
    for (unsigned w = 0; w < 8; ++w) {
      const unsigned word = tw_emu_shuffle(r[i], 4 * w + column / 2, 0);
      if (i == lane / 8) halves[w] = word >> 16 * (column % 2);
    }
  TwWords mine;
  memcpy(&mine, halves, 16);
  if (lane < 8 * n) tw_emu_store(row, mine, 16);
})"},
};

// Overloads that have something to do with a type.
constexpr HopperTwin kPacking[] = {
    {"f16", R"(template <> inline unsigned pack<f16>(float low, float high) {
  return to_f16(low).bits | (unsigned)to_f16(high).bits << 16;
})"},
    {"bf16", R"(template <> inline unsigned pack<bf16>(float low, float high) {
  return to_bf16(low).bits | (unsigned)to_bf16(high).bits << 16;
})"},
};

int number_of(std::string_view type) {
  constexpr std::string_view names[] = {"bf16", "f16", "tf32", "e4m3", "e5m2", "s8"};
  return static_cast<int>(std::ranges::find(names, type) - std::begin(names));
}

}  // namespace

std::string_view hopper_hook_members() {
  return R"(  TwDim3 (*grid)();
  unsigned (*shared_offset)(const void*);
  void (*sync_warp)(const void*);
  void (*named_barrier)(int, int, const void*);
  unsigned (*cluster_rank)();
  void (*cluster_sync)(const void*);
  void (*registers)(int, int, const void*);
  void (*fence)(int, const void*);
  void (*mbarrier)(int, void*, int, const void*);
  void (*bulk_load)(void*, const void*, void*, unsigned, int, const int*, const void*);
  void (*bulk_store)(const void*, const void*, int, const int*, const void*);
  void (*bulk_commit)();
  void (*bulk_wait)(int, int);
  void (*product)(const TwProduct*, const void*);
  void (*product_commit)(const void*);
  void (*product_wait)(int, const void*);
  void (*store_at)(void*, unsigned, unsigned, const void*);
)";
}

std::string_view hopper_hook_calls() {
  return R"(
TW_CONSTANT TwDim3 tw_emu_grid() { return tw_hooks.grid(); }
#define gridDim (tw_emu_grid())
#define __grid_constant__
#define __cluster_dims__(...)
#define __syncwarp(...) tw_emu_sync_warp()
TW_PLAIN unsigned tw_emu_shared_offset(const void* p) { return tw_hooks.shared_offset(p); }
TW_PLAIN void tw_emu_sync_warp() { tw_hooks.sync_warp(TW_HERE); }
TW_PLAIN void tw_emu_named_barrier(int barrier, int threads) {
  tw_hooks.named_barrier(barrier, threads, TW_HERE);
}
TW_CONSTANT unsigned tw_emu_cluster_rank() { return tw_hooks.cluster_rank(); }
TW_PLAIN void tw_emu_cluster_sync() { tw_hooks.cluster_sync(TW_HERE); }
TW_PLAIN void tw_emu_registers(int count, int up) { tw_hooks.registers(count, up, TW_HERE); }
TW_PLAIN void tw_emu_fence(int fence) { tw_hooks.fence(fence, TW_HERE); }
TW_PLAIN void tw_emu_mbarrier(int action, void* barrier, int value) {
  tw_hooks.mbarrier(action, barrier, value, TW_HERE);
}
TW_PLAIN void tw_emu_bulk_load(void* to, const void* map, void* barrier, unsigned blocks, int rank,
                               const int* at) {
  tw_hooks.bulk_load(to, map, barrier, blocks, rank, at, TW_HERE);
}
TW_PLAIN void tw_emu_bulk_store(const void* map, const void* from, int rank, const int* at) {
  tw_hooks.bulk_store(map, from, rank, at, TW_HERE);
}
TW_PLAIN void tw_emu_bulk_commit() { tw_hooks.bulk_commit(); }
TW_PLAIN void tw_emu_bulk_wait(int pending, int read) { tw_hooks.bulk_wait(pending, read); }
TW_PLAIN void tw_emu_store_at(void* at, unsigned block, unsigned word) {
  tw_hooks.store_at(at, block, word, TW_HERE);
}
TW_PLAIN void tw_emu_product(const TwProduct* product) { tw_hooks.product(product, TW_HERE); }
TW_PLAIN void tw_emu_product_commit() { tw_hooks.product_commit(TW_HERE); }
TW_PLAIN void tw_emu_product_wait(int pending) { tw_hooks.product_wait(pending, TW_HERE); }
)";
}

std::string_view hopper_twin(std::string_view helper) {
  for (const HopperTwin& twin : kTwins)
    if (twin.name == helper) return twin.text;
  for (const HopperTwin& twin : kPacking)
    if (helper == fmt::format("pack:{}", twin.name)) return twin.text;
  return {};
}

std::string wgmma_twin(std::string_view helper) {
  const auto shape = codegen::parse_wgmma(helper);
  if (!shape) return {};
  return fmt::format(
      R"(template <class A, class B>
inline void {}({} (&acc)[2][{}], const A& a, const B& b, int accumulate) {{
  const TwProduct product = {{acc, {}, {}, {}, {}, accumulate, tw_operand(a), tw_operand(b)}};
  tw_emu_product(&product);
}}
)",
      helper, shape->b == "s8" ? "int" : "float", shape->n / 4, shape->n, shape->k,
      number_of(shape->a), number_of(shape->b));
}

}  // namespace tilewright::runtime
