// The scalar definitions behind numeric.h, as templates over the dtype and the function, so that a
// loop over one of them can be vectorized. Included by numeric*.cpp only.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tilewright/ir/functions.h"
#include "tilewright/runtime/float8.h"
#include "tilewright/runtime/half.h"

namespace tilewright::numeric {

/// The type of one element in memory.
template <DType dtype>
struct MemoryOf;
// clang-format off
template <> struct MemoryOf<DType::boolean> { using type = uint8_t; };
template <> struct MemoryOf<DType::i8> { using type = int8_t; };
template <> struct MemoryOf<DType::u8> { using type = uint8_t; };
template <> struct MemoryOf<DType::i16> { using type = int16_t; };
template <> struct MemoryOf<DType::i32> { using type = int32_t; };
template <> struct MemoryOf<DType::i64> { using type = int64_t; };
template <> struct MemoryOf<DType::f8e4m3> { using type = uint8_t; };
template <> struct MemoryOf<DType::f8e5m2> { using type = uint8_t; };
template <> struct MemoryOf<DType::f16> { using type = uint16_t; };
template <> struct MemoryOf<DType::bf16> { using type = uint16_t; };
template <> struct MemoryOf<DType::f32> { using type = float; };
template <> struct MemoryOf<DType::f64> { using type = double; };
// clang-format on
template <DType dtype>
using Memory = typename MemoryOf<dtype>::type;

// As is_f8, is_narrow_float and is_float, known when compiling.
constexpr bool f8_dtype(DType dtype) { return dtype == DType::f8e4m3 || dtype == DType::f8e5m2; }
constexpr bool narrow_dtype(DType dtype) {
  return f8_dtype(dtype) || dtype == DType::f16 || dtype == DType::bf16;
}
constexpr bool float_dtype(DType dtype) {
  return narrow_dtype(dtype) || dtype == DType::f32 || dtype == DType::f64;
}

/// The type of one stored element; see Storage.
template <DType dtype>
using Stored = std::conditional_t<dtype == DType::f64, double,
                                  std::conditional_t<float_dtype(dtype), float, int64_t>>;

/// The width of an integer dtype in bits.
template <DType dtype>
inline constexpr int kBits = dtype == DType::boolean ? 1 : 8 * sizeof(Memory<dtype>);

template <DType dtype>
Stored<dtype> decode(Memory<dtype> bits) {
  if constexpr (dtype == DType::f8e4m3)
    return f8e4m3_to_float(bits);
  else if constexpr (dtype == DType::f8e5m2)
    return f8e5m2_to_float(bits);
  else if constexpr (dtype == DType::f16)
    return f16_to_float(bits);
  else if constexpr (dtype == DType::bf16)
    return bf16_to_float(bits);
  else if constexpr (dtype == DType::boolean)
    return bits != 0;
  else
    return bits;
}

/// The memory form of a stored value, which is already a value of the dtype.
template <DType dtype>
Memory<dtype> encode(Stored<dtype> x) {
  if constexpr (dtype == DType::f8e4m3)
    return f8_bits<kF8E4M3>(x);
  else if constexpr (dtype == DType::f8e5m2)
    return f8_bits<kF8E5M2>(x);
  else if constexpr (dtype == DType::f16)
    return f16_from_double(x);
  else if constexpr (dtype == DType::bf16)
    return static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16);
  else
    return static_cast<Memory<dtype>>(x);
}

/// A double rounded to a float dtype.
template <DType dtype>
Stored<dtype> round_to(double x) {
  if constexpr (dtype == DType::f8e4m3)
    return f8e4m3_to_float(f8e4m3_from_double(x));
  else if constexpr (dtype == DType::f8e5m2)
    return f8e5m2_to_float(f8e5m2_from_double(x));
  else if constexpr (dtype == DType::f16)
    return f16_to_float(f16_from_double(x));
  else if constexpr (dtype == DType::bf16)
    return bf16_to_float(bf16_from_double(x));
  else
    return static_cast<Stored<dtype>>(x);
}

/// The low bits of an integer as a value of the dtype.
template <DType dtype>
int64_t wrap(uint64_t x) {
  if constexpr (dtype == DType::boolean)
    return static_cast<int64_t>(x & 1);
  else
    return static_cast<Memory<dtype>>(x);
}

/// Makes the last bit of an inexact double odd, so that a second rounding to at most 51 digits
/// gives what one rounding of the exact value would. `error` is exact - rounded, in sign.
inline double round_to_odd(double rounded, double error) {
  const uint64_t bits = std::bit_cast<uint64_t>(rounded);
  if (error == 0 || (bits & 1) != 0 || !std::isfinite(rounded)) return rounded;
  return std::bit_cast<double>((error > 0) == (rounded > 0) ? bits + 1 : bits - 1);
}

