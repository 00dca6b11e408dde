// The two 16-bit float formats: encoding with one rounding to nearest even, and decoding.
#pragma once

#include <bit>
#include <cstdint>

namespace tilewright {

/// A 16-bit binary format: `digits` significand bits (the hidden one included) and the exponent of
/// its smallest normal number.
struct HalfFormat {
  int digits;
  int min_exponent;
};

inline constexpr HalfFormat kF16{11, -14};
inline constexpr HalfFormat kBF16{8, -126};

/// The bits of `x` in a half format: nearest, ties to even, subnormals included; too large a value
/// becomes infinity, a NaN stays a (quiet) NaN with the top of its payload.
template <HalfFormat format>
constexpr uint16_t encode_half(double x) {
  constexpr int fraction = format.digits - 1;
  constexpr uint16_t infinity = ((1 << (15 - fraction)) - 1) << fraction;
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  const uint16_t sign = static_cast<uint16_t>(bits >> 63 << 15);
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  const uint64_t payload = bits & ((uint64_t{1} << 52) - 1);
  if (exponent == 1024 && payload != 0) {
    const uint16_t quiet = infinity | 1 << (fraction - 1);
    return static_cast<uint16_t>(sign | quiet | payload >> (52 - fraction));
  }
  if (exponent > -format.min_exponent + 1) return sign | infinity;
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
  return static_cast<uint16_t>(sign | rounded);
}

constexpr uint16_t f16_from_double(double x) { return encode_half<kF16>(x); }
constexpr uint16_t bf16_from_double(double x) { return encode_half<kBF16>(x); }

/// The value of f16 bits; exact.
constexpr float f16_to_float(uint16_t bits) {
  // The significand and exponent in f32's places, then the difference of the biases by an exact
  // product, which normalizes subnormals too.
  const float magnitude = std::bit_cast<float>(static_cast<uint32_t>(bits & 0x7fff) << 13);
  uint32_t result = std::bit_cast<uint32_t>(magnitude * 0x1p112f);
  if ((bits & 0x7c00) == 0x7c00) result = 0x7f800000u | static_cast<uint32_t>(bits & 0x3ff) << 13;
  return std::bit_cast<float>(result | static_cast<uint32_t>(bits & 0x8000) << 16);
}

/// The value of bf16 bits; exact.
constexpr float bf16_to_float(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

}  // namespace tilewright
