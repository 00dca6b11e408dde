// Constant folding against plain C++ on random and extreme operands.
#include "tilewright/ir/fold.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace tilewright::ir {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <class T>
constexpr DType dtype_of = std::is_same_v<T, int8_t>    ? DType::i8
                           : std::is_same_v<T, uint8_t> ? DType::u8
                           : std::is_same_v<T, int16_t> ? DType::i16
                           : std::is_same_v<T, int32_t> ? DType::i32
                           : std::is_same_v<T, int64_t> ? DType::i64
                           : std::is_same_v<T, float>   ? DType::f32
                                                        : DType::f64;

template <class T>
std::vector<T> integers() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {0, 1, 2, 3, 7, 8, 31, 63, 64, 100, Limits::max(), Limits::min()};
  for (int near = 1; near < 3; ++near) {
    values.push_back(static_cast<T>(Limits::max() - near));
    values.push_back(static_cast<T>(Limits::min() + near));
    values.push_back(static_cast<T>(-near));
  }
  std::mt19937_64 random(sizeof(T));
  for (int i = 0; i < 60; ++i) values.push_back(static_cast<T>(random() >> (random() % 64)));
  return values;
}

/// The rules in the words of C++, with wider types where C++ would not define the result.
template <class T>
T expected(Fn fn, T x, T y) {
  using Wide = __int128;
  constexpr int bits = 8 * sizeof(T);
  switch (fn) {
    case Fn::add:
      return static_cast<T>(Wide{x} + y);
    case Fn::sub:
      return static_cast<T>(Wide{x} - y);
    case Fn::mul:
      return static_cast<T>(Wide{x} * y);
    case Fn::div:
      return y == 0 ? T{0} : static_cast<T>(Wide{x} / y);
    case Fn::rem:
      return y == 0 ? x : static_cast<T>(Wide{x} % y);
    case Fn::min:
      return std::min(x, y);
    case Fn::max:
      return std::max(x, y);
    case Fn::bit_and:
      return static_cast<T>(x & y);
    case Fn::bit_or:
      return static_cast<T>(x | y);
    case Fn::bit_xor:
      return static_cast<T>(x ^ y);
    case Fn::shl:
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(x) << (y & (bits - 1)));
    case Fn::shr:
      return static_cast<T>(x >> (y & (bits - 1)));
    default:
      return 0;
  }
}

constexpr Fn kIntegerFns[] = {Fn::add, Fn::sub,     Fn::mul,    Fn::div,     Fn::rem, Fn::min,
                              Fn::max, Fn::bit_and, Fn::bit_or, Fn::bit_xor, Fn::shl, Fn::shr};

template <class T>
class FoldIntegers : public ::testing::Test {};
using IntegerTypes = ::testing::Types<int8_t, uint8_t, int16_t, int32_t, int64_t>;
TYPED_TEST_SUITE(FoldIntegers, IntegerTypes);

TYPED_TEST(FoldIntegers, BinaryFunctions) {
  using T = TypeParam;
  constexpr DType dtype = dtype_of<T>;
  for (Fn fn : kIntegerFns)
    for (T x : integers<T>())
      for (T y : integers<T>()) {
        const auto folded =
            fold_binary(fn, Scalar::of(dtype, int64_t{x}), Scalar::of(dtype, int64_t{y}));
        ASSERT_TRUE(folded);
        ASSERT_EQ(folded->i, int64_t{expected<T>(fn, x, y)})
            << info(fn).name << " " << int64_t{x} << " " << int64_t{y};
      }
}

TYPED_TEST(FoldIntegers, UnaryFunctionsAndComparisons) {
  using T = TypeParam;
  constexpr DType dtype = dtype_of<T>;
  for (T x : integers<T>()) {
    const Scalar sx = Scalar::of(dtype, int64_t{x});
    EXPECT_EQ(fold_unary(Fn::neg, sx)->i, int64_t{static_cast<T>(-static_cast<__int128>(x))});
    EXPECT_EQ(fold_unary(Fn::abs, sx)->i,
              int64_t{static_cast<T>(x < 0 ? -static_cast<__int128>(x) : x)});
    EXPECT_EQ(fold_unary(Fn::bit_not, sx)->i, int64_t{static_cast<T>(~x)});
    EXPECT_FALSE(fold_unary(Fn::exp, sx));
    for (T y : integers<T>()) {
      const Scalar sy = Scalar::of(dtype, int64_t{y});
      EXPECT_EQ(fold_compare(Fn::eq, sx, sy), x == y);
      EXPECT_EQ(fold_compare(Fn::ne, sx, sy), x != y);
      EXPECT_EQ(fold_compare(Fn::lt, sx, sy), x < y);
      EXPECT_EQ(fold_compare(Fn::le, sx, sy), x <= y);
      EXPECT_EQ(fold_compare(Fn::gt, sx, sy), x > y);
      EXPECT_EQ(fold_compare(Fn::ge, sx, sy), x >= y);
    }
  }
}

