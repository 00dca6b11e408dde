#include "tilewright/ir/fold.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "tilewright/ir/error.h"

namespace tilewright::ir {
namespace {

/// The exponent of the least normal value of a narrow float type, and its greatest finite value.
struct FloatRange {
  int least;
  double greatest;
};
FloatRange range_of(DType dtype) {
  switch (dtype) {
    case DType::f8e4m3:
      return {-6, 448};
    case DType::f8e5m2:
      return {-14, 57344};
    case DType::f16:
      return {-14, 65504};
    default:
      return {-126, 0x1.fep127};
  }
}

template <class T>
T min_float(T x, T y) {
  if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<T>::quiet_NaN();
  if (x == y) return std::signbit(x) ? x : y;  // min(-0, +0) is -0
  return x < y ? x : y;
}

template <class T>
std::optional<T> binary_float(Fn fn, T x, T y) {
  switch (fn) {
    case Fn::add:
      return x + y;
    case Fn::sub:
      return x - y;
    case Fn::mul:
      return x * y;
    case Fn::div:
      return x / y;
    case Fn::rem:
      return std::fmod(x, y);
    case Fn::min:
      return min_float(x, y);
    case Fn::max:
      return -min_float(-x, -y);
    default:
      return std::nullopt;
  }
}

/// Both operands in range of `dtype`; the result is wrapped by the caller.
std::optional<int64_t> binary_integer(Fn fn, DType dtype, int64_t x, int64_t y) {
  const uint64_t ux = static_cast<uint64_t>(x), uy = static_cast<uint64_t>(y);
  const uint64_t count = uy & static_cast<uint64_t>(bits_of(dtype) - 1);
  switch (fn) {
    case Fn::add:
      return static_cast<int64_t>(ux + uy);
    case Fn::sub:
      return static_cast<int64_t>(ux - uy);
    case Fn::mul:
      return static_cast<int64_t>(ux * uy);
    case Fn::div:
      if (y == 0) return 0;
      return y == -1 ? static_cast<int64_t>(0 - ux) : x / y;
    case Fn::rem:
      if (y == 0) return x;
      return y == -1 ? 0 : x % y;
    case Fn::min:
      return std::min(x, y);
    case Fn::max:
      return std::max(x, y);
    case Fn::bit_and:
      return x & y;
    case Fn::bit_or:
      return x | y;
    case Fn::bit_xor:
      return x ^ y;
    case Fn::shl:
      return static_cast<int64_t>(ux << count);
    case Fn::shr:
      return x >> count;
    default:
      return std::nullopt;
  }
}

std::optional<double> unary_float(Fn fn, DType dtype, double x) {
  switch (fn) {
    case Fn::neg:
      return -x;
    case Fn::abs:
      return std::fabs(x);
    case Fn::floor:
      return std::floor(x);
    case Fn::ceil:
      return std::ceil(x);
    case Fn::round:
      return std::nearbyint(x);
    case Fn::trunc:
      return std::trunc(x);
    case Fn::sqrt:
      return dtype == DType::f32 ? std::sqrt(static_cast<float>(x)) : std::sqrt(x);
    default:
      return std::nullopt;
  }
}

template <class T>
bool compare(Fn fn, T x, T y) {
  switch (fn) {
    case Fn::eq:
      return x == y;
    case Fn::ne:
      return x != y;
    case Fn::lt:
      return x < y;
    case Fn::le:
      return x <= y;
    case Fn::gt:
      return x > y;
    case Fn::ge:
      return x >= y;
    default:
      throw InternalError("not a comparison");
  }
}

/// x * y + z, where x * y is exact in double, rounded to odd: a later rounding to fewer digits then
/// gives what one rounding of the exact value would.
double fma_to_odd(double x, double y, double z) {
  const double product = x * y, sum = product + z;
  if (!std::isfinite(sum)) return sum;
  const double part = sum - product;
  const double lost = (product - (sum - part)) + (z - part);
  if (lost == 0 || (std::bit_cast<uint64_t>(sum) & 1)) return sum;
  const double infinity = std::numeric_limits<double>::infinity();
  return std::nextafter(sum, lost > 0 ? infinity : -infinity);
}

int64_t saturate(double value, DType to) {
  if (std::isnan(value)) return 0;
  value = std::trunc(value);
  // The bounds are exact in double but for the greatest i64, which rounds up to 2^63.
  if (value <= static_cast<double>(min_of(to))) return min_of(to);
  if (value >= static_cast<double>(max_of(to))) return max_of(to);
  return static_cast<int64_t>(value);
}

double float_from(int64_t value, DType to) {
  if (to == DType::f32) return static_cast<float>(value);
  return round_to(to, static_cast<double>(value));
}

}  // namespace

Scalar Scalar::of(DType dtype, int64_t value) { return {dtype, wrap_to(dtype, value), 0}; }
Scalar Scalar::of(DType dtype, double value) { return {dtype, 0, round_to(dtype, value)}; }

bool Scalar::identical(const Scalar& other) const {
  if (dtype != other.dtype) return false;
  if (!is_float(dtype)) return i == other.i;
  if (std::isnan(f) || std::isnan(other.f)) return std::isnan(f) && std::isnan(other.f);
  return f == other.f && std::signbit(f) == std::signbit(other.f);
}

int bits_of(DType dtype) { return dtype == DType::boolean ? 1 : 8 * size_of(dtype); }

int64_t min_of(DType dtype) {
  if (dtype == DType::boolean || dtype == DType::u8) return 0;
  return std::numeric_limits<int64_t>::min() >> (64 - bits_of(dtype));
}

int64_t max_of(DType dtype) {
  if (dtype == DType::boolean) return 1;
  return dtype == DType::u8 ? 255 : ~min_of(dtype);
}

int64_t wrap_to(DType dtype, int64_t value) {
  if (dtype == DType::boolean) return value != 0;
  if (dtype == DType::u8) return value & 255;
  const int unused = 64 - bits_of(dtype);
  return static_cast<int64_t>(static_cast<uint64_t>(value) << unused) >> unused;
}

double round_to(DType dtype, double value) {
  if (dtype == DType::f64 || value == 0 || std::isnan(value)) return value;
  if (dtype == DType::f32) return static_cast<float>(value);
  const auto [least, greatest] = range_of(dtype);
  const double overflow = is_f8(dtype) ? greatest : std::numeric_limits<double>::infinity();
  if (std::isinf(value)) return std::copysign(overflow, value);
  const int step = std::max(std::ilogb(value), least) - (float_digits(dtype) - 1);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -step)), step);
  return std::fabs(rounded) > greatest ? std::copysign(overflow, value) : rounded;
}

