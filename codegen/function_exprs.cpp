#include "tilewright/codegen/function_exprs.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>

#include "tilewright/codegen/kernel_ir_fold.h"
#include "tilewright/codegen/prelude.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using ir::Fn;
using Args = std::vector<ExprRef>;

/// How a function is written on float and on double: a C operator or two function names.
struct FloatForm {
  const char* op;
  const char* on_float;
  const char* on_double;
};

const std::map<Fn, FloatForm>& float_forms() {
  static const std::map<Fn, FloatForm> table = {{Fn::neg, {"-", nullptr, nullptr}},
                                                {Fn::abs, {nullptr, "fabsf", "fabs"}},
                                                {Fn::exp, {nullptr, "expf", "exp"}},
                                                {Fn::exp2, {nullptr, "exp2f", "exp2"}},
                                                {Fn::log, {nullptr, "logf", "log"}},
                                                {Fn::log2, {nullptr, "log2f", "log2"}},
                                                {Fn::log10, {nullptr, "log10f", "log10"}},
                                                {Fn::log1p, {nullptr, "log1pf", "log1p"}},
                                                {Fn::expm1, {nullptr, "expm1f", "expm1"}},
                                                {Fn::sqrt, {nullptr, "sqrtf", "sqrt"}},
                                                {Fn::rsqrt, {nullptr, "rsqrtf", "rsqrt"}},
                                                {Fn::sin, {nullptr, "sinf", "sin"}},
                                                {Fn::cos, {nullptr, "cosf", "cos"}},
                                                {Fn::tan, {nullptr, "tanf", "tan"}},
                                                {Fn::asin, {nullptr, "asinf", "asin"}},
                                                {Fn::acos, {nullptr, "acosf", "acos"}},
                                                {Fn::atan, {nullptr, "atanf", "atan"}},
                                                {Fn::sinh, {nullptr, "sinhf", "sinh"}},
                                                {Fn::cosh, {nullptr, "coshf", "cosh"}},
                                                {Fn::tanh, {nullptr, "tanhf", "tanh"}},
                                                {Fn::erf, {nullptr, "erff", "erf"}},
                                                {Fn::floor, {nullptr, "floorf", "floor"}},
                                                {Fn::ceil, {nullptr, "ceilf", "ceil"}},
                                                {Fn::round, {nullptr, "rintf", "rint"}},
                                                {Fn::trunc, {nullptr, "truncf", "trunc"}},
                                                {Fn::add, {"+", nullptr, nullptr}},
                                                {Fn::sub, {"-", nullptr, nullptr}},
                                                {Fn::mul, {"*", nullptr, nullptr}},
                                                {Fn::div, {"/", nullptr, nullptr}},
                                                {Fn::rem, {nullptr, "fmodf", "fmod"}},
                                                {Fn::min, {nullptr, "tw::min", "tw::min_double"}},
                                                {Fn::max, {nullptr, "tw::max", "tw::max_double"}},
                                                {Fn::pow, {nullptr, "powf", "pow"}},
                                                {Fn::atan2, {nullptr, "atan2f", "atan2"}}};
  return table;
}

const char* compare_operator(Fn fn) {
  static const std::map<Fn, const char*> table = {{Fn::eq, "=="}, {Fn::ne, "!="}, {Fn::lt, "<"},
                                                  {Fn::le, "<="}, {Fn::gt, ">"},  {Fn::ge, ">="}};
  return table.at(fn);
}

ExprRef to_float(ExprRef x) { return call("tw::to_float", {std::move(x)}); }

/// A float as a narrow type.
ExprRef to_narrow(DType dtype, ExprRef x) {
  return call(fmt::format("tw::to_{}", to_string(dtype)), {std::move(x)});
}

/// On float or double; nothing is folded, since the rules of indices do not hold.
ExprRef float_fn(Fn fn, DType dtype, const Args& args) {
  const FloatForm& form = float_forms().at(fn);
  if (!form.op) return call(dtype == DType::f64 ? form.on_double : form.on_float, args);
  return args.size() == 1 ? unary(form.op, args[0]) : fold::raw_binary(form.op, args[0], args[1]);
}

ExprRef narrow_fn(Fn fn, DType dtype, Args args) {
  for (ExprRef& arg : args) arg = to_float(std::move(arg));
  return to_narrow(dtype, float_fn(fn, DType::f32, args));
}

ExprRef boolean_fn(Fn fn, const Args& args) {
  switch (fn) {
    case Fn::bit_not:
      return unary("!", args[0]);
    case Fn::min:
    case Fn::bit_and:
      return fold::raw_binary("&&", args[0], args[1]);
    case Fn::max:
    case Fn::bit_or:
      return fold::raw_binary("||", args[0], args[1]);
    case Fn::bit_xor:
      return fold::raw_binary("!=", args[0], args[1]);
    case Fn::shl:
    case Fn::shr:
      return args[0];  // one bit wide: every count is masked to 0
    default:
      throw InternalError("fn_expr: not a function of bool");
  }
}

