// Half formats by enumeration: what encode and decode are tested against.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace tilewright::testing {

// Wide enough for the exact sum of a product and a term of either half format, where exponents are
// moderate.
#if defined(__x86_64__)
using Exact = __float128;
#else
using Exact = long double;
#endif

/// A 16-bit format described by its field widths.
struct HalfReference {
  int exponent_bits;
  int fraction_bits;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int infinity() const { return ((1 << exponent_bits) - 1) << fraction_bits; }

  /// The value of the bits by the textbook; NaN for NaNs.
  double decode(uint16_t bits) const {
    const int exponent = (bits & 0x7fff) >> fraction_bits;
    const int fraction = bits & ((1 << fraction_bits) - 1);
    const double sign = bits >> 15 ? -1 : 1;
    if (exponent == (1 << exponent_bits) - 1) return fraction ? NAN : sign * INFINITY;
    if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias() - fraction_bits);
    return sign * std::ldexp(fraction + (1 << fraction_bits), exponent - bias() - fraction_bits);
  }

  /// The non-negative values in order of their bits; the last is what infinity stands for when
  /// rounding, the next power of two.
  std::vector<double> magnitudes() const {
    std::vector<double> result;
    for (int bits = 0; bits < infinity(); ++bits) result.push_back(decode(bits));
    result.push_back(std::ldexp(1.0, bias() + 1));
    return result;
  }

  /// The bits of the value nearest to a finite x, ties to the even one, by a search among all.
  uint16_t round(Exact x, bool negative_zero = false) const {
    static thread_local std::vector<double> values;
    static thread_local int made_for = 0;
    if (made_for != fraction_bits) values = magnitudes(), made_for = fraction_bits;
    const bool negative = x < 0 || (x == 0 && negative_zero);
    const Exact magnitude = x < 0 ? -x : x;
    const auto above = std::upper_bound(values.begin(), values.end(), magnitude,
                                        [](Exact a, double b) { return a < Exact{b}; });
    int bits = static_cast<int>(above - values.begin()) - 1;
    if (above != values.end()) {
      const Exact down = magnitude - values[bits], up = *above - magnitude;
      if (up < down || (up == down && bits % 2 != 0)) ++bits;
    }
    return static_cast<uint16_t>(bits | (negative ? 0x8000 : 0));
  }
};

inline constexpr HalfReference kF16Reference{5, 10};
inline constexpr HalfReference kBF16Reference{8, 7};

}  // namespace tilewright::testing
