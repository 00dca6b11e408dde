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