bool is_wide(DType dtype) { return dtype == DType::i32 || dtype == DType::i64; }

/// The unsigned type in which arithmetic of i32 and i64 wraps, where signed overflow is undefined.
std::string unsigned_type(DType dtype) {
  return dtype == DType::i64 ? "unsigned long long" : "unsigned";
}

ExprRef unsigned_zero(DType dtype) { return name(dtype == DType::i64 ? "0ull" : "0u"); }

/// x op y modulo the width of the dtype. Narrow types compute in int, which holds every result.
ExprRef wrapping(const std::string& op, DType dtype, ExprRef x, ExprRef y) {
  if (is_wide(dtype)) x = cast(unsigned_type(dtype), std::move(x));
  return cast(cuda_type(dtype), fold::raw_binary(op, std::move(x), std::move(y)));
}

ExprRef shift(Fn fn, DType dtype, const ExprRef& x, const ExprRef& count) {
  const ExprRef masked = binary("&", count, integer(8 * size_of(dtype) - 1));
  if (fn == Fn::shr) return fold::raw_binary(">>", x, masked);
  return cast(cuda_type(dtype), fold::raw_binary("<<", cast(unsigned_type(dtype), x), masked));
}

/// Operands of the overloaded built-in min and max must have one type.
ExprRef extremum(Fn fn, DType dtype, Args args) {
  for (ExprRef& arg : args)
    if (dtype == DType::i64 && arg->dtype != DType::i64) arg = cast("long long", arg);
  return call(fn == Fn::min ? "min" : "max", std::move(args));
}

ExprRef integer_fn(Fn fn, DType dtype, const Args& args) {
  const std::string type = cuda_type(dtype);
  switch (fn) {
    case Fn::neg:
      return cast(type, is_wide(dtype) ? fold::raw_binary("-", unsigned_zero(dtype), args[0])
                                       : unary("-", args[0]));
    case Fn::abs:
      return dtype == DType::u8 ? args[0] : call("tw::abs<" + type + ">", args);
    case Fn::bit_not:
      return cast(type, unary("~", args[0]));
    case Fn::add:
      return wrapping("+", dtype, args[0], args[1]);
    case Fn::sub:
      return wrapping("-", dtype, args[0], args[1]);
    case Fn::mul:
      return wrapping("*", dtype, args[0], args[1]);
    case Fn::div:
      return call("tw::div<" + type + ">", args);
    case Fn::rem:
      return call("tw::rem<" + type + ">", args);
    case Fn::min:
    case Fn::max:
      return extremum(fn, dtype, args);
    case Fn::bit_and:
      return fold::raw_binary("&", args[0], args[1]);
    case Fn::bit_or:
      return fold::raw_binary("|", args[0], args[1]);
    case Fn::bit_xor:
      return fold::raw_binary("^", args[0], args[1]);
    case Fn::shl:
    case Fn::shr:
      return shift(fn, dtype, args[0], args[1]);
    default:
      throw InternalError("fn_expr: not a function of integers");
  }
}

ExprRef integer_to_float(ExprRef x, DType from, DType to) {
  if (!is_narrow_float(to)) return cast(cuda_type(to), std::move(x));
  // i32 and i64 values need more digits than float has, and must be rounded once only.
  if (is_wide(from))
    return to_narrow(to, call("tw::to_odd", {cast(cuda_type(from), std::move(x))}));
  return to_narrow(to, cast("float", std::move(x)));
}

ExprRef float_to_float(ExprRef x, DType from, DType to) {
  if (from == DType::f64 && is_narrow_float(to))
    return to_narrow(to, call("tw::to_odd", {std::move(x)}));
  if (is_narrow_float(from)) x = to_float(std::move(x));
  if (is_narrow_float(to)) return to_narrow(to, std::move(x));
  if (is_narrow_float(from) && to == DType::f32) return x;
  return cast(cuda_type(to), std::move(x));
}

int bits_of(DType dtype) { return dtype == DType::boolean ? 1 : 8 * size_of(dtype); }
bool is_unsigned(DType dtype) { return dtype == DType::u8 || dtype == DType::boolean; }

int64_t highest(DType dtype) {
  return static_cast<int64_t>(~uint64_t{0} >> (64 - bits_of(dtype) + !is_unsigned(dtype)));
}
int64_t lowest(DType dtype) { return is_unsigned(dtype) ? 0 : -highest(dtype) - 1; }

int64_t saturated(double value, DType dtype) {
  if (std::isnan(value)) return 0;
  if (value >= std::ldexp(1.0, bits_of(dtype) - !is_unsigned(dtype))) return highest(dtype);
  if (value <= static_cast<double>(lowest(dtype))) return lowest(dtype);
  return static_cast<int64_t>(value);
}

