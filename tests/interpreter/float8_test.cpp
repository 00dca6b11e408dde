// The 8-bit floats, against a definition of their own: every code, every pair of codes.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "tilewright/ir/fold.h"
#include "tilewright/runtime/float8.h"
#include "tilewright/runtime/half.h"
#include "tilewright/runtime/numeric.h"

namespace tilewright::testing {
namespace {

using ir::Fn;

constexpr double kInf = std::numeric_limits<double>::infinity();

/// A format by the OCP specification: E4M3 gives up infinities for one more binade but one code.
struct Format {
  DType dtype;
  int fraction_bits, bias;
  int largest;  // code

  double decode(int code) const {
    const int magnitude = code & 0x7f, exponent = magnitude >> fraction_bits;
    const int fraction = magnitude % (1 << fraction_bits);
    const double sign = code >= 0x80 ? -1 : 1;
    if (magnitude > largest)
      return dtype == DType::f8e5m2 && fraction == 0 ? sign * kInf
                                                     : std::numeric_limits<double>::quiet_NaN();
    const double scaled = std::ldexp(fraction, -fraction_bits);
    return sign *
           (exponent == 0 ? std::ldexp(scaled, 1 - bias) : std::ldexp(1 + scaled, exponent - bias));
  }

  /// The nearest finite value, by a search among all; of two the one with an even code.
  double round(double x) const {
    if (std::isnan(x)) return x;
    const double size = std::fabs(x);
    int best = 0;
    for (int code = 1; code <= largest; ++code) {
      // Exact: the values have few bits, and so have the numbers near enough to matter.
      const double further = std::fabs(size - decode(code)) - std::fabs(size - decode(best));
      if (further < 0 || (further == 0 && code % 2 == 0)) best = code;
    }
    if (size > decode(largest)) best = largest;
    return std::copysign(decode(best), x);
  }
};

constexpr Format kFormats[] = {{DType::f8e4m3, 3, 7, 0x7e}, {DType::f8e5m2, 2, 15, 0x7b}};

bool same(double x, double y) {
  return (std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y));
}

float loaded(DType dtype, uint8_t code) {
  float value;
  numeric::load_kernel(dtype)(&code, 1, &value, 1);
  return value;
}

double converted(DType dtype, double x) { return std::get<float>(numeric::from_double(dtype, x)); }

TEST(Float8, KnownValues) {
  EXPECT_EQ(f8e4m3_to_float(0x38), 1);
  EXPECT_EQ(f8e4m3_to_float(0x7e), 448);
  EXPECT_EQ(f8e4m3_to_float(0x01), 0x1p-9f);
  EXPECT_EQ(f8e4m3_to_float(0x08), 0x1p-6f);
  EXPECT_TRUE(std::isnan(f8e4m3_to_float(0x7f)) && std::isnan(f8e4m3_to_float(0xff)));
  EXPECT_EQ(f8e5m2_to_float(0x3c), 1);
  EXPECT_EQ(f8e5m2_to_float(0x7b), 57344);
  EXPECT_EQ(f8e5m2_to_float(0x01), 0x1p-16f);
  EXPECT_EQ(f8e5m2_to_float(0xfc), -INFINITY);
  EXPECT_TRUE(std::isnan(f8e5m2_to_float(0x7d)) && std::isnan(f8e5m2_to_float(0xff)));
  // PTX cvt.rn.satfinite.e4m3x2.f32 and .e5m2x2: infinities become the largest value too.
  for (const double x : {449.0, 464.0, 480.0, 1e30, kInf}) {
    EXPECT_EQ(f8e4m3_from_double(x), 0x7e) << x;
    EXPECT_EQ(f8e4m3_from_double(-x), 0xfe) << x;
  }
  for (const double x : {57345.0, 61440.0, 65536.0, 1e30, kInf}) {
    EXPECT_EQ(f8e5m2_from_double(x), 0x7b) << x;
    EXPECT_EQ(f8e5m2_from_double(-x), 0xfb) << x;
  }
  EXPECT_EQ(f8e4m3_from_double(NAN), 0x7f);
  EXPECT_EQ(f8e5m2_from_double(-NAN), 0x7f);
}

TEST(Float8, EveryCodeHasItsValueAndKeepsItsBits) {
  for (const Format& format : kFormats)
    for (int code = 0; code < 256; ++code) {
      const float value = loaded(format.dtype, static_cast<uint8_t>(code));
      EXPECT_TRUE(same(value, format.decode(code))) << code << ": " << value;
      uint8_t back = 0;
      numeric::store_kernel(format.dtype)(&value, &back, 1, 1);
      EXPECT_EQ(back, code);
    }
}

TEST(Float8, RoundsToNearestEvenAndSaturates) {
  for (const Format& format : kFormats) {
    std::vector<double> values = {0.0, -0.0, kInf, -kInf, NAN, 1e300, 0x1p-1074, 0x1p-149};
    for (int code = 0; code <= format.largest; ++code) {
      const double x = format.decode(code);
      const double middle = (x + format.decode(std::min(code + 1, format.largest))) / 2;
      for (const double at : {x, middle})
        for (const double near : {at, std::nextafter(at, kInf), std::nextafter(at, -kInf)})
          values.insert(values.end(), {near, -near});
    }
    for (int bits = 0; bits < 65536; ++bits) {
      values.push_back(f16_to_float(static_cast<uint16_t>(bits)));
      values.push_back(bf16_to_float(static_cast<uint16_t>(bits)));
    }
    for (const double x : values) {
      ASSERT_TRUE(same(converted(format.dtype, x), format.round(x)))
          << x << ": " << converted(format.dtype, x) << ", expected " << format.round(x);
      ASSERT_TRUE(same(ir::round_to(format.dtype, x), format.round(x))) << x;
    }
  }
}

double exactly(Fn fn, double x, double y) {
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
      return std::isnan(x + y) && (std::isnan(x) || std::isnan(y)) ? NAN
             : x < y || (x == y && std::signbit(x))                ? x
                                                                   : y;
    default:
      return std::isnan(x + y) && (std::isnan(x) || std::isnan(y)) ? NAN
             : x > y || (x == y && !std::signbit(x))               ? x
                                                                   : y;
  }
}

