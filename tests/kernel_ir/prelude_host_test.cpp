// Device helpers that are plain C++ run here, compiled for the host with stand-ins for the
// compiler's intrinsics, and are compared with the law of scalar arithmetic.
#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>

#include "tests/support/run_command.h"
#include "tilewright/codegen/prelude.h"
#include "tilewright/runtime/numeric.h"

namespace tilewright::codegen {
namespace {

using ir::Fn;

constexpr const char* kStandIns = R"(
#include <cfenv>
#include <cmath>
#include <cstring>
#define __device__
#define __forceinline__ inline
template <class To, class From> To bits_as(From x) {
  To to;
  std::memcpy(&to, &x, sizeof to);
  return to;
}
float __uint_as_float(unsigned x) { return bits_as<float>(x); }
unsigned __float_as_uint(float x) { return bits_as<unsigned>(x); }
double __longlong_as_double(long long x) { return bits_as<double>(x); }
long long __double_as_longlong(double x) { return bits_as<long long>(x); }
template <class F> float rounded(int mode, F compute) {
  std::fesetround(mode);
  volatile float result = compute();
  std::fesetround(FE_TONEAREST);
  return result;
}
template <class T> float convert(int mode, T x) {
  volatile T value = x;
  return rounded(mode, [&] { return (float)value; });
}
float __double2float_rd(double x) { return convert(FE_DOWNWARD, x); }
float __double2float_ru(double x) { return convert(FE_UPWARD, x); }
float __int2float_rd(int x) { return convert(FE_DOWNWARD, x); }
float __int2float_ru(int x) { return convert(FE_UPWARD, x); }
float __ll2float_rd(long long x) { return convert(FE_DOWNWARD, x); }
float __ll2float_ru(long long x) { return convert(FE_UPWARD, x); }
float fma_in(int mode, float a, float b, float c) {
  volatile float x = a, y = b, z = c;
  return rounded(mode, [&] { return std::fma((float)x, (float)y, (float)z); });
}
float __fmaf_rd(float x, float y, float z) { return fma_in(FE_DOWNWARD, x, y, z); }
float __fmaf_ru(float x, float y, float z) { return fma_in(FE_UPWARD, x, y, z); }
)";

constexpr const char* kExports = R"(
#define EXPORT extern "C"
EXPORT unsigned short to_bf16(float x) { return tw::to_bf16(x).bits; }
EXPORT float bf16_to_float(unsigned short x) { return tw::to_float(tw::bf16{x}); }
EXPORT float odd_of_double(double x) { return tw::to_odd(x); }
EXPORT float odd_of_int(int x) { return tw::to_odd(x); }
EXPORT float odd_of_i64(long long x) { return tw::to_odd(x); }
EXPORT float fma_odd(float x, float y, float z) { return tw::fma_odd(x, y, z); }
EXPORT float max_f32(float x, float y) { return tw::max(x, y); }
EXPORT float min_f32(float x, float y) { return tw::min(x, y); }
EXPORT double max_f64(double x, double y) { return tw::max_double(x, y); }
EXPORT double min_f64(double x, double y) { return tw::min_double(x, y); }
#define INTEGERS(name, T) \
  EXPORT long long div_##name(long long x, long long y) { return tw::div<T>((T)x, (T)y); } \
  EXPORT long long rem_##name(long long x, long long y) { return tw::rem<T>((T)x, (T)y); } \
  EXPORT long long abs_##name(long long x) { return tw::abs<T>((T)x); } \
  EXPORT long long from_f32_##name(float x) { return tw::to_int<T>(x); } \
  EXPORT long long from_f64_##name(double x) { return tw::to_int<T>(x); }
INTEGERS(i8, signed char)
INTEGERS(u8, unsigned char)
INTEGERS(i16, short)
INTEGERS(i32, int)
INTEGERS(i64, long long)
)";

/// The helpers of sm_75, compiled for the host once.
class HostHelpers {
 public:
  static const HostHelpers& instance() {
    static const HostHelpers helpers;
    return helpers;
  }

  template <class F>
  F* find(const std::string& name) const {
    void* address = library_ ? dlsym(library_, name.c_str()) : nullptr;
    if (!address) throw std::runtime_error("the host library lacks " + name + "\n" + log_);
    return reinterpret_cast<F*>(address);
  }