/// A constant of a narrow type: a literal where one float rounds to it as the double would.
ExprRef narrow_constant(double value, DType dtype) {
  if (value == 0 && !std::signbit(value)) return name(cuda_type(dtype) + "{}");
  const double single = static_cast<float>(value);
  if (single == value || std::isnan(value)) return to_narrow(dtype, real(value));
  return to_narrow(dtype, call("tw::to_odd", {real(value, DType::f64)}));
}

}  // namespace

ExprRef fn_expr(Fn fn, DType dtype, std::vector<ExprRef> args) {
  const ir::FnKind kind = ir::info(fn).kind;
  internal_check(ir::accepts(fn, dtype), "fn_expr: the function does not take this dtype");
  internal_check(args.size() == (kind == ir::FnKind::unary ? 1u : 2u),
                 "fn_expr: wrong number of operands");
  if (kind == ir::FnKind::compare) {
    if (is_narrow_float(dtype))
      for (ExprRef& arg : args) arg = to_float(std::move(arg));
    return fold::raw_binary(compare_operator(fn), args[0], args[1]);
  }
  if (is_narrow_float(dtype)) return narrow_fn(fn, dtype, std::move(args));
  if (is_float(dtype)) return float_fn(fn, dtype, args);
  return dtype == DType::boolean ? boolean_fn(fn, args) : integer_fn(fn, dtype, args);
}

ExprRef quotient_expr(DType dtype, ExprRef x, ExprRef y) {
  if (is_narrow_float(dtype))
    return to_narrow(dtype,
                     quotient_expr(DType::f32, to_float(std::move(x)), to_float(std::move(y))));
  if (dtype != DType::f32) return fn_expr(Fn::div, dtype, {std::move(x), std::move(y)});
  return call("tw::quotient", {std::move(x), std::move(y)});
}

ExprRef fma_expr(DType dtype, ExprRef x, ExprRef y, ExprRef z) {
  if (is_narrow_float(dtype))
    return to_narrow(dtype, call("tw::fma_odd", {to_float(x), to_float(y), to_float(z)}));
  if (is_float(dtype)) return call(dtype == DType::f64 ? "fma" : "fmaf", {x, y, z});
  internal_check(dtype != DType::boolean, "fma_expr: not a function of bool");
  // Narrow products plus a narrow term stay within int.
  if (is_wide(dtype)) x = cast(unsigned_type(dtype), std::move(x));
  return cast(cuda_type(dtype), fold::raw_binary("+", fold::raw_binary("*", x, y), z));
}

ExprRef cast_expr(ExprRef x, DType from, DType to) {
  if (from == to) return x;
  if (to == DType::boolean) {
    if (is_narrow_float(from)) x = to_float(std::move(x));
    const ExprRef zero =
        is_float(from) ? real(0, from == DType::f64 ? DType::f64 : DType::f32) : integer(0);
    return fold::raw_binary("!=", std::move(x), zero);
  }
  if (!is_float(from))
    return is_float(to) ? integer_to_float(std::move(x), from, to)
                        : cast(cuda_type(to), std::move(x));
  if (is_float(to)) return float_to_float(std::move(x), from, to);
  if (is_narrow_float(from)) x = to_float(std::move(x));
  return call("tw::to_int<" + cuda_type(to) + ">", {std::move(x)});
}

ExprRef constant_expr(double value, DType dtype) {
  if (is_narrow_float(dtype)) return narrow_constant(value, dtype);
  if (is_float(dtype)) return real(value, dtype);
  if (dtype == DType::boolean) return name(value != 0 ? "true" : "false");
  return integer(saturated(value, dtype), dtype == DType::i64 ? DType::i64 : DType::i32);
}

ExprRef constant_expr(int64_t value, DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return name(value != 0 ? "true" : "false");
    case DType::i8:
      return integer(static_cast<int8_t>(value));
    case DType::u8:
      return integer(static_cast<uint8_t>(value));
    case DType::i16:
      return integer(static_cast<int16_t>(value));
    case DType::i32:
      return integer(static_cast<int32_t>(value));
    case DType::i64:
      return integer(value, DType::i64);
    case DType::f32:
      return real(static_cast<float>(value));
    default:
      break;
  }
  const double rounded = static_cast<double>(value);
  // Compared in long double, which holds every int64.
  if (is_narrow_float(dtype) &&
      static_cast<long double>(rounded) != static_cast<long double>(value))
    return to_narrow(dtype, call("tw::to_odd", {integer(value, DType::i64)}));
  return constant_expr(rounded, dtype);
}

ExprRef identity_expr(Fn fn, DType dtype) {
  if (fn == Fn::bit_and) return constant_expr(int64_t{-1}, dtype);
  if (fn == Fn::max && dtype == DType::boolean) return constant_expr(int64_t{0}, dtype);
  return constant_expr(ir::identity_of(fn), dtype);
}

}  // namespace tilewright::codegen
