// Elementwise functions, conversions and constants as CUDA expressions. That they compile is tested
// with NVRTC, what they compute on a GPU.
#include "tilewright/codegen/function_exprs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tilewright/codegen/print_cuda_expr.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using ir::Fn;

std::string text(const ExprRef& x) { return expr_text(*x); }
ExprRef x() { return name("x"); }
ExprRef y() { return name("y"); }
std::string unary_text(Fn fn, DType dtype) { return text(fn_expr(fn, dtype, {x()})); }
std::string binary_text(Fn fn, DType dtype) { return text(fn_expr(fn, dtype, {x(), y()})); }
std::string cast_text(DType from, DType to) { return text(cast_expr(x(), from, to)); }

TEST(FunctionExprs, FloatsAreWrittenPlainly) {
  EXPECT_EQ(binary_text(Fn::add, DType::f32), "x + y");
  EXPECT_EQ(binary_text(Fn::div, DType::f64), "x / y");
  EXPECT_EQ(unary_text(Fn::exp, DType::f32), "expf(x)");
  EXPECT_EQ(unary_text(Fn::exp, DType::f64), "exp(x)");
  EXPECT_EQ(binary_text(Fn::max, DType::f32), "tw::max(x, y)");
  EXPECT_EQ(binary_text(Fn::max, DType::f64), "tw::max_double(x, y)");
  EXPECT_EQ(binary_text(Fn::rem, DType::f32), "fmodf(x, y)");
  EXPECT_EQ(text(fma_expr(DType::f32, x(), y(), name("z"))), "fmaf(x, y, z)");
}

TEST(FunctionExprs, FloatConstantsAreNotFolded) {
  EXPECT_EQ(text(fn_expr(Fn::add, DType::f32, {x(), real(0)})), "x + 0.0f") << "x may be -0";
  EXPECT_EQ(text(fn_expr(Fn::mul, DType::f32, {x(), real(0)})), "x * 0.0f") << "x may be NaN";
  EXPECT_EQ(text(fn_expr(Fn::sub, DType::f32, {x(), x()})), "x - x") << "x may be infinite";
  EXPECT_EQ(text(fn_expr(Fn::lt, DType::f32, {x(), x()})), "x < x");
}

TEST(FunctionExprs, NarrowFloatsRoundAfterEachOperation) {
  EXPECT_EQ(binary_text(Fn::mul, DType::f8e4m3),
            "tw::to_f8e4m3(tw::to_float(x) * tw::to_float(y))");
  EXPECT_EQ(unary_text(Fn::neg, DType::f8e5m2), "tw::to_f8e5m2(-tw::to_float(x))");
  EXPECT_EQ(binary_text(Fn::add, DType::bf16), "tw::to_bf16(tw::to_float(x) + tw::to_float(y))");
  EXPECT_EQ(unary_text(Fn::sqrt, DType::f16), "tw::to_f16(sqrtf(tw::to_float(x)))");
  EXPECT_EQ(binary_text(Fn::lt, DType::f16), "tw::to_float(x) < tw::to_float(y)");
  EXPECT_EQ(text(fma_expr(DType::f16, x(), y(), name("z"))),
            "tw::to_f16(tw::fma_odd(tw::to_float(x), tw::to_float(y), tw::to_float(z)))");
}

TEST(FunctionExprs, IntegersWrapWithoutUndefinedBehaviour) {
  EXPECT_EQ(binary_text(Fn::add, DType::i32), "(int)((unsigned)x + y)");
  EXPECT_EQ(binary_text(Fn::mul, DType::i64), "(long long)((unsigned long long)x * y)");
  EXPECT_EQ(binary_text(Fn::sub, DType::i8), "(signed char)(x - y)");
  EXPECT_EQ(unary_text(Fn::neg, DType::i32), "(int)(0u - x)");
  EXPECT_EQ(unary_text(Fn::neg, DType::i16), "(short)-x");
  EXPECT_EQ(unary_text(Fn::abs, DType::i8), "tw::abs<signed char>(x)");
  EXPECT_EQ(unary_text(Fn::abs, DType::u8), "x");
  EXPECT_EQ(unary_text(Fn::bit_not, DType::u8), "(unsigned char)~x");
  EXPECT_EQ(binary_text(Fn::div, DType::i32), "tw::div<int>(x, y)");
  EXPECT_EQ(binary_text(Fn::rem, DType::i64), "tw::rem<long long>(x, y)");
  EXPECT_EQ(binary_text(Fn::max, DType::i32), "max(x, y)");
  EXPECT_EQ(binary_text(Fn::min, DType::i64), "min((long long)x, (long long)y)");
  EXPECT_EQ(binary_text(Fn::shl, DType::i32), "(int)((unsigned)x << (y & 31))");
  EXPECT_EQ(binary_text(Fn::shr, DType::i64), "x >> (y & 63)");
  EXPECT_EQ(text(fma_expr(DType::i32, x(), y(), name("z"))), "(int)((unsigned)x * y + z)");
}

