#include "tilewright/dsl/ops.h"

#include <limits>

#include "tilewright/dsl/elementwise.h"
#include "tilewright/dsl/trace.h"

namespace tilewright {
namespace {

using dsl::builder_at;
using dsl::tile_of;
using ir::Fn;
using ir::Value;

/// Two operands brought to one dtype and shape.
struct Pair {
  const Value *x, *y;
};

Pair unify(std::string_view what, const Operand& x, const Operand& y, Loc loc) {
  builder_at(what, loc);
  const DType dtype = dsl::common_dtype(what, {&x, &y}, loc);
  const Value* a = dsl::materialize(x, dtype, loc);
  const Value* b = dsl::materialize(y, dtype, loc);
  const ir::Shape shape = dsl::common_shape(what, {a, b}, loc);
  return {dsl::broadcast(a, shape), dsl::broadcast(b, shape)};
}

Tile binary(Fn fn, const Operand& x, const Operand& y, Loc loc) {
  const Pair pair = unify(ir::info(fn).name, x, y, loc);
  dsl::expect_accepts(fn, pair.x->type.dtype, loc);
  return tile_of(builder_at(ir::info(fn).name, loc).binary(fn, pair.x, pair.y), loc);
}

Tile compare(Fn fn, const Operand& x, const Operand& y, Loc loc) {
  const Pair pair = unify(ir::info(fn).name, x, y, loc);
  return tile_of(builder_at(ir::info(fn).name, loc).compare(fn, pair.x, pair.y), loc);
}

Tile logical(std::string_view what, Fn fn, const Operand& x, const Operand& y, Loc loc) {
  const Pair pair = unify(what, x, y, loc);
  dsl::expect_bool(what, pair.x->type.dtype, loc);
  return tile_of(builder_at(what, loc).binary(fn, pair.x, pair.y), loc);
}

Tile unary(Fn fn, const Operand& x, Loc loc) {
  ir::Builder& builder = builder_at(ir::info(fn).name, loc);
  const DType dtype = dsl::common_dtype(ir::info(fn).name, {&x}, loc);
  dsl::expect_accepts(fn, dtype, loc);
  return tile_of(builder.unary(fn, x.value()), loc);
}

/// Applies a composed function in f32 where x is of a narrower type, rounding once.
template <class Compose>
Tile in_f32(std::string_view what, const Operand& x, Loc loc, const Compose& compose) {
  const DType dtype = dsl::common_dtype(what, {&x}, loc);
  if (!is_narrow_float(dtype)) return compose(x);
  return cast({compose({cast(x, f32, loc), loc}), loc}, dtype, loc);
}

/// The later operand's line is the nearer to an operator on a line of its own.
Loc loc_of(const Operand& x, const Operand& y) { return y.loc().known() ? y.loc() : x.loc(); }

}  // namespace

Tile operator+(const Operand& x, const Operand& y) { return binary(Fn::add, x, y, loc_of(x, y)); }
Tile operator-(const Operand& x, const Operand& y) { return binary(Fn::sub, x, y, loc_of(x, y)); }
Tile operator*(const Operand& x, const Operand& y) { return binary(Fn::mul, x, y, loc_of(x, y)); }
Tile operator/(const Operand& x, const Operand& y) { return binary(Fn::div, x, y, loc_of(x, y)); }
Tile operator%(const Operand& x, const Operand& y) { return binary(Fn::rem, x, y, loc_of(x, y)); }
Tile operator&(const Operand& x, const Operand& y) {
  return binary(Fn::bit_and, x, y, loc_of(x, y));
}
Tile operator|(const Operand& x, const Operand& y) {
  return binary(Fn::bit_or, x, y, loc_of(x, y));
}
Tile operator^(const Operand& x, const Operand& y) {
  return binary(Fn::bit_xor, x, y, loc_of(x, y));
}
Tile operator<<(const Operand& x, const Operand& y) { return binary(Fn::shl, x, y, loc_of(x, y)); }
Tile operator>>(const Operand& x, const Operand& y) { return binary(Fn::shr, x, y, loc_of(x, y)); }
Tile operator-(const Operand& x) { return unary(Fn::neg, x, x.loc()); }
Tile operator~(const Operand& x) { return unary(Fn::bit_not, x, x.loc()); }

Tile operator==(const Operand& x, const Operand& y) { return compare(Fn::eq, x, y, loc_of(x, y)); }
Tile operator!=(const Operand& x, const Operand& y) { return compare(Fn::ne, x, y, loc_of(x, y)); }
Tile operator<(const Operand& x, const Operand& y) { return compare(Fn::lt, x, y, loc_of(x, y)); }
Tile operator<=(const Operand& x, const Operand& y) { return compare(Fn::le, x, y, loc_of(x, y)); }
Tile operator>(const Operand& x, const Operand& y) { return compare(Fn::gt, x, y, loc_of(x, y)); }
Tile operator>=(const Operand& x, const Operand& y) { return compare(Fn::ge, x, y, loc_of(x, y)); }

namespace {

Loc last_loc() {
  const dsl::Trace* trace = dsl::Trace::active();
  return trace == nullptr ? Loc{} : trace->last_loc();
}
Operand operand(const Tile& x) { return {x, last_loc()}; }
const Operand& operand(const Operand& x) { return x; }

template <class X, class Y>
Tile both(const X& x, const Y& y) {
  return logical("&&", Fn::bit_and, operand(x), operand(y), last_loc());
}
template <class X, class Y>
Tile either(const X& x, const Y& y) {
  return logical("||", Fn::bit_or, operand(x), operand(y), last_loc());
}

}  // namespace

Tile operator&&(const Tile& x, const Tile& y) { return both(x, y); }
Tile operator&&(const Tile& x, const Operand& y) { return both(x, y); }
Tile operator&&(const Operand& x, const Tile& y) { return both(x, y); }
Tile operator||(const Tile& x, const Tile& y) { return either(x, y); }
Tile operator||(const Tile& x, const Operand& y) { return either(x, y); }
Tile operator||(const Operand& x, const Tile& y) { return either(x, y); }
Tile operator!(const Tile& x) {
  const Operand value = operand(x);
  dsl::expect_bool("!", value.value()->type.dtype, value.loc());
  return unary(Fn::bit_not, value, value.loc());
}

Tile abs(const Operand& x, Loc loc) { return unary(Fn::abs, x, loc); }
Tile exp(const Operand& x, Loc loc) { return unary(Fn::exp, x, loc); }
Tile exp2(const Operand& x, Loc loc) { return unary(Fn::exp2, x, loc); }
Tile log(const Operand& x, Loc loc) { return unary(Fn::log, x, loc); }
Tile log2(const Operand& x, Loc loc) { return unary(Fn::log2, x, loc); }
Tile log10(const Operand& x, Loc loc) { return unary(Fn::log10, x, loc); }
Tile log1p(const Operand& x, Loc loc) { return unary(Fn::log1p, x, loc); }
Tile expm1(const Operand& x, Loc loc) { return unary(Fn::expm1, x, loc); }
Tile sqrt(const Operand& x, Loc loc) { return unary(Fn::sqrt, x, loc); }
Tile rsqrt(const Operand& x, Loc loc) { return unary(Fn::rsqrt, x, loc); }
Tile sin(const Operand& x, Loc loc) { return unary(Fn::sin, x, loc); }
Tile cos(const Operand& x, Loc loc) { return unary(Fn::cos, x, loc); }
Tile tan(const Operand& x, Loc loc) { return unary(Fn::tan, x, loc); }
Tile asin(const Operand& x, Loc loc) { return unary(Fn::asin, x, loc); }
Tile acos(const Operand& x, Loc loc) { return unary(Fn::acos, x, loc); }
Tile atan(const Operand& x, Loc loc) { return unary(Fn::atan, x, loc); }
Tile atan2(const Operand& y, const Operand& x, Loc loc) { return binary(Fn::atan2, y, x, loc); }
Tile sinh(const Operand& x, Loc loc) { return unary(Fn::sinh, x, loc); }
Tile cosh(const Operand& x, Loc loc) { return unary(Fn::cosh, x, loc); }
Tile tanh(const Operand& x, Loc loc) { return unary(Fn::tanh, x, loc); }
Tile erf(const Operand& x, Loc loc) { return unary(Fn::erf, x, loc); }
Tile floor(const Operand& x, Loc loc) { return unary(Fn::floor, x, loc); }
Tile ceil(const Operand& x, Loc loc) { return unary(Fn::ceil, x, loc); }
Tile round(const Operand& x, Loc loc) { return unary(Fn::round, x, loc); }
Tile trunc(const Operand& x, Loc loc) { return unary(Fn::trunc, x, loc); }
Tile pow(const Operand& x, const Operand& y, Loc loc) { return binary(Fn::pow, x, y, loc); }
Tile min(const Operand& x, const Operand& y, Loc loc) { return binary(Fn::min, x, y, loc); }
Tile max(const Operand& x, const Operand& y, Loc loc) { return binary(Fn::max, x, y, loc); }
Tile minimum(const Operand& x, const Operand& y, Loc loc) { return binary(Fn::min, x, y, loc); }
Tile maximum(const Operand& x, const Operand& y, Loc loc) { return binary(Fn::max, x, y, loc); }

Tile fma(const Operand& x, const Operand& y, const Operand& z, Loc loc) {
  ir::Builder& builder = builder_at("fma", loc);
  const DType dtype = dsl::common_dtype("fma", {&x, &y, &z}, loc);
  if (!is_float(dtype)) raise(ErrorId::function_dtype, loc, "fma", "float", to_string(dtype));
  const Value* a = dsl::materialize(x, dtype, loc);
  const Value* b = dsl::materialize(y, dtype, loc);
  const Value* c = dsl::materialize(z, dtype, loc);
  const ir::Shape shape = dsl::common_shape("fma", {a, b, c}, loc);
  return tile_of(
      builder.fma(dsl::broadcast(a, shape), dsl::broadcast(b, shape), dsl::broadcast(c, shape)),
      loc);
}

Tile where(const Operand& condition, const Operand& x, const Operand& y, Loc loc) {
  ir::Builder& builder = builder_at("where", loc);
  const Value* c = dsl::materialize(condition, DType::boolean, loc);
  dsl::expect_bool("where's condition", c->type.dtype, loc);
  const DType dtype = dsl::common_dtype("where", {&x, &y}, loc);
  const Value* a = dsl::materialize(x, dtype, loc);
  const Value* b = dsl::materialize(y, dtype, loc);
  const ir::Shape shape = dsl::common_shape("where", {c, a, b}, loc);
  return tile_of(
      builder.select(dsl::broadcast(c, shape), dsl::broadcast(a, shape), dsl::broadcast(b, shape)),
      loc);
}

Tile cast(const Operand& x, DType dtype, Loc loc) {
  ir::Builder& builder = builder_at("cast", loc);
  return tile_of(builder.cast(dsl::materialize(x, dtype, loc), dtype), loc);
}

Tile clamp(const Operand& x, const Operand& low, const Operand& high, Loc loc) {
  return min({max(x, low, loc), loc}, high, loc);
}

namespace {

/// A bool tile of x's shape that is `value` everywhere.
Tile everywhere(bool value, const Operand& x, Loc loc) {
  ir::Builder& builder = builder_at("a constant", loc);
  const Value* scalar = builder.constant(DType::boolean, int64_t{value});
  return tile_of(builder.fill(scalar, x.value()->type.shape), loc);
}

bool holds_floats(std::string_view what, const Operand& x, Loc loc) {
  builder_at(what, loc);
  return is_float(dsl::common_dtype(what, {&x}, loc));
}

/// Compares |x| with infinity, in a type that has one.
Tile against_infinity(Fn fn, const Operand& x, Loc loc) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const bool narrow = is_narrow_float(x.value()->type.dtype);
  const Tile wide = narrow ? cast(x, f32, loc) : tile_of(x.value(), loc);
  return compare(fn, {abs({wide, loc}, loc), loc}, {infinity, loc}, loc);
}

// Arithmetic at the line of the function it is a part of.
Tile times(const Operand& x, const Operand& y, Loc loc) { return binary(Fn::mul, x, y, loc); }
Tile times(const Operand& x, double y, Loc loc) { return times(x, {y, loc}, loc); }
Tile plus(const Operand& x, const Operand& y, Loc loc) { return binary(Fn::add, x, y, loc); }
Tile plus(const Operand& x, double y, Loc loc) { return plus(x, {y, loc}, loc); }

/// 1 + exp(-x)
Tile one_plus_decay(const Operand& x, Loc loc) {
  const Tile negative = unary(Fn::neg, x, loc);
  return plus({exp({negative, loc}, loc), loc}, 1.0, loc);
}

/// x / 2 * (1 + y)
Tile half_of(const Operand& x, const Tile& y, Loc loc) {
  return times({times(x, 0.5, loc), loc}, {plus({y, loc}, 1.0, loc), loc}, loc);
}

}  // namespace

