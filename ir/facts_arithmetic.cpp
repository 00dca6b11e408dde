#include "tilewright/ir/facts_arithmetic.h"

#include <algorithm>
#include <numeric>

#include "tilewright/ir/fold.h"

namespace tilewright::ir {
namespace {

using Wide = __int128;

Range narrow(DType dtype, Wide min, Wide max) {
  const Range full = full_range(dtype);
  if (min < full.min || max > full.max) return full;
  return {static_cast<int64_t>(min), static_cast<int64_t>(max)};
}

Range product(DType dtype, const Range& x, const Range& y) {
  const Wide corners[] = {Wide{x.min} * y.min, Wide{x.min} * y.max, Wide{x.max} * y.min,
                          Wide{x.max} * y.max};
  return narrow(dtype, *std::min_element(corners, corners + 4),
                *std::max_element(corners, corners + 4));
}

/// Truncating, x / 0 = 0. Without a known sign of y only the size of x bounds the quotient.
Range quotient(DType dtype, const Range& x, const Range& y) {
  if (y.min <= 0) {
    const Wide size = std::max(Wide{x.max}, -Wide{x.min});
    const Wide bound = std::max(size, Wide{0});
    return y.is_constant() && y.min == 0 ? Range{0, 0} : narrow(dtype, -bound, bound);
  }
  const int64_t corners[] = {x.min / y.min, x.min / y.max, x.max / y.min, x.max / y.max};
  return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
}

/// The sign of x, smaller than y; x itself when y is 0 or when it is smaller already.
Range remainder(const Range& x, const Range& y) {
  if (y.min <= 0) return {std::min<int64_t>(x.min, 0), std::max<int64_t>(x.max, 0)};
  if (x.min >= 0 && x.max < y.min) return x;
  const int64_t most = y.max - 1;
  return {x.min >= 0 ? 0 : std::max(x.min, -most), x.max <= 0 ? 0 : std::min(x.max, most)};
}

Range bit_and(DType dtype, const Range& x, const Range& y) {
  if (x.min >= 0 && y.min >= 0) return {0, std::min(x.max, y.max)};
  if (x.min >= 0) return {0, x.max};
  if (y.min >= 0) return {0, y.max};
  return full_range(dtype);
}

Range shift(Fn fn, DType dtype, const Range& x, const Range& y) {
  const int64_t last = bits_of(dtype) - 1;
  if (!y.is_constant() || y.min < 0 || y.min > last) return full_range(dtype);
  if (fn == Fn::shr) return {x.min >> y.min, x.max >> y.min};
  const Wide factor = Wide{1} << y.min;
  return narrow(dtype, x.min * factor, x.max * factor);
}

int64_t power_of_two_part(int64_t x) { return x == 0 ? 0 : x & -x; }

int64_t product_divisor(int64_t x, int64_t y) {
  int64_t result = 0;
  return __builtin_mul_overflow(x, y, &result) ? std::max(x, y) : result;
}

}  // namespace

Range full_range(DType dtype) {
  if (is_float(dtype)) return {};
  return {min_of(dtype), max_of(dtype)};
}

int64_t common_divisor(int64_t x, int64_t y) { return std::gcd(x, y); }

Range range_of(Fn fn, DType dtype, const Range& x, const Range& y) {
  switch (fn) {
    case Fn::add:
      return narrow(dtype, Wide{x.min} + y.min, Wide{x.max} + y.max);
    case Fn::sub:
      return narrow(dtype, Wide{x.min} - y.max, Wide{x.max} - y.min);
    case Fn::mul:
      return product(dtype, x, y);
    case Fn::div:
      return quotient(dtype, x, y);
    case Fn::rem:
      return remainder(x, y);
    case Fn::min:
      return {std::min(x.min, y.min), std::min(x.max, y.max)};
    case Fn::max:
      return {std::max(x.min, y.min), std::max(x.max, y.max)};
    case Fn::bit_and:
      return bit_and(dtype, x, y);
    case Fn::shl:
    case Fn::shr:
      return shift(fn, dtype, x, y);
    default:
      return full_range(dtype);
  }
}

int64_t divisor_of(Fn fn, DType dtype, int64_t x, int64_t y, const Range& y_range, bool wraps) {
  int64_t result = 1;
  switch (fn) {
    case Fn::add:
    case Fn::sub:
    case Fn::rem:
    case Fn::min:
    case Fn::max:
      result = common_divisor(x, y);
      break;
    case Fn::mul:
      if (wraps) {
        x = power_of_two_part(x);
        y = power_of_two_part(y);
      }
      result = product_divisor(x, y);
      break;
    case Fn::div:
      if (y_range.is_constant() && y_range.min > 0 && x % y_range.min == 0)
        result = x / y_range.min;
      break;
    case Fn::shl:
      if (y_range.is_constant() && y_range.min >= 0 && y_range.min < std::min(bits_of(dtype), 62))
        result = product_divisor(x, int64_t{1} << y_range.min);
      break;
    default:
      break;
  }
  return wraps ? power_of_two_part(result) : result;
}

}  // namespace tilewright::ir