TEST(FunctionExprs, BooleansAreOneBit) {
  EXPECT_EQ(binary_text(Fn::bit_and, DType::boolean), "x && y");
  EXPECT_EQ(binary_text(Fn::max, DType::boolean), "x || y");
  EXPECT_EQ(binary_text(Fn::bit_xor, DType::boolean), "x != y");
  EXPECT_EQ(unary_text(Fn::bit_not, DType::boolean), "!x");
  EXPECT_EQ(binary_text(Fn::shl, DType::boolean), "x");
}

TEST(FunctionExprs, RefusesWhatTheFunctionDoesNotTake) {
  EXPECT_THROW(unary_text(Fn::exp, DType::i32), InternalError);
  EXPECT_THROW(binary_text(Fn::add, DType::boolean), InternalError);
  EXPECT_THROW(fn_expr(Fn::add, DType::f32, {x()}), InternalError);
}

/// How often the variable x occurs.
int uses(const Expr& e) {
  int count = e.kind == Expr::Kind::name && e.text == "x";
  for (const ExprRef& arg : e.args) count += uses(*arg);
  return count;
}

TEST(FunctionExprs, EveryFunctionTakesEveryDTypeItAcceptsAndUsesOperandsOnce) {
  for (int f = 0; f <= static_cast<int>(Fn::ge); ++f)
    for (int d = 0; d < kDTypeCount; ++d) {
      const Fn fn = static_cast<Fn>(f);
      const DType dtype = static_cast<DType>(d);
      if (!ir::accepts(fn, dtype)) continue;
      std::vector<ExprRef> args = {x()};
      if (ir::info(fn).kind != ir::FnKind::unary) args.push_back(y());
      EXPECT_EQ(uses(*fn_expr(fn, dtype, args)), 1) << ir::info(fn).name << to_string(dtype);
    }
}

TEST(CastExprs, RoundOnce) {
  EXPECT_EQ(cast_text(DType::f32, DType::f32), "x");
  EXPECT_EQ(cast_text(DType::f64, DType::f32), "(float)x");
  EXPECT_EQ(cast_text(DType::f32, DType::bf16), "tw::to_bf16(x)");
  EXPECT_EQ(cast_text(DType::bf16, DType::f32), "tw::to_float(x)");
  EXPECT_EQ(cast_text(DType::bf16, DType::f64), "(double)tw::to_float(x)");
  EXPECT_EQ(cast_text(DType::f16, DType::bf16), "tw::to_bf16(tw::to_float(x))");
  EXPECT_EQ(cast_text(DType::f64, DType::f16), "tw::to_f16(tw::to_odd(x))");
  EXPECT_EQ(cast_text(DType::f8e4m3, DType::f8e5m2), "tw::to_f8e5m2(tw::to_float(x))");
  EXPECT_EQ(cast_text(DType::f8e5m2, DType::f32), "tw::to_float(x)");
  EXPECT_EQ(cast_text(DType::i32, DType::f8e4m3), "tw::to_f8e4m3(tw::to_odd((int)x))");
  EXPECT_EQ(cast_text(DType::i16, DType::f16), "tw::to_f16((float)x)");
  EXPECT_EQ(cast_text(DType::i64, DType::f16), "tw::to_f16(tw::to_odd((long long)x))");
  EXPECT_EQ(cast_text(DType::i64, DType::f32), "(float)x");
}