 private:
  HostHelpers() {
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / fmt::format("tilewright_prelude_{}", ::getpid());
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "helpers.cpp")
        << kStandIns
        << prelude_text({"to_bf16", "to_float", "to_odd", "fma_odd", "max", "min", "max_double",
                         "min_double", "div", "rem", "abs", "to_int"},
                        parse_target("sm_75"))
        << kExports;
    const std::string path = (folder / "helpers").string();
    const testing::CommandResult result = testing::run_command(
        fmt::format("c++ -std=c++17 -O1 -frounding-math -shared -fPIC {0}.cpp -o {0}.so", path));
    log_ = result.output;
    if (result.status == 0) library_ = dlopen((path + ".so").c_str(), RTLD_NOW);
    std::filesystem::remove_all(folder);
  }

  void* library_ = nullptr;
  std::string log_;
};

template <class F>
F* helper(const std::string& name) {
  return HostHelpers::instance().find<F>(name);
}

template <class T>
const std::vector<T>& special_floats() {
  using Limits = std::numeric_limits<T>;
  static const std::vector<T> values = {T(0),
                                        -T(0),
                                        T(1),
                                        T(-1),
                                        T(0.5),
                                        T(-2.5),
                                        T(127.9),
                                        T(128),
                                        T(-128.5),
                                        T(-129),
                                        T(255),
                                        T(256),
                                        T(32767.5),
                                        T(-40000),
                                        T(2147483647.0),
                                        T(2147483648.0),
                                        T(-2147483649.0),
                                        T(9.3e18),
                                        T(-9.3e18),
                                        T(257),
                                        T(259),
                                        T(33000),
                                        T(65519),
                                        T(65520),
                                        Limits::max(),
                                        Limits::lowest(),
                                        Limits::min(),
                                        Limits::denorm_min(),
                                        -Limits::denorm_min(),
                                        Limits::infinity(),
                                        -Limits::infinity(),
                                        Limits::quiet_NaN()};
  return values;
}

/// A float or double of any magnitude, often one that lies close to half way between two halfs.
template <class T>
T random_float(std::mt19937_64& random) {
  std::uniform_int_distribution<int> pick(0, 15);
  const int kind = pick(random);
  if (kind == 0) return special_floats<T>()[random() % special_floats<T>().size()];
  const double magnitude = std::ldexp(1 + static_cast<double>(random() % 4096) / 2048,
                                      static_cast<int>(random() % 60) - 30);
  const double offset = kind < 8 ? std::ldexp(magnitude, -20 - static_cast<int>(random() % 40)) : 0;
  return static_cast<T>((random() % 2 ? 1 : -1) * (magnitude + offset));
}

template <class T>
void expect_same(T found, T expected, const std::string& what) {
  if (std::isnan(expected))
    EXPECT_TRUE(std::isnan(found)) << what;
  else
    EXPECT_TRUE(found == expected && std::signbit(found) == std::signbit(expected))
        << what << ": " << found << ", expected " << expected;
}

float law(numeric::Element element) { return std::get<float>(element); }

TEST(PreludeOnHost, BfloatRoundsToNearestEven) {
  const auto to_bf16 = helper<uint16_t(float)>("to_bf16");
  const auto to_float = helper<float(uint16_t)>("bf16_to_float");
  EXPECT_EQ(to_float(to_bf16(259)), 260);
  EXPECT_EQ(to_float(to_bf16(33000)), 33024);
  std::mt19937_64 random(1);
  for (int i = 0; i < 200000; ++i) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(random()));
    expect_same(to_float(to_bf16(x)), law(numeric::convert(DType::bf16, DType::f32, x)),
                fmt::format("{}", x));
  }
}

TEST(PreludeOnHost, OddFloatsRoundFurtherAsTheValueWould) {
  const auto of_double = helper<float(double)>("odd_of_double");
  const auto of_int = helper<float(int)>("odd_of_int");
  const auto of_i64 = helper<float(long long)>("odd_of_i64");
  std::mt19937_64 random(2);
  for (int i = 0; i < 50000; ++i) {
    const double x = random_float<double>(random);
    const int64_t wide = static_cast<int64_t>(random()) >> random() % 63;
    const int32_t narrow = static_cast<int32_t>(wide);
    for (const DType half : {DType::f16, DType::bf16}) {
      const auto round = [&](float odd) { return law(numeric::convert(half, DType::f32, odd)); };
      expect_same(round(of_double(x)), law(numeric::convert(half, DType::f64, x)),
                  fmt::format("{}", x));
      expect_same(round(of_i64(wide)), law(numeric::convert(half, DType::i64, wide)),
                  fmt::format("{}", wide));
      expect_same(round(of_int(narrow)), law(numeric::convert(half, DType::i32, int64_t{narrow})),
                  fmt::format("{}", narrow));
    }
  }
}