Tile isnan(const Operand& x, Loc loc) {
  return holds_floats("isnan", x, loc) ? compare(Fn::ne, x, x, loc) : everywhere(false, x, loc);
}

Tile isinf(const Operand& x, Loc loc) {
  return holds_floats("isinf", x, loc) ? against_infinity(Fn::eq, x, loc)
                                       : everywhere(false, x, loc);
}

Tile isfinite(const Operand& x, Loc loc) {
  return holds_floats("isfinite", x, loc) ? against_infinity(Fn::lt, x, loc)
                                          : everywhere(true, x, loc);
}

Tile sigmoid(const Operand& x, Loc loc) {
  return in_f32("sigmoid", x, loc, [&](const Operand& v) {
    return binary(Fn::div, {1.0, loc}, {one_plus_decay(v, loc), loc}, loc);
  });
}

Tile silu(const Operand& x, Loc loc) {
  return in_f32("silu", x, loc, [&](const Operand& v) {
    return binary(Fn::div, v, {one_plus_decay(v, loc), loc}, loc);
  });
}

Tile softplus(const Operand& x, Loc loc) {
  // exp(x) itself would overflow.
  return in_f32("softplus", x, loc, [&](const Operand& v) {
    const Tile distance = abs(v, loc);
    const Tile decay = exp({unary(Fn::neg, {distance, loc}, loc), loc}, loc);
    return plus({max(v, {0.0, loc}, loc), loc}, {log1p({decay, loc}, loc), loc}, loc);
  });
}

