// The law of scalar arithmetic: hand-written tables, and independent computations over many values.
#include "tilewright/runtime/numeric.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/interpreter/half_reference.h"
#include "tilewright/ir/error.h"
#include "tilewright/runtime/half.h"

namespace tilewright::testing {
namespace {

using ir::Fn;
using numeric::Element;

constexpr int64_t kMin64 = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax64 = std::numeric_limits<int64_t>::max();
constexpr DType kFloats[] = {DType::f16, DType::bf16, DType::f32, DType::f64};
constexpr DType kHalves[] = {DType::f16, DType::bf16};
constexpr DType kIntegers[] = {DType::i8, DType::u8, DType::i16, DType::i32, DType::i64};

int64_t whole(Fn fn, DType dtype, int64_t x, int64_t y) {
  return std::get<int64_t>(numeric::evaluate(fn, dtype, x, y));
}

double real(const Element& x) {
  return std::visit([](auto value) { return static_cast<double>(value); }, x);
}

double real(Fn fn, DType dtype, double x, double y) {
  return real(
      numeric::evaluate(fn, dtype, numeric::from_double(dtype, x), numeric::from_double(dtype, y)));
}

double real(Fn fn, DType dtype, double x) {
  return real(numeric::evaluate(fn, dtype, numeric::from_double(dtype, x)));
}

const HalfReference& reference(DType dtype) {
  return dtype == DType::f16 ? kF16Reference : kBF16Reference;
}

float decode(DType dtype, int bits) {
  return dtype == DType::f16 ? f16_to_float(bits) : bf16_to_float(bits);
}

uint16_t encode(DType dtype, const Element& x) {
  return dtype == DType::f16 ? f16_from_double(std::get<float>(x))
                             : bf16_from_double(std::get<float>(x));
}

/// A random finite half whose exponent is at most `spread` from 0, or any when 0.
float random_half(DType dtype, std::mt19937& random, int spread) {
  while (true) {
    const float x = decode(dtype, random() & 0xffff);
    if (!std::isfinite(x)) continue;
    if (spread == 0 || (x != 0 && std::abs(std::ilogb(x)) <= spread)) return x;
  }
}

TEST(NumericInteger, EveryPairOfBytes) {
  for (int x = -128; x < 256; ++x) {
    for (int y = -128; y < 256; ++y) {
      for (const DType dtype : {DType::i8, DType::u8}) {
        const bool is_signed = dtype == DType::i8;
        if ((is_signed && (x > 127 || y > 127)) || (!is_signed && (x < 0 || y < 0))) continue;
        const auto narrow = [&](int v) {
          return is_signed ? int{static_cast<int8_t>(v)} : int{static_cast<uint8_t>(v)};
        };
        ASSERT_EQ(whole(Fn::add, dtype, x, y), narrow(x + y));
        ASSERT_EQ(whole(Fn::sub, dtype, x, y), narrow(x - y));
        ASSERT_EQ(whole(Fn::mul, dtype, x, y), narrow(x * y));
        ASSERT_EQ(whole(Fn::div, dtype, x, y), y == 0 ? 0 : narrow(x / y)) << x << " " << y;
        ASSERT_EQ(whole(Fn::rem, dtype, x, y), y == 0 ? x : narrow(x % y)) << x << " " << y;
        ASSERT_EQ(whole(Fn::min, dtype, x, y), std::min(x, y));
        ASSERT_EQ(whole(Fn::max, dtype, x, y), std::max(x, y));
        ASSERT_EQ(whole(Fn::bit_and, dtype, x, y), narrow(x & y));
        ASSERT_EQ(whole(Fn::bit_or, dtype, x, y), narrow(x | y));
        ASSERT_EQ(whole(Fn::bit_xor, dtype, x, y), narrow(x ^ y));
        ASSERT_EQ(whole(Fn::shl, dtype, x, y), narrow(x << (y & 7))) << x << " " << y;
        ASSERT_EQ(whole(Fn::shr, dtype, x, y), x >> (y & 7)) << x << " " << y;
        ASSERT_EQ(numeric::compare(Fn::lt, dtype, int64_t{x}, int64_t{y}), x < y);
        ASSERT_EQ(numeric::compare(Fn::ge, dtype, int64_t{x}, int64_t{y}), x >= y);
        ASSERT_EQ(std::get<int64_t>(numeric::fma(dtype, int64_t{x}, int64_t{y}, int64_t{7})),
                  narrow(x * y + 7));
      }
    }
  }
}

TEST(NumericInteger, DivisionTable) {
  struct Row {
    DType dtype;
    int64_t x, y, div, rem;
  };
  const Row rows[] = {{DType::i32, -7, 3, -2, -1},
                      {DType::i32, 7, -3, -2, 1},
                      {DType::i32, -1, 512, 0, -1},
                      {DType::i32, 5, 0, 0, 5},
                      {DType::i32, INT32_MIN, -1, INT32_MIN, 0},
                      {DType::i16, -32768, -1, -32768, 0},
                      {DType::i64, kMin64, -1, kMin64, 0},
                      {DType::i64, kMin64, 0, 0, kMin64},
                      {DType::i64, kMax64, -1, -kMax64, 0},
                      {DType::u8, 250, 7, 35, 5}};
  for (const Row& row : rows) {
    EXPECT_EQ(whole(Fn::div, row.dtype, row.x, row.y), row.div) << row.x << " / " << row.y;
    EXPECT_EQ(whole(Fn::rem, row.dtype, row.x, row.y), row.rem) << row.x << " % " << row.y;
  }
}

TEST(NumericInteger, WrapsAtItsWidth) {
  EXPECT_EQ(whole(Fn::add, DType::i32, INT32_MAX, 1), INT32_MIN);
  EXPECT_EQ(whole(Fn::sub, DType::i64, kMin64, 1), kMax64);
  EXPECT_EQ(whole(Fn::mul, DType::i64, int64_t{1} << 62, 4), 0);
  EXPECT_EQ(whole(Fn::mul, DType::i16, 300, 300), 90000 - 65536);
  for (const DType dtype : kIntegers) {
    if (dtype == DType::u8) continue;
    const int64_t low = std::get<int64_t>(numeric::identity(Fn::max, dtype));
    EXPECT_EQ(std::get<int64_t>(numeric::evaluate(Fn::neg, dtype, low)), low);
    EXPECT_EQ(std::get<int64_t>(numeric::evaluate(Fn::abs, dtype, low)), low);
    EXPECT_EQ(std::get<int64_t>(numeric::evaluate(Fn::bit_not, dtype, low)), ~low);
  }
  EXPECT_EQ(std::get<int64_t>(numeric::evaluate(Fn::neg, DType::u8, int64_t{1})), 255);
  EXPECT_EQ(std::get<int64_t>(numeric::evaluate(Fn::abs, DType::u8, int64_t{255})), 255);
  EXPECT_EQ(std::get<int64_t>(numeric::evaluate(Fn::bit_not, DType::u8, int64_t{1})), 254);
}

TEST(NumericInteger, ShiftCountsAreMaskedToTheWidth) {
  EXPECT_EQ(whole(Fn::shl, DType::i32, 1, 33), 2);
  EXPECT_EQ(whole(Fn::shl, DType::i32, 1, 31), INT32_MIN);
  EXPECT_EQ(whole(Fn::shl, DType::i64, 1, 65), 2);
  EXPECT_EQ(whole(Fn::shr, DType::i64, kMin64, -1), -1);
  EXPECT_EQ(whole(Fn::shr, DType::i16, -4, 17), -2);
  EXPECT_EQ(whole(Fn::shr, DType::u8, 128, 7), 1);
  EXPECT_EQ(whole(Fn::shl, DType::boolean, 1, 1), 1);
}

TEST(NumericBool, LogicAndOrder) {
  for (int64_t x : {0, 1}) {
    EXPECT_EQ(std::get<int64_t>(numeric::evaluate(Fn::bit_not, DType::boolean, x)), !x);
    for (int64_t y : {0, 1}) {
      EXPECT_EQ(whole(Fn::bit_and, DType::boolean, x, y), x && y);
      EXPECT_EQ(whole(Fn::bit_or, DType::boolean, x, y), x || y);
      EXPECT_EQ(whole(Fn::bit_xor, DType::boolean, x, y), x != y);
      EXPECT_EQ(whole(Fn::min, DType::boolean, x, y), x && y);
      EXPECT_EQ(whole(Fn::max, DType::boolean, x, y), x || y);
    }
  }
}

TEST(NumericFloat, MinAndMax) {
  for (const DType dtype : kFloats) {
    EXPECT_FALSE(std::signbit(real(Fn::max, dtype, -0.0, 0.0)));
    EXPECT_FALSE(std::signbit(real(Fn::max, dtype, 0.0, -0.0)));
    EXPECT_TRUE(std::signbit(real(Fn::max, dtype, -0.0, -0.0)));
    EXPECT_TRUE(std::signbit(real(Fn::min, dtype, -0.0, 0.0)));
    EXPECT_TRUE(std::signbit(real(Fn::min, dtype, 0.0, -0.0)));
    for (const Fn fn : {Fn::min, Fn::max}) {
      EXPECT_TRUE(std::isnan(real(fn, dtype, NAN, 1)));
      EXPECT_TRUE(std::isnan(real(fn, dtype, 1, NAN)));
      EXPECT_TRUE(std::isnan(real(fn, dtype, -INFINITY, NAN)));
    }
    EXPECT_EQ(real(Fn::min, dtype, 2, -3), -3);
    EXPECT_EQ(real(Fn::max, dtype, -INFINITY, -3), -3);
  }
}

TEST(NumericFloat, ComparisonsWithNaN) {
  for (const DType dtype : kFloats) {
    const Element nan = numeric::from_double(dtype, NAN), one = numeric::from_double(dtype, 1);
    for (const Fn fn : {Fn::eq, Fn::lt, Fn::le, Fn::gt, Fn::ge})
      EXPECT_FALSE(numeric::compare(fn, dtype, nan, one));
    EXPECT_TRUE(numeric::compare(Fn::ne, dtype, nan, nan));
    EXPECT_TRUE(numeric::compare(Fn::eq, dtype, one, one));
    EXPECT_TRUE(numeric::compare(Fn::eq, dtype, numeric::from_double(dtype, 0.0),
                                 numeric::from_double(dtype, -0.0)));
  }
}

TEST(NumericFloat, RemainderHasTheSignOfTheDividend) {
  for (const DType dtype : kFloats) {
    EXPECT_EQ(real(Fn::rem, dtype, -7, 3), -1);
    EXPECT_EQ(real(Fn::rem, dtype, 7.5, -2), 1.5);
    EXPECT_TRUE(std::isnan(real(Fn::rem, dtype, 1, 0)));
    EXPECT_EQ(real(Fn::rem, dtype, 1, INFINITY), 1);
  }
}

TEST(NumericHalf, UnaryOverEveryValue) {
  for (const DType dtype : kHalves) {
    const auto bits_of = [&](Fn fn, float x) {
      return encode(dtype, numeric::evaluate(fn, dtype, x));
    };
    for (int bits = 0; bits < 0x10000; ++bits) {
      const float x = decode(dtype, bits);
      if (!std::isfinite(x)) continue;
      ASSERT_EQ(bits_of(Fn::neg, x), bits ^ 0x8000);
      ASSERT_EQ(bits_of(Fn::abs, x), bits & 0x7fff);
      const bool negative = bits >> 15 != 0;
      ASSERT_EQ(bits_of(Fn::floor, x), reference(dtype).round(std::floor(double{x}), negative));
      ASSERT_EQ(bits_of(Fn::ceil, x), reference(dtype).round(std::ceil(double{x}), negative));
      ASSERT_EQ(bits_of(Fn::round, x), reference(dtype).round(std::rint(double{x}), negative));
      ASSERT_EQ(bits_of(Fn::trunc, x), reference(dtype).round(std::trunc(double{x}), negative));
      if (x < 0) continue;
      ASSERT_EQ(bits_of(Fn::sqrt, x), reference(dtype).round(sqrtl(x), negative)) << bits;
    }
    EXPECT_TRUE(std::isnan(real(Fn::sqrt, dtype, -1)));
  }
}

TEST(NumericHalf, ArithmeticRoundsOnce) {
  std::mt19937 random(1);
  for (const DType dtype : kHalves) {
    for (int i = 0; i < 20000; ++i) {
      // All magnitudes for products and quotients, whose exact values the wide type holds (or, for
      // quotients, tells from a tie); moderate ones for sums.
      const int spread = i % 2 == 0 ? 0 : 14;
      const float x = random_half(dtype, random, spread), y = random_half(dtype, random, spread);
      const auto check = [&](Fn fn, Exact exact, bool negative_zero) {
        if (exact == 0 && fn != Fn::mul) return;  // zeros have their own test
        ASSERT_EQ(encode(dtype, numeric::evaluate(fn, dtype, x, y)),
                  reference(dtype).round(exact, negative_zero))
            << to_string(dtype) << " " << info(fn).name << " " << x << " " << y;
      };
      check(Fn::mul, Exact{x} * Exact{y}, std::signbit(x) != std::signbit(y));
      if (y != 0) check(Fn::div, Exact{x} / Exact{y}, std::signbit(x) != std::signbit(y));
      if (spread == 0 && dtype == DType::bf16) continue;
      check(Fn::add, Exact{x} + Exact{y}, false);
      check(Fn::sub, Exact{x} - Exact{y}, false);
    }
  }
}

TEST(NumericHalf, FmaRoundsOnce) {
  std::mt19937 random(2);
  for (const DType dtype : kHalves) {
    for (int i = 0; i < 50000; ++i) {
      const int spread = dtype == DType::f16 && i % 2 == 0 ? 0 : 14;
      const float x = random_half(dtype, random, spread), y = random_half(dtype, random, spread);
      const float z = random_half(dtype, random, spread);
      const Exact exact = Exact{x} * Exact{y} + Exact{z};
      if (exact == 0) continue;
      ASSERT_EQ(encode(dtype, numeric::fma(dtype, x, y, z)), reference(dtype).round(exact))
          << to_string(dtype) << " " << x << " " << y << " " << z;
    }
  }
  // (1 + 2^-4)^2 is a tie in bf16; a term far below it decides, though a double cannot hold both.
  const float tiny = 0x1p-120f, x = 1 + 0x1p-4f;
  EXPECT_EQ(std::get<float>(numeric::fma(DType::bf16, x, x, 0.0f)), 1 + 0x1p-3f);
  EXPECT_EQ(std::get<float>(numeric::fma(DType::bf16, x, x, tiny)), 1 + 0x1p-3f + 0x1p-7f);
  EXPECT_EQ(std::get<float>(numeric::fma(DType::bf16, x, x, -tiny)), 1 + 0x1p-3f);
  EXPECT_EQ(std::get<float>(numeric::fma(DType::bf16, -x, x, -tiny)), -1 - 0x1p-3f - 0x1p-7f);
}

TEST(NumericHalf, ZerosAndInfinities) {
  for (const DType dtype : kFloats) {
    EXPECT_FALSE(std::signbit(real(Fn::sub, dtype, 1, 1)));
    EXPECT_TRUE(std::signbit(real(Fn::add, dtype, -0.0, -0.0)));
    EXPECT_FALSE(std::signbit(real(Fn::add, dtype, -0.0, 0.0)));
    EXPECT_EQ(real(Fn::div, dtype, 1, 0), INFINITY);
    EXPECT_EQ(real(Fn::div, dtype, 1, -0.0), -INFINITY);
    EXPECT_TRUE(std::isnan(real(Fn::div, dtype, 0, 0)));
    EXPECT_TRUE(std::isnan(real(Fn::sub, dtype, INFINITY, INFINITY)));
    EXPECT_TRUE(std::isnan(real(Fn::mul, dtype, INFINITY, 0)));
  }
  EXPECT_EQ(real(Fn::mul, DType::f16, 256, 256), INFINITY);
  EXPECT_EQ(real(Fn::add, DType::f16, 2048, 1), 2048);
  EXPECT_EQ(real(Fn::add, DType::f16, 2048, 3), 2052);
}

TEST(NumericFloat, F32IsIEEEAndFmaIsFused) {
  const float x = 1 + 0x1p-12f;
  EXPECT_EQ(std::get<float>(numeric::fma(DType::f32, x, x, -1.0f)), 0x1p-11f + 0x1p-24f);
  EXPECT_EQ(std::get<double>(numeric::fma(DType::f64, 1 + 0x1p-30, 1 + 0x1p-30, -1.0)),
            0x1p-29 + 0x1p-60);
  EXPECT_EQ(real(Fn::div, DType::f32, 1, 3), 1.0f / 3.0f);
  EXPECT_EQ(real(Fn::mul, DType::f32, 0x1p-100, 0x1p-49), 0x1p-149);
  EXPECT_EQ(real(Fn::sqrt, DType::f32, 2), sqrtf(2));
}

TEST(NumericFloat, TranscendentalsAreWithinTheirBounds) {
  using Wide = long double;
  const std::pair<Fn, Wide (*)(Wide)> functions[] = {
      {Fn::exp, expl},     {Fn::exp2, exp2l},   {Fn::log, logl},
      {Fn::log2, log2l},   {Fn::sin, sinl},     {Fn::cos, cosl},
      {Fn::erf, erfl},     {Fn::tanh, tanhl},   {Fn::rsqrt, [](Wide x) { return 1 / sqrtl(x); }},
      {Fn::log10, log10l}, {Fn::log1p, log1pl}, {Fn::expm1, expm1l},
      {Fn::tan, tanl},     {Fn::atan, atanl},   {Fn::sinh, sinhl},
      {Fn::cosh, coshl}};
  for (const auto& [fn, exact] : functions) {
    for (double x = 0.01; x < 40; x *= 1.013) {
      const float f = static_cast<float>(x);
      const Wide single = exact(f), twice = exact(x);
      const Wide ulp32 = std::ldexp(1.0L, std::ilogb(single) - 23);
      const Wide ulp64 = std::ldexp(1.0L, std::ilogb(twice) - 52);
      // Evaluated in double and rounded: half a unit, not only the bound of 2.
      ASSERT_LE(std::abs(real(fn, DType::f32, f) - single), 0.501L * ulp32) << x;
      ASSERT_LE(std::abs(real(fn, DType::f64, x) - twice), 2 * ulp64) << x;
    }
  }
  for (float x = -0.999f; x < 1; x += 0.0131f) {
    ASSERT_FLOAT_EQ(real(Fn::asin, DType::f32, x), static_cast<float>(asinl(x)));
    ASSERT_FLOAT_EQ(real(Fn::acos, DType::f32, x), static_cast<float>(acosl(x)));
    ASSERT_FLOAT_EQ(real(Fn::atan2, DType::f32, x, -0.25), static_cast<float>(atan2l(x, -0.25L)));
  }
  EXPECT_TRUE(std::isnan(real(Fn::asin, DType::f32, 1.5)));
  EXPECT_EQ(real(Fn::log1p, DType::f32, -1), -INFINITY);
  EXPECT_EQ(real(Fn::expm1, DType::f32, -INFINITY), -1);
  EXPECT_EQ(real(Fn::exp, DType::f32, -INFINITY), 0);
  EXPECT_EQ(real(Fn::log, DType::f32, 0), -INFINITY);
  EXPECT_TRUE(std::isnan(real(Fn::log, DType::f16, -1)));
  EXPECT_EQ(real(Fn::rsqrt, DType::f32, 0), INFINITY);
  EXPECT_EQ(real(Fn::pow, DType::f32, 2, 10), 1024);
  EXPECT_EQ(real(Fn::pow, DType::bf16, -2, 3), -8);
}

TEST(NumericConvert, FloatToInteger) {
  struct Row {
    double x;
    DType to;
    int64_t expected;
  };
  const Row rows[] = {{1.9, DType::i32, 1},
                      {-1.9, DType::i32, -1},
                      {-0.9, DType::u8, 0},
                      {-5, DType::u8, 0},
                      {255.9, DType::u8, 255},
                      {256, DType::u8, 255},
                      {127.9, DType::i8, 127},
                      {128, DType::i8, 127},
                      {-128.9, DType::i8, -128},
                      {-129, DType::i8, -128},
                      {3e9, DType::i32, INT32_MAX},
                      {-3e9, DType::i32, INT32_MIN},
                      {0x1p63, DType::i64, kMax64},
                      {-0x1p63, DType::i64, kMin64},
                      {0x1.fffffffffffffp62, DType::i64, kMax64 - 1023},
                      {1e300, DType::i16, 32767},
                      {INFINITY, DType::i64, kMax64},
                      {-INFINITY, DType::i8, -128}};
  for (const Row& row : rows)
    EXPECT_EQ(std::get<int64_t>(numeric::from_double(row.to, row.x)), row.expected) << row.x;
  for (const DType from : kFloats) {
    const Element nan = numeric::from_double(from, NAN);
    for (const DType to : kIntegers)
      EXPECT_EQ(std::get<int64_t>(numeric::convert(to, from, nan)), 0);
    EXPECT_EQ(std::get<int64_t>(numeric::convert(DType::boolean, from, nan)), 1);
    EXPECT_EQ(
        std::get<int64_t>(numeric::convert(DType::boolean, from, numeric::from_double(from, -0.0))),
        0);
    EXPECT_EQ(
        std::get<int64_t>(numeric::convert(DType::boolean, from, numeric::from_double(from, 0.25))),
        1);
  }
}

TEST(NumericConvert, EveryHalfToEveryInteger) {
  for (const DType from : kHalves) {
    for (int bits = 0; bits < 0x10000; ++bits) {
      const float x = decode(from, bits);
      if (std::isnan(x)) continue;
      for (const DType to : kIntegers) {
        const double low = std::get<int64_t>(numeric::identity(Fn::max, to));
        const double high = std::get<int64_t>(numeric::identity(Fn::min, to));
        const double clamped = std::clamp(std::trunc(double{x}), low, high);
        const int64_t found = std::get<int64_t>(numeric::convert(to, from, x));
        if (clamped >= 0x1p63)
          ASSERT_EQ(found, kMax64);
        else
          ASSERT_EQ(found, static_cast<int64_t>(clamped)) << x << " to " << to_string(to);
      }
    }
  }
}

TEST(NumericConvert, IntegerToFloat) {
  EXPECT_EQ(std::get<float>(numeric::from_int(DType::bf16, 259)), 260);
  EXPECT_EQ(std::get<float>(numeric::from_int(DType::bf16, 33000)), 33024);
  EXPECT_EQ(std::get<float>(numeric::from_int(DType::f32, 16777217)), 16777216);
  EXPECT_EQ(std::get<float>(numeric::from_int(DType::f32, 16777219)), 16777220);
  EXPECT_EQ(std::get<float>(numeric::from_int(DType::f16, 65519)), 65504);
  EXPECT_EQ(std::get<float>(numeric::from_int(DType::f16, 65520)), INFINITY);
  // A tie plus one that a double cannot tell from the tie.
  const int64_t tie = (int64_t{1} << 60) + (int64_t{1} << 52);
  EXPECT_EQ(std::get<float>(numeric::from_int(DType::bf16, tie)), 0x1p60f);
  EXPECT_EQ(std::get<float>(numeric::from_int(DType::bf16, tie + 1)), 0x1.02p60f);
  EXPECT_EQ(std::get<float>(numeric::from_int(DType::bf16, -tie - 1)), -0x1.02p60f);
  EXPECT_EQ(std::get<float>(numeric::from_int(DType::bf16, kMin64)), -0x1p63f);
  const int64_t tie32 = (int64_t{1} << 60) + (int64_t{1} << 36);
  EXPECT_EQ(std::get<float>(numeric::from_int(DType::f32, tie32)), 0x1p60f);
  EXPECT_EQ(std::get<float>(numeric::from_int(DType::f32, tie32 + 1)), 0x1.000002p60f);
  for (const DType to : kHalves)
    for (int64_t x = -70000; x < 70000; x += 7)
      ASSERT_EQ(encode(to, numeric::from_int(to, x)), reference(to).round(x)) << x;
}

TEST(NumericConvert, IntegerToInteger) {
  EXPECT_EQ(std::get<int64_t>(numeric::from_int(DType::i8, 200)), -56);
  EXPECT_EQ(std::get<int64_t>(numeric::from_int(DType::u8, -1)), 255);
  EXPECT_EQ(std::get<int64_t>(numeric::from_int(DType::i32, int64_t{1} << 32)), 0);
  EXPECT_EQ(std::get<int64_t>(numeric::from_int(DType::boolean, 256)), 1);
  EXPECT_EQ(std::get<int64_t>(numeric::convert(DType::i64, DType::i8, int64_t{-5})), -5);
}

TEST(NumericConvert, FloatToFloat) {
  // Directly, not by way of f32: the double is just above a tie of f16.
  EXPECT_EQ(std::get<float>(numeric::from_double(DType::f16, 1 + 0x1p-11 + 0x1p-40)), 1 + 0x1p-10f);
  EXPECT_EQ(std::get<float>(numeric::from_double(DType::f32, 1e300)), INFINITY);
  EXPECT_EQ(std::get<float>(numeric::convert(DType::f16, DType::bf16, 0x1p-25f)), 0);
  EXPECT_EQ(std::get<float>(numeric::convert(DType::f16, DType::f32, -0x1.8p-24f)), -0x1p-23f);
  for (const DType to : kFloats)
    for (const DType from : kFloats)
      EXPECT_TRUE(std::isnan(real(numeric::convert(to, from, numeric::from_double(from, NAN)))));
}

TEST(NumericReduce, Identities) {
  EXPECT_EQ(std::get<int64_t>(numeric::identity(Fn::bit_and, DType::u8)), 255);
  EXPECT_EQ(std::get<int64_t>(numeric::identity(Fn::bit_and, DType::i32)), -1);
  EXPECT_EQ(std::get<int64_t>(numeric::identity(Fn::bit_and, DType::boolean)), 1);
  EXPECT_EQ(std::get<int64_t>(numeric::identity(Fn::bit_or, DType::boolean)), 0);
  EXPECT_EQ(std::get<int64_t>(numeric::identity(Fn::max, DType::boolean)), 0);
  EXPECT_EQ(std::get<int64_t>(numeric::identity(Fn::max, DType::i64)), kMin64);
  EXPECT_EQ(std::get<int64_t>(numeric::identity(Fn::min, DType::u8)), 255);
  EXPECT_EQ(std::get<int64_t>(numeric::identity(Fn::mul, DType::i8)), 1);
  EXPECT_EQ(std::get<float>(numeric::identity(Fn::max, DType::f16)), -INFINITY);
  EXPECT_EQ(std::get<double>(numeric::identity(Fn::min, DType::f64)), INFINITY);
}

TEST(Numeric, RefusesWhatAFunctionDoesNotTake) {
  EXPECT_THROW(numeric::evaluate(Fn::add, DType::boolean, int64_t{1}, int64_t{1}), InternalError);
  EXPECT_THROW(numeric::evaluate(Fn::exp, DType::i32, int64_t{1}), InternalError);
  EXPECT_THROW(numeric::evaluate(Fn::bit_and, DType::f32, 1.0f, 1.0f), InternalError);
  EXPECT_THROW(numeric::evaluate(Fn::add, DType::f32, 1.0f), InternalError);
  EXPECT_THROW(numeric::evaluate(Fn::neg, DType::f32, 1.0), InternalError);
}

}  // namespace
}  // namespace tilewright::testing