TYPED_TEST(FoldIntegers, Conversions) {
  using T = TypeParam;
  for (T x : integers<T>()) {
    const Scalar s = Scalar::of(dtype_of<T>, int64_t{x});
    EXPECT_EQ(fold_cast(s, DType::i8)->i, static_cast<int8_t>(x));
    EXPECT_EQ(fold_cast(s, DType::u8)->i, static_cast<uint8_t>(x));
    EXPECT_EQ(fold_cast(s, DType::i16)->i, static_cast<int16_t>(x));
    EXPECT_EQ(fold_cast(s, DType::i32)->i, static_cast<int32_t>(x));
    EXPECT_EQ(fold_cast(s, DType::i64)->i, static_cast<int64_t>(x));
    EXPECT_EQ(fold_cast(s, DType::boolean)->i, x != 0);
    EXPECT_EQ(fold_cast(s, DType::f32)->f, static_cast<float>(x));
    EXPECT_EQ(fold_cast(s, DType::f64)->f, static_cast<double>(x));
  }
}

TEST(Fold, SmallTableOfSpecialIntegers) {
  const auto i32 = [](Fn fn, int64_t x, int64_t y) {
    return fold_binary(fn, Scalar::of(DType::i32, x), Scalar::of(DType::i32, y))->i;
  };
  EXPECT_EQ(i32(Fn::div, 7, 0), 0);
  EXPECT_EQ(i32(Fn::rem, 7, 0), 7);
  EXPECT_EQ(i32(Fn::div, -2147483648, -1), -2147483648);
  EXPECT_EQ(i32(Fn::rem, -2147483648, -1), 0);
  EXPECT_EQ(i32(Fn::div, -7, 3), -2);
  EXPECT_EQ(i32(Fn::rem, -7, 3), -1);
  EXPECT_EQ(i32(Fn::div, -1, 512), 0);
  EXPECT_EQ(i32(Fn::shl, 1, 33), 2);
  EXPECT_EQ(i32(Fn::shr, -8, 1), -4);
  EXPECT_EQ(i32(Fn::shl, 1, -1), -2147483648);
}

TEST(Fold, Booleans) {
  const Scalar yes = Scalar::of(DType::boolean, int64_t{1}),
               no = Scalar::of(DType::boolean, int64_t{0});
  EXPECT_EQ(fold_unary(Fn::bit_not, yes)->i, 0);
  EXPECT_EQ(fold_unary(Fn::bit_not, no)->i, 1);
  EXPECT_EQ(fold_binary(Fn::bit_xor, yes, yes)->i, 0);
  EXPECT_EQ(fold_binary(Fn::bit_or, yes, no)->i, 1);
  EXPECT_EQ(fold_binary(Fn::max, yes, no)->i, 1);
  EXPECT_FALSE(fold_binary(Fn::add, yes, yes));
  EXPECT_FALSE(fold_binary(Fn::shl, yes, yes));
  EXPECT_EQ(fold_cast(Scalar::of(DType::f32, 0.25), DType::boolean)->i, 1);
  EXPECT_EQ(fold_cast(Scalar::of(DType::f32, -0.0), DType::boolean)->i, 0);
}

std::vector<double> reals() {
  std::vector<double> values = {0.0,  -0.0,     1.0,     -1.0,  0.5,   1.5,      2.5,   0.1,
                                kInf, -kInf,    kNaN,    65504, 65520, 65519.99, 1e30,  -1e30,
                                1e-8, 5.96e-08, 2.98e-8, 1e-40, 1e-45, 3.4e38,   1e300, 5e-324};
  std::mt19937_64 random(3);
  for (int i = 0; i < 60; ++i)
    values.push_back(std::ldexp(static_cast<double>(static_cast<int64_t>(random())),
                                static_cast<int>(random() % 60) - 90));
  for (int i = 0; i < 20; ++i) values.push_back(static_cast<double>(random() % 4096) / 16);
  return values;
}