Tile gelu(const Operand& x, Loc loc) {
  constexpr double sqrt_half = 0.70710678118654752440;
  return in_f32("gelu", x, loc, [&](const Operand& v) {
    return half_of(v, erf({times(v, sqrt_half, loc), loc}, loc), loc);
  });
}

Tile gelu_tanh(const Operand& x, Loc loc) {
  constexpr double scale = 0.79788456080286535588;  // sqrt(2 / pi)
  return in_f32("gelu_tanh", x, loc, [&](const Operand& v) {
    const Tile cube = times({square(v, loc), loc}, v, loc);
    const Tile inner = plus(v, {times({cube, loc}, 0.044715, loc), loc}, loc);
    return half_of(v, tanh({times({inner, loc}, scale, loc), loc}, loc), loc);
  });
}

Tile relu(const Operand& x, Loc loc) {
  const DType dtype = dsl::common_dtype("relu", {&x}, loc);
  return is_float(dtype) ? max(x, {0.0, loc}, loc) : max(x, {0, loc}, loc);
}

Tile reciprocal(const Operand& x, Loc loc) { return binary(Fn::div, {1.0, loc}, x, loc); }

Tile square(const Operand& x, Loc loc) { return binary(Fn::mul, x, x, loc); }

Tile sign(const Operand& x, Loc loc) {
  const Tile below = where({compare(Fn::lt, x, {0, loc}, loc), loc}, {-1, loc}, x, loc);
  return where({compare(Fn::gt, x, {0, loc}, loc), loc}, {1, loc}, {below, loc}, loc);
}

}  // namespace tilewright