std::optional<Scalar> fold_unary(Fn fn, const Scalar& x) {
  if (!accepts(fn, x.dtype)) return std::nullopt;
  if (is_float(x.dtype)) {
    const auto value = unary_float(fn, x.dtype, x.f);
    return value ? std::optional(Scalar::of(x.dtype, *value)) : std::nullopt;
  }
  if (fn == Fn::bit_not) return Scalar::of(x.dtype, x.dtype == DType::boolean ? !x.i : ~x.i);
  const int64_t negated = static_cast<int64_t>(0 - static_cast<uint64_t>(x.i));
  if (fn == Fn::neg) return Scalar::of(x.dtype, negated);
  if (fn == Fn::abs) return Scalar::of(x.dtype, x.i < 0 ? negated : x.i);
  return std::nullopt;
}

std::optional<Scalar> fold_binary(Fn fn, const Scalar& x, const Scalar& y) {
  if (!accepts(fn, x.dtype)) return std::nullopt;
  if (!is_float(x.dtype)) {
    if (x.dtype == DType::boolean && (fn == Fn::shl || fn == Fn::shr)) return std::nullopt;
    const auto value = binary_integer(fn, x.dtype, x.i, y.i);
    return value ? std::optional(Scalar::of(x.dtype, *value)) : std::nullopt;
  }
  // Narrow types: double has more than twice their digits, so rounding twice is rounding once.
  std::optional<double> value;
  if (x.dtype == DType::f32)
    value = binary_float(fn, static_cast<float>(x.f), static_cast<float>(y.f));
  else
    value = binary_float(fn, x.f, y.f);
  return value ? std::optional(Scalar::of(x.dtype, *value)) : std::nullopt;
}

bool fold_compare(Fn fn, const Scalar& x, const Scalar& y) {
  return is_float(x.dtype) ? compare(fn, x.f, y.f) : compare(fn, x.i, y.i);
}

Scalar fold_fma(const Scalar& x, const Scalar& y, const Scalar& z) {
  if (x.dtype == DType::f64) return Scalar::of(x.dtype, std::fma(x.f, y.f, z.f));
  return Scalar::of(x.dtype, fma_to_odd(x.f, y.f, z.f));
}

std::optional<Scalar> fold_cast(const Scalar& x, DType to) {
  if (is_float(x.dtype)) {
    if (is_float(to)) return Scalar::of(to, x.f);
    if (to == DType::boolean) return Scalar::of(to, int64_t{x.f != 0});
    return Scalar::of(to, saturate(x.f, to));
  }
  if (!is_float(to)) return Scalar::of(to, x.i);
  constexpr int64_t exact = int64_t{1} << 24;
  if (is_narrow_float(to) && (x.i > exact || x.i < -exact)) return std::nullopt;
  return Scalar{to, 0, float_from(x.i, to)};
}

}  // namespace tilewright::ir