bool same(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  return x == y && std::signbit(x) == std::signbit(y);
}

/// To nearest even by the bits, from float.
double bf16_of(float value) {
  if (std::isnan(value)) return kNaN;
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return std::bit_cast<float>((bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000u);
}

TEST(Fold, RoundsToEveryFloatType) {
  for (double x : reals()) {
    EXPECT_TRUE(same(round_to(DType::f64, x), x));
    EXPECT_TRUE(same(round_to(DType::f32, x), static_cast<float>(x)));
    EXPECT_TRUE(same(round_to(DType::f16, x), static_cast<double>(static_cast<_Float16>(x)))) << x;
    const float narrow = static_cast<float>(x);
    EXPECT_TRUE(same(round_to(DType::bf16, narrow), bf16_of(narrow))) << x;
  }
  // A double just above the middle of two halves must not first be rounded to the middle.
  EXPECT_EQ(round_to(DType::f16, 1.0 + std::ldexp(1, -11) + std::ldexp(1, -40)),
            1.0 + std::ldexp(1, -10));
  EXPECT_EQ(round_to(DType::bf16, 259), 260);
  EXPECT_EQ(round_to(DType::bf16, 33000), 33024);
  EXPECT_EQ(round_to(DType::f16, 65520), kInf);
  EXPECT_EQ(round_to(DType::bf16, 3.4e38), kInf);
}

template <class T>
void expect_float_arithmetic(DType dtype) {
  for (double rx : reals())
    for (double ry : reals()) {
      const T x = static_cast<T>(rx), y = static_cast<T>(ry);
      const Scalar sx = Scalar::of(dtype, rx), sy = Scalar::of(dtype, ry);
      ASSERT_TRUE(same(fold_binary(Fn::add, sx, sy)->f, static_cast<T>(x + y)));
      ASSERT_TRUE(same(fold_binary(Fn::sub, sx, sy)->f, static_cast<T>(x - y)));
      ASSERT_TRUE(same(fold_binary(Fn::mul, sx, sy)->f, static_cast<T>(x * y)));
      ASSERT_TRUE(same(fold_binary(Fn::div, sx, sy)->f, static_cast<T>(x / y))) << rx << " " << ry;
      ASSERT_EQ(fold_compare(Fn::lt, sx, sy), x < y);
      ASSERT_EQ(fold_compare(Fn::ne, sx, sy), x != y);
    }
}

TEST(Fold, FloatArithmeticRoundsOnce) {
  expect_float_arithmetic<float>(DType::f32);
  expect_float_arithmetic<double>(DType::f64);
  expect_float_arithmetic<_Float16>(DType::f16);
}

TEST(Fold, MinAndMaxOfFloats) {
  for (DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    const auto fold = [&](Fn fn, double x, double y) {
      return fold_binary(fn, Scalar::of(dtype, x), Scalar::of(dtype, y))->f;
    };
    EXPECT_TRUE(std::isnan(fold(Fn::max, kNaN, 1)) && std::isnan(fold(Fn::max, 1, kNaN)));
    EXPECT_TRUE(std::isnan(fold(Fn::min, kNaN, 1)) && std::isnan(fold(Fn::min, 1, kNaN)));
    EXPECT_TRUE(same(fold(Fn::max, -0.0, 0.0), 0.0) && same(fold(Fn::max, 0.0, -0.0), 0.0));
    EXPECT_TRUE(same(fold(Fn::min, -0.0, 0.0), -0.0) && same(fold(Fn::min, 0.0, -0.0), -0.0));
    EXPECT_EQ(fold(Fn::max, -kInf, 3), 3);
    EXPECT_EQ(fold(Fn::min, -3, 3), -3);
    EXPECT_EQ(fold(Fn::rem, -7, 3), -1);
  }
}

TEST(Fold, FmaRoundsOnce) {
  std::mt19937_64 random(5);
  const auto draw = [&](int spread) {
    return std::ldexp(static_cast<double>(static_cast<int64_t>(random() % 4096) - 2048),
                      static_cast<int>(random() % spread) - spread / 2);
  };
  for (int i = 0; i < 20000; ++i) {
    const double x = draw(8), y = draw(8), z = draw(24);
    const auto fold = [&](DType dtype) {
      return fold_fma(Scalar::of(dtype, x), Scalar::of(dtype, y), Scalar::of(dtype, z)).f;
    };
    ASSERT_TRUE(same(fold(DType::f64), std::fma(x, y, z)));
    const float fx = static_cast<float>(x), fy = static_cast<float>(y), fz = static_cast<float>(z);
    ASSERT_TRUE(same(fold(DType::f32), std::fma(fx, fy, fz)));
    const auto exact = static_cast<__float128>(static_cast<_Float16>(x)) *
                           static_cast<__float128>(static_cast<_Float16>(y)) +
                       static_cast<__float128>(static_cast<_Float16>(z));
    ASSERT_TRUE(same(fold(DType::f16), static_cast<double>(static_cast<_Float16>(exact))));
  }
  // x * y = 387 / 256 lies halfway between two values of bf16; z decides, though it is far below
  // what a sum in double holds.
  const auto nudged = [](double z) {
    return fold_fma(Scalar::of(DType::bf16, 1.0078125), Scalar::of(DType::bf16, 1.5),
                    Scalar::of(DType::bf16, z))
        .f;
  };
  EXPECT_EQ(nudged(1e-30), 388.0 / 256);
  EXPECT_EQ(nudged(-1e-30), 386.0 / 256);
  EXPECT_EQ(nudged(0.0), 388.0 / 256);
}

TEST(Fold, FloatsToIntegersSaturate) {
  const auto fold = [](double x, DType to) { return fold_cast(Scalar::of(DType::f64, x), to)->i; };
  EXPECT_EQ(fold(kNaN, DType::i32), 0);
  EXPECT_EQ(fold(2.9, DType::i32), 2);
  EXPECT_EQ(fold(-2.9, DType::i32), -2);
  EXPECT_EQ(fold(kInf, DType::i64), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(fold(-kInf, DType::i64), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(fold(9223372036854774784.0, DType::i64), 9223372036854774784);
  EXPECT_EQ(fold(9223372036854775808.0, DType::i64), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(fold(300, DType::i8), 127);
  EXPECT_EQ(fold(-300, DType::i8), -128);
  EXPECT_EQ(fold(-0.5, DType::u8), 0);
  EXPECT_EQ(fold(-5, DType::u8), 0);
  EXPECT_EQ(fold(255.9, DType::u8), 255);
  EXPECT_EQ(fold(256, DType::u8), 255);
}

TEST(Fold, IntegersToHalvesOnlyWhereEveryRouteAgrees) {
  EXPECT_EQ(fold_cast(Scalar::of(DType::i32, int64_t{259}), DType::bf16)->f, 260);
  EXPECT_EQ(fold_cast(Scalar::of(DType::i32, int64_t{1} << 24), DType::bf16)->f, 16777216);
  EXPECT_FALSE(fold_cast(Scalar::of(DType::i32, (int64_t{1} << 24) + 1), DType::bf16));
  EXPECT_FALSE(fold_cast(Scalar::of(DType::i64, -(int64_t{1} << 40)), DType::f16));
}

TEST(Fold, ExactUnaryFunctionsOfFloats) {
  const auto fold = [](Fn fn, double x) { return fold_unary(fn, Scalar::of(DType::f32, x))->f; };
  EXPECT_TRUE(same(fold(Fn::neg, 0.0), -0.0));
  EXPECT_TRUE(same(fold(Fn::abs, -0.0), 0.0));
  EXPECT_EQ(fold(Fn::floor, -1.5), -2);
  EXPECT_EQ(fold(Fn::ceil, 1.25), 2);
  EXPECT_EQ(fold(Fn::round, 2.5), 2);
  EXPECT_EQ(fold(Fn::trunc, -1.75), -1);
  EXPECT_EQ(fold(Fn::sqrt, 2), std::sqrt(2.0f));
  EXPECT_TRUE(std::isnan(fold(Fn::sqrt, -1)));
  for (Fn fn : {Fn::exp, Fn::log, Fn::rsqrt, Fn::sin, Fn::tanh, Fn::erf})
    EXPECT_FALSE(fold_unary(fn, Scalar::of(DType::f32, 1.0)));
  EXPECT_FALSE(fold_binary(Fn::pow, Scalar::of(DType::f32, 1.0), Scalar::of(DType::f32, 1.0)));
}

}  // namespace
}  // namespace tilewright::ir
