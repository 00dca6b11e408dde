// The host implementations of the device helpers, and that the kernel itself is not changed.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "examples/kernels/matmul.h"
#include "tests/emulate/hand_kernel.h"
#include "tilewright/codegen/prelude.h"
#include "tilewright/runtime/emulator_prelude.h"
#include "tilewright/runtime/hash.h"
#include "tilewright/runtime/numeric.h"

namespace tilewright::testing {
namespace {

using ir::Fn;

TEST(EmulatorTwins, EveryHelperHasOne) {
  for (const codegen::Helper& helper : codegen::helpers())
    EXPECT_TRUE(runtime::has_host_twin(helper))
        << "device helper " << helper.name << " has no host implementation";
}

TEST(EmulatorTwins, TheKernelIsCompiledAsNvrtcGetsIt) {
  const CompiledKernel compiled = examples::matmul.compile(
      {contiguous_spec(DType::f32, {65, 33}), contiguous_spec(DType::f32, {33, 17})},
      parse_target("sm_80"));
  const codegen::KernelStep& step = compiled.plan().steps.at(0).kernel;
  const std::string_view body = runtime::kernel_body(step.source);
  EXPECT_TRUE(body.starts_with("struct Shared {"));
  EXPECT_TRUE(body.ends_with("}\n"));
  EXPECT_NE(body.find("__global__"), body.npos);
  const std::string host = runtime::host_source(step, "/kernel.cu");
  const size_t begin = host.find("\"/kernel.cu\"\n") + std::string_view("\"/kernel.cu\"\n").size();
  const size_t end = host.find("#line 1 \"entry\"\n");
  EXPECT_EQ(runtime::hash_bytes(std::string_view(host).substr(begin, end - begin)),
            runtime::hash_bytes(body));
  EXPECT_TRUE(std::string_view(step.source).ends_with(body));
}

// Values whose treatment the rules spell out, and random bits.
std::vector<float> operands(unsigned seed) {
  std::vector<float> values = {0.0f,       -0.0f,      1.0f,          -1.0f,         0x1p-149f,
                               -0x1p-126f, INFINITY,   -INFINITY,     NAN,           65504.0f,
                               65520.0f,   0x1.004p0f, 2147483648.0f, -2147483904.0f};
  std::mt19937 random(seed);
  std::shuffle(values.begin(), values.end(), random);
  while (values.size() < 4096) {
    const bool any = random() % 2 != 0;
    values.push_back(any ? std::bit_cast<float>(static_cast<uint32_t>(random()))
                         : static_cast<float>(random() / 0x1p31 - 1));
  }
  return values;
}

/// c[i] = expression of x and y, elements of a and b, as a kernel runs it.
std::vector<float> evaluate(const std::string& expression, std::vector<float> a,
                            std::vector<float> b) {
  const HandKernel kernel{.body =
                              "const int i = blockIdx.x * 128 + t;\n"
                              "const float x = a[i], y = b[i];\nc[i] = " +
                              expression + ";\n",
                          .tensors = 3,
                          .written = "c",
                          .threads = 128,
                          .grid = static_cast<int64_t>(a.size()) / 128};
  std::vector<float> c(a.size());
  const auto arg = [](std::vector<float>& v, bool defined) {
    return runtime::EmulatorArgument{v.data(), static_cast<int64_t>(v.size()), DType::f32, true,
                                     defined};
  };
  const auto emulation =
      runtime::emulate(kernel.plan(), std::vector{arg(a, true), arg(b, true), arg(c, false)});
  EXPECT_EQ(emulation.report(), "");
  return c;
}

bool same(float x, float y) {
  return (std::isnan(x) && std::isnan(y)) ||
         std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y);
}

template <class Reference>
void expect_same(const std::string& expression, const Reference& reference) {
  const std::vector<float> a = operands(1), b = operands(2);
  const std::vector<float> c = evaluate(expression, a, b);
  int different = 0;
  for (size_t i = 0; i < a.size() && different < 5; ++i) {
    const float expected = reference(a[i], b[i]);
    if (same(c[i], expected)) continue;
    ++different;
    ADD_FAILURE() << fmt::format("{} of {:a} and {:a} is {:a}, expected {:a}", expression, a[i],
                                 b[i], c[i], expected);
  }
}

float f32_of(const numeric::Element& x) {
  if (const auto* integer = std::get_if<int64_t>(&x)) return static_cast<float>(*integer);
  return std::get<float>(x);
}

TEST(EmulatorTwins, Functions) {
  const std::pair<const char*, Fn> unary[] = {
      {"expf(x)", Fn::exp},     {"exp2f(x)", Fn::exp2},   {"logf(x)", Fn::log},
      {"log2f(x)", Fn::log2},   {"sqrtf(x)", Fn::sqrt},   {"rsqrtf(x)", Fn::rsqrt},
      {"sinf(x)", Fn::sin},     {"cosf(x)", Fn::cos},     {"tanhf(x)", Fn::tanh},
      {"erff(x)", Fn::erf},     {"fabsf(x)", Fn::abs},    {"floorf(x)", Fn::floor},
      {"ceilf(x)", Fn::ceil},   {"rintf(x)", Fn::round},  {"truncf(x)", Fn::trunc},
      {"log10f(x)", Fn::log10}, {"log1pf(x)", Fn::log1p}, {"expm1f(x)", Fn::expm1},
      {"tanf(x)", Fn::tan},     {"asinf(x)", Fn::asin},   {"acosf(x)", Fn::acos},
      {"atanf(x)", Fn::atan},   {"sinhf(x)", Fn::sinh},   {"coshf(x)", Fn::cosh}};
  for (const auto& [text, fn] : unary)
    expect_same(text, [&, fn = fn](float x, float) {
      return f32_of(numeric::evaluate(fn, DType::f32, x));
    });
  const std::pair<const char*, Fn> binary[] = {{"tw::max(x, y)", Fn::max},
                                               {"tw::min(x, y)", Fn::min},
                                               {"fmodf(x, y)", Fn::rem},
                                               {"powf(x, y)", Fn::pow},
                                               {"atan2f(x, y)", Fn::atan2},
                                               {"x / y", Fn::div},
                                               {"[&] { float least = tw::infinity(), "
                                                "q = tw::quotient(x, y, least); return least >= "
                                                "tw::least_quotient(y) ? q : x / y; }()",
                                                Fn::div},
                                               {"(float)tw::max_double(x, y)", Fn::max},
                                               {"(float)tw::min_double(x, y)", Fn::min}};
  for (const auto& [text, fn] : binary)
    expect_same(text, [&, fn = fn](float x, float y) {
      return f32_of(numeric::evaluate(fn, DType::f32, x, y));
    });
  expect_same("fmaf(x, y, x)",
              [](float x, float y) { return f32_of(numeric::fma(DType::f32, x, y, x)); });
}

TEST(EmulatorTwins, Conversions) {
  for (const auto& [dtype, name] : {std::pair{DType::f16, "f16"},
                                    {DType::bf16, "bf16"},
                                    {DType::f8e4m3, "f8e4m3"},
                                    {DType::f8e5m2, "f8e5m2"}}) {
    const auto rounded = [dtype = dtype](double x) {
      return f32_of(numeric::from_double(dtype, x));
    };
    expect_same(fmt::format("tw::to_float(tw::to_{}(x))", name),
                [&](float x, float) { return rounded(x); });
    expect_same(fmt::format("tw::to_float(tw::to_{}(tw::to_odd((double)x * y)))", name),
                [&](float x, float y) { return rounded(static_cast<double>(x) * y); });
    expect_same(
        fmt::format("tw::to_float(tw::to_{}(tw::to_odd(__float_as_uint(x) * 1103515245LL)))", name),
        [&, dtype = dtype](float x, float) {
          return f32_of(numeric::from_int(dtype, std::bit_cast<uint32_t>(x) * 1103515245LL));
        });
    // The sum of a product of two and a third, rounded once.
    const std::string half = fmt::format("tw::to_float(tw::to_{}({{}}))", name);
    const std::string a = fmt::format(fmt::runtime(half), "x"),
                      b = fmt::format(fmt::runtime(half), "y");
    expect_same(fmt::format("tw::to_float(tw::to_{}(tw::fma_odd({}, {}, {})))", name, a, b, a),
                [&, dtype = dtype](float x, float y) {
                  return f32_of(numeric::fma(dtype, rounded(x), rounded(y), rounded(x)));
                });
  }
  const std::pair<const char*, DType> integers[] = {{"signed char", DType::i8},
                                                    {"unsigned char", DType::u8},
                                                    {"short", DType::i16},
                                                    {"int", DType::i32},
                                                    {"long long", DType::i64}};
  for (const auto& [type, dtype] : integers)
    expect_same(fmt::format("(float)tw::to_int<{}>(x)", type), [dtype = dtype](float x, float) {
      return f32_of(numeric::convert(dtype, DType::f32, x));
    });
}

TEST(EmulatorTwins, EveryCodeOfF8) {
  for (const auto& [dtype, name] :
       {std::pair{DType::f8e4m3, "f8e4m3"}, {DType::f8e5m2, "f8e5m2"}}) {
    std::vector<float> codes;
    for (int code = 0; code < 256; ++code) codes.push_back(static_cast<float>(code));
    const std::vector<float> values =
        evaluate(fmt::format("tw::to_float(tw::{}{{(unsigned char)x}})", name), codes, codes);
    const std::vector<float> back = evaluate(
        fmt::format("(float)tw::to_{0}(tw::to_float(tw::{0}{{(unsigned char)x}})).bits", name),
        codes, codes);
    for (int code = 0; code < 256; ++code) {
      const uint8_t bits = static_cast<uint8_t>(code);
      float expected;
      numeric::load_kernel(dtype)(&bits, 1, &expected, 1);
      EXPECT_TRUE(same(values[code], expected)) << name << " " << code << ": " << values[code];
      const int result = std::isnan(expected) ? 0x7f : std::isinf(expected) ? code - 1 : code;
      EXPECT_EQ(back[code], result) << name << " " << code;
    }
  }
}

TEST(EmulatorTwins, Integers) {
  const auto as_int = [](float x) { return static_cast<int64_t>(std::bit_cast<int32_t>(x)); };
  for (const auto& [text, fn] : {std::pair{"tw::div", Fn::div}, {"tw::rem", Fn::rem}})
    expect_same(
        fmt::format("(float){}<int>(__float_as_uint(x), (int)__float_as_uint(y) >> 20)", text),
        [&, fn = fn](float x, float y) {
          return f32_of(numeric::evaluate(fn, DType::i32, as_int(x), as_int(y) >> 20));
        });
  expect_same("(float)tw::abs<int>(__float_as_uint(x))", [&](float x, float) {
    return f32_of(numeric::evaluate(Fn::abs, DType::i32, as_int(x)));
  });
  expect_same("x < y ? tw::infinity() : tw::nan()",
              [](float x, float y) { return x < y ? INFINITY : NAN; });
}

TEST(EmulatorTwins, ShufflesAndTiles) {
  const std::vector<float> a = operands(3), b = operands(4);
  const std::vector<float> exchanged = evaluate("tw::shuffle_xor(x, 5)", a, b);
  const std::vector<float> broadcast = evaluate("tw::shuffle(x, 7)", a, b);
  const std::vector<float> wide = evaluate("(float)tw::shuffle_xor((double)y, 31)", a, b);
  const std::vector<float> rows = evaluate("tw::grouped_tile(i % 35, 5, 7, 2).row", a, b);
  const std::vector<float> cols = evaluate("tw::grouped_tile(i % 35, 5, 7, 2).col", a, b);
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(same(exchanged[i], a[i ^ 5])) << i;
    EXPECT_TRUE(same(broadcast[i], a[i / 32 * 32 + 7])) << i;
    EXPECT_TRUE(same(wide[i], b[i ^ 31])) << i;
    const int id = static_cast<int>(i % 35), first = id / 14 * 2, height = std::min(5 - first, 2);
    EXPECT_EQ(rows[i], first + id % 14 % height) << i;
    EXPECT_EQ(cols[i], id % 14 / height) << i;
  }
}

}  // namespace
}  // namespace tilewright::testing