TEST(CastExprs, SaturateWrapAndTest) {
  EXPECT_EQ(cast_text(DType::f32, DType::i8), "tw::to_int<signed char>(x)");
  EXPECT_EQ(cast_text(DType::f16, DType::i64), "tw::to_int<long long>(tw::to_float(x))");
  EXPECT_EQ(cast_text(DType::f8e4m3, DType::i8), "tw::to_int<signed char>(tw::to_float(x))");
  EXPECT_EQ(cast_text(DType::i64, DType::i32), "(int)x");
  EXPECT_EQ(cast_text(DType::i32, DType::boolean), "x != 0");
  EXPECT_EQ(cast_text(DType::f64, DType::boolean), "x != 0.0");
  EXPECT_EQ(cast_text(DType::bf16, DType::boolean), "tw::to_float(x) != 0.0f");
  EXPECT_EQ(cast_text(DType::boolean, DType::f32), "(float)x");
}

TEST(ConstantExprs, ConvertAsCastsDo) {
  EXPECT_EQ(text(constant_expr(1.5, DType::f32)), "1.5f");
  EXPECT_EQ(text(constant_expr(1.5, DType::bf16)), "tw::to_bf16(1.5f)");
  EXPECT_EQ(text(constant_expr(0.0, DType::f16)), "tw::f16{}");
  EXPECT_EQ(text(constant_expr(0.0, DType::f8e4m3)), "tw::f8e4m3{}");
  EXPECT_EQ(text(constant_expr(448.0, DType::f8e4m3)), "tw::to_f8e4m3(448.0f)");
  EXPECT_EQ(text(constant_expr(-0.0, DType::f16)), "tw::to_f16(-0.0f)");
  // Half way between two f16 and a little more, which float cannot hold.
  EXPECT_EQ(text(constant_expr(1 + 0x1p-11 + 0x1p-40, DType::f16)),
            "tw::to_f16(tw::to_odd(1.0004882812509095))");
  EXPECT_EQ(text(constant_expr(HUGE_VAL, DType::bf16)), "tw::to_bf16(tw::infinity())");
  EXPECT_EQ(text(constant_expr(300.0, DType::i8)), "127");
  EXPECT_EQ(text(constant_expr(-1e30, DType::i64)), "(-9223372036854775807LL - 1)");
  EXPECT_EQ(text(constant_expr(double{NAN}, DType::i32)), "0");
  EXPECT_EQ(text(constant_expr(2.9, DType::u8)), "2");
  EXPECT_EQ(text(constant_expr(-3.0, DType::u8)), "0");
  EXPECT_EQ(text(constant_expr(0.5, DType::boolean)), "true");
  EXPECT_EQ(text(constant_expr(int64_t{300}, DType::i8)), "44");
  EXPECT_EQ(text(constant_expr(int64_t{3}, DType::i64)), "3LL");
  EXPECT_EQ(text(constant_expr(int64_t{7}, DType::f32)), "7.0f");
  EXPECT_EQ(text(constant_expr((int64_t{1} << 60) + 1, DType::bf16)),
            "tw::to_bf16(tw::to_odd(1152921504606846977LL))");
}

TEST(ConstantExprs, IdentitiesOfReductions) {
  EXPECT_EQ(text(identity_expr(Fn::max, DType::f32)), "-tw::infinity()");
  EXPECT_EQ(text(identity_expr(Fn::max, DType::i32)), "(-2147483647 - 1)");
  EXPECT_EQ(text(identity_expr(Fn::max, DType::u8)), "0");
  EXPECT_EQ(text(identity_expr(Fn::max, DType::boolean)), "false");
  EXPECT_EQ(text(identity_expr(Fn::min, DType::boolean)), "true");
  EXPECT_EQ(text(identity_expr(Fn::min, DType::i64)), "9223372036854775807LL");
  EXPECT_EQ(text(identity_expr(Fn::bit_and, DType::u8)), "255");
  EXPECT_EQ(text(identity_expr(Fn::add, DType::f64)), "0.0");
  EXPECT_EQ(text(identity_expr(Fn::mul, DType::i16)), "1");
}

}  // namespace
}  // namespace tilewright::codegen