/// A double that rounds to any float dtype as the integer itself does.
inline double odd_double(int64_t x) {
  const uint64_t magnitude = x < 0 ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
  if (magnitude >> 53 == 0) return static_cast<double>(x);
  const uint64_t sticky = (magnitude & 0xfff) != 0;
  const double result = static_cast<double>(magnitude >> 12 | sticky) * 4096;
  return x < 0 ? -result : result;
}

/// Truncates, saturates, and makes 0 of NaN.
template <DType to>
int64_t saturate(double x) {
  constexpr double low = static_cast<double>(std::numeric_limits<Memory<to>>::min());
  constexpr int64_t lowest = std::numeric_limits<Memory<to>>::min();
  constexpr int64_t highest = std::numeric_limits<Memory<to>>::max();
  // One past the highest value: a power of two, exact even for i64.
  constexpr double past = 2.0 * static_cast<double>(highest / 2 + 1);
  if (std::isnan(x)) return 0;
  if (x <= low) return lowest;
  if (x >= past) return highest;
  return static_cast<int64_t>(x);
}

template <DType to, DType from>
Stored<to> convert_element(Stored<from> x) {
  if constexpr (to == DType::boolean)
    return x != 0;
  else if constexpr (!float_dtype(to) && float_dtype(from))
    return saturate<to>(x);
  else if constexpr (!float_dtype(to))
    return wrap<to>(static_cast<uint64_t>(x));
  else if constexpr (float_dtype(from))
    return round_to<to>(x);
  else if constexpr (narrow_dtype(to))
    return round_to<to>(odd_double(x));
  else
    return static_cast<Stored<to>>(x);
}

/// The type in which arithmetic that rounds once is done: for narrow floats one wide enough that
/// rounding its result once more is the same as rounding the exact result.
template <DType dtype>
using Wide = std::conditional_t<narrow_dtype(dtype), double, Stored<dtype>>;

template <class T>
T float_min(T x, T y) {
  if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<T>::quiet_NaN();
  if (x == y) return std::signbit(x) ? x : y;
  return x < y ? x : y;
}

template <class T>
T float_max(T x, T y) {
  if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<T>::quiet_NaN();
  if (x == y) return std::signbit(x) ? y : x;
  return x > y ? x : y;
}

template <ir::Fn fn>
double transcendental(double x) {
  using ir::Fn;
  if constexpr (fn == Fn::exp) return std::exp(x);
  if constexpr (fn == Fn::exp2) return std::exp2(x);
  if constexpr (fn == Fn::log) return std::log(x);
  if constexpr (fn == Fn::log2) return std::log2(x);
  if constexpr (fn == Fn::log10) return std::log10(x);
  if constexpr (fn == Fn::log1p) return std::log1p(x);
  if constexpr (fn == Fn::expm1) return std::expm1(x);
  if constexpr (fn == Fn::rsqrt) return 1 / std::sqrt(x);
  if constexpr (fn == Fn::sin) return std::sin(x);
  if constexpr (fn == Fn::cos) return std::cos(x);
  if constexpr (fn == Fn::tan) return std::tan(x);
  if constexpr (fn == Fn::asin) return std::asin(x);
  if constexpr (fn == Fn::acos) return std::acos(x);
  if constexpr (fn == Fn::atan) return std::atan(x);
  if constexpr (fn == Fn::sinh) return std::sinh(x);
  if constexpr (fn == Fn::cosh) return std::cosh(x);
  if constexpr (fn == Fn::tanh) return std::tanh(x);
  if constexpr (fn == Fn::erf) return std::erf(x);
}

template <ir::Fn fn, class T>
T float_binary(T x, T y) {
  using ir::Fn;
  if constexpr (fn == Fn::add) return x + y;
  if constexpr (fn == Fn::sub) return x - y;
  if constexpr (fn == Fn::mul) return x * y;
  if constexpr (fn == Fn::div) return x / y;
  if constexpr (fn == Fn::rem) return std::fmod(x, y);
  if constexpr (fn == Fn::min) return float_min(x, y);
  if constexpr (fn == Fn::max) return float_max(x, y);
}

