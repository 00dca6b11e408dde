#include "tilewright/codegen/prelude_fp8.h"

namespace tilewright::codegen {

std::vector<Helper> fp8_helpers() {
  return {
      {.name = "f8e4m3",
       .doc = "4 bits of exponent and 3 of fraction, as stored: up to 448, no infinities",
       .text = "struct f8e4m3 { unsigned char bits; };"},
      {.name = "f8e5m2",
       .doc = "5 bits of exponent and 2 of fraction, as stored: the upper half of an f16",
       .text = "struct f8e5m2 { unsigned char bits; };"},
      {.name = "to_float",
       .doc = "",
       .text = R"(__device__ __forceinline__ float to_float(f8e4m3 x) {
  float value;
  asm("{ .reg .b32 both; .reg .b16 low, high;\n"
      "  cvt.rn.f16x2.e4m3x2 both, %1;\n"
      "  mov.b32 {low, high}, both;\n"
      "  cvt.f32.f16 %0, low; }" : "=f"(value) : "h"((unsigned short)x.bits));
  return value;
})",
       .min_sm = 89,
       .older_text = R"(__device__ __forceinline__ float to_float(f8e4m3 x) {
  const unsigned sign = (unsigned)(x.bits & 0x80) << 24, magnitude = x.bits & 0x7f;
  if (magnitude == 0x7f) return __uint_as_float(sign | 0x7fffffff);
  // The bits in a float's places, then the difference of the biases as a factor.
  return __uint_as_float(__float_as_uint(__uint_as_float(magnitude << 20) * 0x1p120f) | sign);
})",
       .only_with = "f8e4m3"},
      {.name = "to_float",
       .doc = "",
       .text = R"(__device__ __forceinline__ float to_float(f8e5m2 x) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((unsigned short)(x.bits << 8)));
  return value;
})",
       .only_with = "f8e5m2"},
      {.name = "to_f8e4m3",
       .doc = "rounds to nearest even; what is too large becomes 448",
       .text = R"(__device__ __forceinline__ f8e4m3 to_f8e4m3(float x) {
  unsigned short both;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(both) : "f"(0.0f), "f"(x));
  return {(unsigned char)both};
})",
       .needs = {"f8e4m3"},
       .min_sm = 89,
       .older_text = R"(__device__ __forceinline__ f8e4m3 to_f8e4m3(float x) {
  const unsigned magnitude = __float_as_uint(x) & 0x7fffffff;
  if (magnitude > 0x7f800000) return {0x7f};  // NaN
  unsigned bits;
  if (magnitude >= 0x43e00000)  // 448
    bits = 0x7e;
  else if (magnitude < 0x3c800000)  // below 2^-6: the sum's last place is 2^-9
    bits = __float_as_uint(__uint_as_float(magnitude) + 0x1p14f) - 0x46800000;
  else
    bits = ((magnitude + 0x7ffff + (magnitude >> 20 & 1)) >> 20) - (120 << 3);
  return {(unsigned char)(bits | (__float_as_uint(x) >> 24 & 0x80))};
})"},
      {.name = "to_f8e5m2",
       .doc = "rounds to nearest even; what is too large becomes 57344",
       .text = R"(__device__ __forceinline__ f8e5m2 to_f8e5m2(float x) {
  unsigned short both;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(both) : "f"(0.0f), "f"(x));
  return {(unsigned char)both};
})",
       .needs = {"f8e5m2"},
       .min_sm = 89,
       .older_text = R"(__device__ __forceinline__ f8e5m2 to_f8e5m2(float x) {
  const unsigned magnitude = __float_as_uint(x) & 0x7fffffff;
  if (magnitude > 0x7f800000) return {0x7f};  // NaN
  unsigned bits;
  if (magnitude >= 0x47600000)  // 57344
    bits = 0x7b;
  else if (magnitude < 0x38800000)  // below 2^-14: the sum's last place is 2^-16
    bits = __float_as_uint(__uint_as_float(magnitude) + 0x1p7f) - 0x43000000;
  else
    bits = ((magnitude + 0xfffff + (magnitude >> 21 & 1)) >> 21) - (112 << 2);
  return {(unsigned char)(bits | (__float_as_uint(x) >> 24 & 0x80))};
})"},
  };
}

}  // namespace tilewright::codegen
