#include "tilewright/codegen/prelude_ring.h"

namespace tilewright::codegen {

std::vector<Helper> ring_helpers() {
  return {
      {.name = "Ring",
       .doc = "where one role is in a ring of slots; the phase changes each time around",
       .text = R"(template <int stages> struct Ring {
  int stage = 0;
  unsigned phase = 0;
  __device__ __forceinline__ void next() {
    if (++stage < stages) return;
    stage = 0;
    phase ^= 1;
  }
  __device__ __forceinline__ int previous() const { return stage == 0 ? stages - 1 : stage - 1; }
};)"},
      {.name = "skip_slots",
       .doc = "goes on by as many slots, which others read",
       .text = R"(template <int stages>
__device__ __forceinline__ void skip_slots(Ring<stages>& ring, int slots) {
  slots += ring.stage;
  ring.stage = slots % stages;
  ring.phase ^= slots / stages % 2;
})",
       .needs = {"Ring"}},
      {.name = "complete",
       .doc = "products that were waited for have written these: nothing reads them earlier",
       .text = R"(template <class T, int n, int m>
__device__ __forceinline__ void complete(T (&acc)[n][m]) {
#pragma unroll
  for (int i = 0; i < n; ++i)
#pragma unroll
    for (int j = 0; j < m; ++j)
      if constexpr (sizeof(T) == sizeof(float) && T(0.5f) != T(0))
        asm volatile("" : "+f"(acc[i][j]) :: "memory");
      else
        asm volatile("" : "+r"(acc[i][j]) :: "memory");
})",
       .min_sm = 90},
      {.name = "store_at",
       .doc = "to the same place in another block of the cluster",
       .text =
           R"(template <class T> __device__ __forceinline__ void store_at(T* at, unsigned block, T value) {
  static_assert(sizeof(T) == 4);
  unsigned word;
  memcpy(&word, &value, 4);
  asm volatile(
      "{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1;\n"
      "st.shared::cluster.b32 [there], %2; }"
      :: "r"(shared_address(at)), "r"(block), "r"(word) : "memory");
})",
       .needs = {"shared_address"},
       .pointers = {{0, Access::write}},
       .min_sm = 90},
      {.name = "barrier_release_at",
       .doc = "arrives at the same barrier of another block, which then sees what this warp stored",
       .text =
           R"(__device__ __forceinline__ void barrier_release_at(Barrier* barrier, unsigned block) {
  asm volatile(
      "{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there]; }"
      :: "r"(shared_address(barrier)), "r"(block) : "memory");
})",
       .needs = {"shared_address", "Barrier"},
       .min_sm = 90},
      {.name = "barrier_acquire",
       .doc = "until the phase of that parity is complete; what other blocks released is then seen",
       .text =
           R"(__device__ __forceinline__ void barrier_acquire(Barrier* barrier, unsigned parity) {
  asm volatile(
      "{ .reg .pred done;\n"
      "again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again; }"
      :: "r"(shared_address(barrier)), "r"(parity) : "memory");
})",
       .needs = {"shared_address", "Barrier"},
       .min_sm = 90},
      {.name = "word",
       .doc = "two halves in one word",
       .text = R"(template <class T> __device__ __forceinline__ unsigned word(T low, T high) {
  return low.bits | (unsigned)high.bits << 16;
})"},
      {.name = "rows",
       .doc = "the n rows of an array of registers from `first` on, as an array",
       .text = R"(template <int n, class T, int m>
__device__ __forceinline__ T (&rows(T (*first)[m]))[n][m] {
  return *reinterpret_cast<T (*)[n][m]>(first);
})"},
  };
}

}  // namespace tilewright::codegen