TEST(PreludeOnHost, HalfFmaRoundsOnce) {
  const auto fma_odd = helper<float(float, float, float)>("fma_odd");
  std::mt19937_64 random(3);
  int double_rounding = 0;
  for (int i = 0; i < 100000; ++i)
    for (const DType half : {DType::f16, DType::bf16}) {
      const auto round = [&](float x) { return law(numeric::convert(half, DType::f32, x)); };
      const float x = round(random_float<float>(random)), y = round(random_float<float>(random));
      const float z = round(random_float<float>(random) * 1e-3f);
      const float expected = law(numeric::fma(half, x, y, z));
      expect_same(round(fma_odd(x, y, z)), expected, fmt::format("fma({}, {}, {})", x, y, z));
      double_rounding += round(std::fma(x, y, z)) != expected && !std::isnan(expected);
    }
  EXPECT_GT(double_rounding, 0) << "the values must tell it from a plain fma";
}

TEST(PreludeOnHost, ExtremaKeepNanAndOrderZeros) {
  for (const bool is_max : {true, false}) {
    const std::string name = is_max ? "max" : "min";
    const Fn fn = is_max ? Fn::max : Fn::min;
    const auto f32 = helper<float(float, float)>(name + "_f32");
    const auto f64 = helper<double(double, double)>(name + "_f64");
    for (const float x : special_floats<float>())
      for (const float y : special_floats<float>())
        expect_same(f32(x, y), law(numeric::evaluate(fn, DType::f32, x, y)),
                    fmt::format("{}({}, {})", name, x, y));
    for (const double x : special_floats<double>())
      for (const double y : special_floats<double>())
        expect_same(f64(x, y), std::get<double>(numeric::evaluate(fn, DType::f64, x, y)),
                    fmt::format("{}({}, {})", name, x, y));
  }
}

constexpr DType kIntegers[] = {DType::i8, DType::u8, DType::i16, DType::i32, DType::i64};

TEST(PreludeOnHost, IntegerArithmeticIsDefinedEverywhere) {
  for (const DType dtype : kIntegers) {
    const std::string suffix = "_" + std::string(to_string(dtype));
    const auto div = helper<long long(long long, long long)>("div" + suffix);
    const auto rem = helper<long long(long long, long long)>("rem" + suffix);
    const auto abs = helper<long long(long long)>("abs" + suffix);
    const auto value = [&](int64_t x) {
      return std::get<int64_t>(numeric::convert(dtype, DType::i64, x));
    };
    for (const int64_t a : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{7}, int64_t{-7},
                            int64_t{127}, int64_t{-128}, int64_t{255}, int64_t{-32768},
                            int64_t{INT32_MIN}, int64_t{INT32_MAX}, INT64_MIN, INT64_MAX}) {
      const int64_t x = value(a);
      EXPECT_EQ(abs(x), std::get<int64_t>(numeric::evaluate(Fn::abs, dtype, x))) << suffix << x;
      for (const int64_t b :
           {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{3}, int64_t{-3}, INT64_MIN}) {
        const int64_t y = value(b);
        EXPECT_EQ(div(x, y), std::get<int64_t>(numeric::evaluate(Fn::div, dtype, x, y)))
            << suffix << " " << x << " / " << y;
        EXPECT_EQ(rem(x, y), std::get<int64_t>(numeric::evaluate(Fn::rem, dtype, x, y)))
            << suffix << " " << x << " % " << y;
      }
    }
  }
}

TEST(PreludeOnHost, FloatToIntegerSaturates) {
  for (const DType dtype : kIntegers) {
    const std::string suffix = "_" + std::string(to_string(dtype));
    const auto from_f32 = helper<long long(float)>("from_f32" + suffix);
    const auto from_f64 = helper<long long(double)>("from_f64" + suffix);
    for (const float x : special_floats<float>())
      EXPECT_EQ(from_f32(x), std::get<int64_t>(numeric::convert(dtype, DType::f32, x)))
          << suffix << " " << x;
    for (const double x : special_floats<double>())
      EXPECT_EQ(from_f64(x), std::get<int64_t>(numeric::convert(dtype, DType::f64, x)))
          << suffix << " " << x;
  }
}

}  // namespace
}  // namespace tilewright::codegen
