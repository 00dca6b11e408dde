#include "tilewright/codegen/prelude_bytes.h"

namespace tilewright::codegen {

// A field u of at most the fraction's bits, put into the fraction of a power of two whose last
// place is 1, is that power plus u; the power is subtracted again. A signed field counts from its
// lowest value when its top bit is flipped. Of a whole byte the top bit has no place in a bf16's
// fraction: it becomes the last bit of the exponent of what is subtracted, 128 or 256.
std::vector<Helper> byte_helpers() {
  return {
      {.name = "bf16_difference",
       .doc = "x - y of two bf16 in each word",
       .text =
           R"(__device__ __forceinline__ unsigned bf16_difference(unsigned x, unsigned y) {
  unsigned both;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;"
      : "=r"(both) : "r"(x), "r"(0x3f803f80u), "r"(y ^ 0x80008000u));  // 1 x + (-y)
  return both;
})",
       .min_sm = 80},
      {.name = "f16_difference",
       .doc = "x - y of two f16 in each word",
       .text = R"(__device__ __forceinline__ unsigned f16_difference(unsigned x, unsigned y) {
  unsigned both;
  asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(both) : "r"(x), "r"(y));
  return both;
})"},
      {.name = "masked_flipped",
       .doc = "x & mask ^ flip, as one instruction also where both are constants",
       .text = R"(__device__ __forceinline__ unsigned masked_flipped(
    unsigned x, unsigned mask, unsigned flip) {
  unsigned bits;
  asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(bits) : "r"(x), "r"(mask), "r"(flip));
  return bits;
})"},
      {.name = "bf16_fields",
       .doc = "of two bytes, or the halves of a word, the `width` bits from bit `first` on, plus "
              "`plus`, as two bf16 in one word",
       .text = R"(template <int first, int width, bool is_signed, int plus>
__device__ __forceinline__ unsigned bf16_fields(unsigned halves) {
  static_assert(first + width <= 16 && width <= 8);
  const unsigned x = halves >> first;
  if constexpr (width == 8) {
    constexpr int rest = is_signed ? plus : plus + 128;
    static_assert(rest == 0 || rest == 128);
    const unsigned y = bf16_difference(
        masked_flipped(x, 0x007f007f, 0x43004300),
        masked_flipped(x, 0x00800080, is_signed ? 0x43004300 : 0x43804380));
    return rest == 0 ? y : bf16_difference(y, 0xc300c300);
  } else {
    constexpr int top = is_signed ? 1 << (width - 1) : 0, less = top - plus;  // than from 128 on
    static_assert(less >= 0 && less <= 128);
    return bf16_difference(
        masked_flipped(x, ((1 << width) - 1) * 0x10001u, (0x4300 | top) * 0x10001u),
        (0x4300 + less) * 0x10001u);
  }
}
template <int first, int width, bool is_signed, int plus, class T>
__device__ __forceinline__ unsigned bf16_fields(T low, T high) {
  static_assert(sizeof(T) == 1 && first + width <= 8);
  const unsigned bytes = (unsigned char)low | (unsigned char)high << 8;
  return bf16_fields<first, width, is_signed, plus>(__byte_perm(bytes, 0, 0x4140));
})",
       .needs = {"bf16_difference", "masked_flipped"},
       .min_sm = 80},
      {.name = "f16_fields",
       .doc = "of two bytes, or the halves of a word, the `width` bits from bit `first` on, plus "
              "`plus`, as two f16 in one word",
       .text = R"(template <int first, int width, bool is_signed, int plus>
__device__ __forceinline__ unsigned f16_fields(unsigned halves) {
  constexpr int top = is_signed ? 1 << (width - 1) : 0, less = top - plus;  // than from 1024 on
  static_assert(first + width <= 16 && width <= 8 && less >= 0 && less <= 1024);
  return f16_difference(
      masked_flipped(halves >> first, ((1 << width) - 1) * 0x10001u, (0x6400 | top) * 0x10001u),
      (0x6400 + less) * 0x10001u);
}
template <int first, int width, bool is_signed, int plus, class T>
__device__ __forceinline__ unsigned f16_fields(T low, T high) {
  static_assert(sizeof(T) == 1 && first + width <= 8);
  const unsigned bytes = (unsigned char)low | (unsigned char)high << 8;
  return f16_fields<first, width, is_signed, plus>(__byte_perm(bytes, 0, 0x4140));
})",
       .needs = {"f16_difference", "masked_flipped"}},
  };
}

}  // namespace tilewright::codegen
