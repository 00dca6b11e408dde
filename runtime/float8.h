// The two 8-bit float formats: f8e4m3, which has no infinities (0x7f and 0xff are NaN, the largest
// value is 448), and f8e5m2, which has IEEE's. Converting a number to either saturates: also
// infinities become the largest value of their sign, as PTX's cvt.rn.satfinite does.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace tilewright {

/// An 8-bit binary format: `digits` significand bits (the hidden one included), the exponent of its
/// smallest normal number, and the bits of its largest finite value.
struct Float8Format {
  int digits;
  int min_exponent;
  uint8_t largest;
};

inline constexpr Float8Format kF8E4M3{4, -6, 0x7e};
inline constexpr Float8Format kF8E5M2{3, -14, 0x7b};

/// The NaN that conversions make.
inline constexpr uint8_t kF8NaN = 0x7f;

/// The bits of `x`: nearest, ties to even, subnormals included, saturated; kF8NaN for a NaN.
template <Float8Format format>
constexpr uint8_t encode_f8(double x) {
  constexpr int fraction = format.digits - 1;
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  const uint8_t sign = static_cast<uint8_t>(bits >> 63 << 7);
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  const uint64_t payload = bits & ((uint64_t{1} << 52) - 1);
  if (exponent == 1024 && payload != 0) return kF8NaN;
  if (exponent > -format.min_exponent + 2) return sign | format.largest;
  // Below the normal numbers the last place stays that of the smallest normal one.
  const int below = exponent < format.min_exponent ? format.min_exponent - exponent : 0;
  const int shift = 52 - fraction + below;
  if (shift > 54) return sign;  // less than half of the smallest subnormal, double's own included
  const uint64_t significand = payload | uint64_t{1} << 52;
  const uint64_t rest = significand & ((uint64_t{1} << shift) - 1);
  const uint64_t half = uint64_t{1} << (shift - 1);
  uint64_t rounded = significand >> shift;
  if (rest > half || (rest == half && (rounded & 1) != 0)) ++rounded;
  // The hidden bit adds one to the exponent field, and so does a carry out of the significand.
  if (below == 0) rounded += static_cast<uint64_t>(exponent - format.min_exponent) << fraction;
  return static_cast<uint8_t>(sign | (rounded > format.largest ? format.largest : rounded));
}

/// The value of each of the 256 codes; a NaN keeps its sign, and its fraction in bits 20 and 21.
template <Float8Format format>
constexpr std::array<float, 256> f8_values() {
  constexpr int fraction = format.digits - 1;
  std::array<float, 256> values{};
  for (uint32_t code = 0; code < 256; ++code) {
    const uint32_t magnitude = code & 0x7f;
    const uint32_t significand = magnitude & ((1u << fraction) - 1);
    uint32_t result = 0;
    if (magnitude == format.largest + 1u && significand == 0) {
      result = 0x7f800000;
    } else if (magnitude > format.largest) {
      result = 0x7fc00000 | (significand & 3) << 20;
    } else if (magnitude >> fraction == 0) {
      // The last place of the smallest normal number, 2^(min_exponent - fraction).
      const uint32_t unit = static_cast<uint32_t>(127 + format.min_exponent - fraction) << 23;
      result =
          std::bit_cast<uint32_t>(static_cast<float>(significand) * std::bit_cast<float>(unit));
    } else {
      const uint32_t bias = static_cast<uint32_t>(126 + format.min_exponent);
      result = (magnitude << (23 - fraction)) + (bias << 23);
    }
    values[code] = std::bit_cast<float>(result | (code & 0x80) << 24);
  }
  return values;
}

inline constexpr std::array<float, 256> kF8E4M3Values = f8_values<kF8E4M3>();
inline constexpr std::array<float, 256> kF8E5M2Values = f8_values<kF8E5M2>();

/// The bits of a float that is a value of the format, its NaNs and infinities included: what
/// reading the bits and writing them again must give.
template <Float8Format format>
constexpr uint8_t f8_bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint8_t sign = static_cast<uint8_t>(bits >> 24 & 0x80);
  if ((bits & 0x7fffffff) < 0x7f800000) return encode_f8<format>(value);
  if ((bits & 0x7fffffff) == 0x7f800000) return sign | (format.largest + 1);
  const uint32_t fraction = bits >> 20 & 3;
  if (format.digits == kF8E4M3.digits || fraction == 0) return sign | kF8NaN;
  return static_cast<uint8_t>(sign | 0x7c | fraction);
}

constexpr uint8_t f8e4m3_from_double(double x) { return encode_f8<kF8E4M3>(x); }
constexpr uint8_t f8e5m2_from_double(double x) { return encode_f8<kF8E5M2>(x); }

/// The value of f8 bits; exact.
constexpr float f8e4m3_to_float(uint8_t bits) { return kF8E4M3Values[bits]; }
constexpr float f8e5m2_to_float(uint8_t bits) { return kF8E5M2Values[bits]; }

}  // namespace tilewright