// Sums, products and remainders are exact in double; a quotient that double rounds is far from the
// middle of two values.
TEST(Float8, ArithmeticOfEveryPair) {
  for (const Format& format : kFormats)
    for (const Fn fn : {Fn::add, Fn::sub, Fn::mul, Fn::div, Fn::rem, Fn::min, Fn::max})
      for (int i = 0; i < 256; ++i)
        for (int j = 0; j < 256; ++j) {
          const double x = format.decode(i), y = format.decode(j);
          const double expected = format.round(exactly(fn, x, y));
          const float found = std::get<float>(
              numeric::evaluate(fn, format.dtype, static_cast<float>(x), static_cast<float>(y)));
          ASSERT_TRUE(same(found, expected))
              << ir::info(fn).name << " of " << x << " and " << y << " is " << found;
          if (std::isinf(x) || std::isinf(y)) continue;  // constants are finite
          const auto folded =
              ir::fold_binary(fn, ir::Scalar::of(format.dtype, x), ir::Scalar::of(format.dtype, y));
          ASSERT_TRUE(same(folded->f, expected)) << ir::info(fn).name << " " << x << " " << y;
        }
}

TEST(Float8, FmaRoundsOnce) {
  std::mt19937 random(1);
  for (const Format& format : kFormats)
    for (int i = 0; i < 200000; ++i) {
      const auto draw = [&] { return format.decode(static_cast<int>(random() % 256)); };
      const double x = draw(), y = draw(), z = draw();
      const double expected = format.round(x * y + z);  // at most 34 + 32 bits apart, but few set
      if (static_cast<long double>(x) * y + z != static_cast<long double>(x * y + z)) continue;
      const numeric::Element found = numeric::fma(format.dtype, static_cast<float>(x),
                                                  static_cast<float>(y), static_cast<float>(z));
      ASSERT_TRUE(same(std::get<float>(found), expected)) << x << " " << y << " " << z;
    }
}

// What changes nothing in other types still saturates: no operation gives an infinity.
TEST(Float8, OperationsOnInfinitiesSaturate) {
  const float inf = loaded(DType::f8e5m2, 0x7c);
  for (const Fn fn : {Fn::abs, Fn::floor, Fn::ceil, Fn::round, Fn::trunc, Fn::sqrt})
    EXPECT_EQ(std::get<float>(numeric::evaluate(fn, DType::f8e5m2, inf)), 57344);
  EXPECT_EQ(std::get<float>(numeric::evaluate(Fn::neg, DType::f8e5m2, inf)), -57344);
  EXPECT_EQ(std::get<float>(numeric::convert(DType::f8e4m3, DType::f8e5m2, inf)), 448);
  EXPECT_EQ(std::get<float>(numeric::convert(DType::f32, DType::f8e5m2, inf)), INFINITY);
  EXPECT_EQ(std::get<float>(numeric::identity(Fn::max, DType::f8e4m3)), -448);
  EXPECT_EQ(std::get<float>(numeric::identity(Fn::min, DType::f8e5m2)), 57344);
}

TEST(Float8, ConversionsToAndFromEveryType) {
  for (const Format& format : kFormats) {
    for (int code = 0; code < 256; ++code) {
      const double value = format.decode(code);
      const float x = loaded(format.dtype, static_cast<uint8_t>(code));
      const auto to = [&](DType dtype) { return numeric::convert(dtype, format.dtype, x); };
      for (const DType dtype : {DType::f16, DType::bf16, DType::f32})
        EXPECT_TRUE(same(std::get<float>(to(dtype)), value)) << "exact in " << to_string(dtype);
      EXPECT_TRUE(same(std::get<double>(to(DType::f64)), value));
      for (const Format& other : kFormats)
        if (other.dtype != format.dtype) {
          EXPECT_TRUE(same(std::get<float>(to(other.dtype)), other.round(value))) << value;
        }
      EXPECT_EQ(std::get<int64_t>(to(DType::boolean)), value != 0);
      const double whole = std::isnan(value) ? 0 : std::trunc(value);
      EXPECT_EQ(std::get<int64_t>(to(DType::i8)), std::clamp(whole, -128.0, 127.0));
      EXPECT_EQ(std::get<int64_t>(to(DType::u8)), std::clamp(whole, 0.0, 255.0));
      EXPECT_EQ(std::get<int64_t>(to(DType::i32)), std::clamp(whole, -2147483648.0, 2147483647.0));
    }
    for (int64_t i = -70000; i < 70000; ++i)
      ASSERT_TRUE(same(std::get<float>(numeric::from_int(format.dtype, i)),
                       format.round(static_cast<double>(i))))
          << i;
    for (const DType dtype : {DType::f16, DType::bf16}) {
      for (int bits = 0; bits < 65536; ++bits) {
        const float x = dtype == DType::f16 ? f16_to_float(static_cast<uint16_t>(bits))
                                            : bf16_to_float(static_cast<uint16_t>(bits));
        ASSERT_TRUE(
            same(std::get<float>(numeric::convert(format.dtype, dtype, x)), format.round(x)))
            << x;
      }
    }
  }
}

}  // namespace
}  // namespace tilewright::testing