template <ir::Fn fn, DType dtype>
int64_t integer_binary(int64_t x, int64_t y) {
  using ir::Fn;
  const uint64_t ux = static_cast<uint64_t>(x), uy = static_cast<uint64_t>(y);
  constexpr int mask = kBits<dtype> - 1;
  if constexpr (fn == Fn::add) return wrap<dtype>(ux + uy);
  if constexpr (fn == Fn::sub) return wrap<dtype>(ux - uy);
  if constexpr (fn == Fn::mul) return wrap<dtype>(ux * uy);
  // -1 apart: x / -1 overflows in the host's own arithmetic.
  if constexpr (fn == Fn::div) return y == 0 ? 0 : y == -1 ? wrap<dtype>(0 - ux) : x / y;
  if constexpr (fn == Fn::rem) return y == 0 ? x : y == -1 ? 0 : x % y;
  if constexpr (fn == Fn::min) return x < y ? x : y;
  if constexpr (fn == Fn::max) return x > y ? x : y;
  if constexpr (fn == Fn::bit_and) return x & y;
  if constexpr (fn == Fn::bit_or) return x | y;
  if constexpr (fn == Fn::bit_xor) return x ^ y;
  if constexpr (fn == Fn::shl) return wrap<dtype>(ux << (uy & mask));
  if constexpr (fn == Fn::shr) return x >> (uy & mask);
}

/// The result of an operation that is exact but for f8e5m2's infinities, which no operation gives.
template <DType dtype>
Stored<dtype> saturated(Stored<dtype> x) {
  if constexpr (f8_dtype(dtype)) return round_to<dtype>(x);
  return x;
}

template <ir::Fn fn, DType dtype>
Stored<dtype> unary_element(Stored<dtype> x) {
  using ir::Fn;
  if constexpr (fn == Fn::bit_not)
    return wrap<dtype>(~static_cast<uint64_t>(x));
  else if constexpr (!float_dtype(dtype))
    return (fn == Fn::abs && x >= 0) ? x : wrap<dtype>(0 - static_cast<uint64_t>(x));
  else if constexpr (fn == Fn::neg)
    return saturated<dtype>(-x);
  else if constexpr (fn == Fn::abs)
    return saturated<dtype>(std::fabs(x));
  else if constexpr (fn == Fn::floor)
    return saturated<dtype>(std::floor(x));
  else if constexpr (fn == Fn::ceil)
    return saturated<dtype>(std::ceil(x));
  else if constexpr (fn == Fn::round)
    return saturated<dtype>(std::nearbyint(x));
  else if constexpr (fn == Fn::trunc)
    return saturated<dtype>(std::trunc(x));
  else if constexpr (fn == Fn::sqrt)
    return round_to<dtype>(std::sqrt(Wide<dtype>{x}));
  else
    return round_to<dtype>(transcendental<fn>(x));
}

template <ir::Fn fn, DType dtype>
Stored<dtype> binary_element(Stored<dtype> x, Stored<dtype> y) {
  if constexpr (!float_dtype(dtype))
    return integer_binary<fn, dtype>(x, y);
  else if constexpr (fn == ir::Fn::pow)
    return round_to<dtype>(std::pow(double{x}, double{y}));
  else if constexpr (fn == ir::Fn::atan2)
    return round_to<dtype>(std::atan2(double{x}, double{y}));
  else
    return round_to<dtype>(float_binary<fn>(Wide<dtype>{x}, Wide<dtype>{y}));
}

template <ir::Fn fn, class T>
bool compare_element(T x, T y) {
  using ir::Fn;
  if constexpr (fn == Fn::eq) return x == y;
  if constexpr (fn == Fn::ne) return x != y;
  if constexpr (fn == Fn::lt) return x < y;
  if constexpr (fn == Fn::le) return x <= y;
  if constexpr (fn == Fn::gt) return x > y;
  if constexpr (fn == Fn::ge) return x >= y;
}

template <DType dtype>
Stored<dtype> fma_element(Stored<dtype> x, Stored<dtype> y, Stored<dtype> z) {
  if constexpr (!float_dtype(dtype)) {
    const uint64_t product = static_cast<uint64_t>(x) * static_cast<uint64_t>(y);
    return wrap<dtype>(product + static_cast<uint64_t>(z));
  } else if constexpr (narrow_dtype(dtype)) {
    // The product is exact in double, the sum may not be: its error decides the odd last bit.
    const double product = double{x} * double{y}, sum = product + double{z};
    const double back = sum - product;
    const double error = (product - (sum - back)) + (double{z} - back);
    return round_to<dtype>(round_to_odd(sum, error));
  } else if constexpr (dtype == DType::f32) {
    return __builtin_fmaf(x, y, z);
  } else {
    return __builtin_fma(x, y, z);
  }
}

}  // namespace tilewright::numeric
