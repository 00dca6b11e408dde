#include "tilewright/dsl/reduce.h"

#include "tilewright/dsl/axes.h"
#include "tilewright/dsl/elementwise.h"
#include "tilewright/dsl/jagged.h"
#include "tilewright/dsl/trace.h"
#include "tilewright/ir/error.h"

namespace tilewright {
namespace {

using ir::Fn;
using ir::Value;

Tile reduce(std::string_view what, Fn fn, const Value* x, const Axes* axes, KeepDims keep,
            Loc loc) {
  ir::Builder& builder = dsl::builder_at(what, loc);
  const auto dims = dsl::positions(what, axes, static_cast<int>(x->type.shape.size()), loc);
  for (int64_t dim : dims)
    if ((fn == Fn::max || fn == Fn::min) && x->type.shape[dim] == ir::Dim::constant(0))
      raise(ErrorId::reduce_nothing, loc, what);
  if (dims.empty()) return dsl::tile_of(x, loc);
  const DType dtype = x->type.dtype;
  const Value* identity = is_float(dtype)
                              ? builder.constant(dtype, ir::identity_of(fn))
                              : builder.constant(dtype, ir::integer_identity(fn, dtype));
  const Value* result = builder.reduce(fn, dsl::jagged_masked(x, identity, loc, &dims), dims);
  if (keep == KeepDims::yes) result = dsl::restore_dims(builder, result, dims);
  return dsl::tile_of(result, loc);
}

/// Sums and products: narrow floats accumulate in f32 and round once, small integers and bool in
/// i32.
Tile accumulate(std::string_view what, Fn fn, const Operand& x, const Axes* axes, KeepDims keep,
                Loc loc) {
  ir::Builder& builder = dsl::builder_at(what, loc);
  const DType dtype = dsl::common_dtype(what, {&x}, loc);
  if (is_narrow_float(dtype)) {
    const Tile wide = reduce(what, fn, builder.cast(x.value(), DType::f32), axes, keep, loc);
    return dsl::tile_of(builder.cast(Operand(wide, loc).value(), dtype), loc);
  }
  const bool small = dtype == DType::boolean || (is_integer(dtype) && size_of(dtype) < 4);
  const Value* value = small ? builder.cast(x.value(), DType::i32) : x.value();
  return reduce(what, fn, value, axes, keep, loc);
}

Tile extremum(std::string_view what, Fn fn, const Operand& x, const Axes* axes, KeepDims keep,
              Loc loc) {
  dsl::common_dtype(what, {&x}, loc);
  return reduce(what, fn, x.value(), axes, keep, loc);
}

Tile quantifier(std::string_view what, Fn fn, const Operand& x, const Axes* axes, KeepDims keep,
                Loc loc) {
  dsl::expect_bool(what, dsl::common_dtype(what, {&x}, loc), loc);
  return reduce(what, fn, x.value(), axes, keep, loc);
}

/// The accumulator's dtype of a dot; nothing when the operands' dtype has none.
std::optional<DType> accumulator_of(DType dtype) {
  switch (dtype) {
    case DType::f8e4m3:
    case DType::f8e5m2:
    case DType::f16:
    case DType::bf16:
    case DType::f32:
      return DType::f32;
    case DType::f64:
      return DType::f64;
    case DType::i8:
    case DType::u8:
      return DType::i32;
    default:
      return std::nullopt;
  }
}

Tile contract(std::string_view what, const Operand& a, const Operand& b, const Operand* acc,
              DotPrecision precision, Loc loc) {
  ir::Builder& builder = dsl::builder_at(what, loc);
  for (const Operand* operand : {&a, &b}) dsl::common_dtype(what, {operand}, loc);
  const ir::Type &x = a.value()->type, &y = b.value()->type;
  const auto dtype = accumulator_of(x.dtype);
  const DType acc_dtype = acc != nullptr && acc->value() != nullptr ? acc->value()->type.dtype
                                                                    : dtype.value_or(x.dtype);
  const bool alike = x.dtype == y.dtype || (is_f8(x.dtype) && is_f8(y.dtype));
  if (!dtype || !alike || acc_dtype != *dtype)
    raise(ErrorId::dot_dtype, loc, what, to_string(x.dtype), to_string(y.dtype),
          to_string(acc_dtype));
  if (!ir::takes_precision(precision, x.dtype, y.dtype))
    raise(ErrorId::dot_precision, loc, what, to_string(precision),
          precision == DotPrecision::two_level ? "f8" : "f32", to_string(x.dtype));
  const bool fits = x.shape.size() == 2 && y.shape.size() == 2 && x.shape[1] == y.shape[0];
  const ir::Shape shape = fits ? ir::Shape{x.shape[0], y.shape[1]} : ir::Shape{};
  const Value* start = acc != nullptr ? dsl::materialize(*acc, *dtype, loc) : nullptr;
  if (!fits || (start != nullptr && !dsl::broadcasts_to(start->type.shape, shape)))
    raise(ErrorId::dot_shape, loc, what, dsl::describe(x.shape), dsl::describe(y.shape),
          start != nullptr ? dsl::describe(start->type.shape) : "none");
  if (start == nullptr) start = builder.constant(*dtype, int64_t{0});
  const Value* sum = dsl::broadcast(start, shape);
  const Value* operands[2] = {a.value(), b.value()};
  for (const Value*& operand : operands)
    operand = dsl::jagged_masked(operand, builder.constant(operand->type.dtype, int64_t{0}), loc);
  return dsl::tile_of(builder.dot(operands[0], operands[1], sum, precision), loc);
}

}  // namespace

Tile sum(const Operand& x, Loc loc) {
  return accumulate("sum", Fn::add, x, nullptr, KeepDims::no, loc);
}
Tile sum(const Operand& x, const Axes& axes, KeepDims keep, Loc loc) {
  return accumulate("sum", Fn::add, x, &axes, keep, loc);
}
Tile prod(const Operand& x, Loc loc) {
  return accumulate("prod", Fn::mul, x, nullptr, KeepDims::no, loc);
}
Tile prod(const Operand& x, const Axes& axes, KeepDims keep, Loc loc) {
  return accumulate("prod", Fn::mul, x, &axes, keep, loc);
}
Tile max(const Operand& x, Loc loc) {
  return extremum("max", Fn::max, x, nullptr, KeepDims::no, loc);
}
Tile max(const Operand& x, const Axes& axes, KeepDims keep, Loc loc) {
  return extremum("max", Fn::max, x, &axes, keep, loc);
}
Tile min(const Operand& x, Loc loc) {
  return extremum("min", Fn::min, x, nullptr, KeepDims::no, loc);
}
Tile min(const Operand& x, const Axes& axes, KeepDims keep, Loc loc) {
  return extremum("min", Fn::min, x, &axes, keep, loc);
}
Tile any(const Operand& x, Loc loc) {
  return quantifier("any", Fn::bit_or, x, nullptr, KeepDims::no, loc);
}
Tile any(const Operand& x, const Axes& axes, KeepDims keep, Loc loc) {
  return quantifier("any", Fn::bit_or, x, &axes, keep, loc);
}
Tile All::operator()(const Operand& x, Loc loc) const {
  return quantifier("all", Fn::bit_and, x, nullptr, KeepDims::no, loc);
}
Tile All::operator()(const Operand& x, const Axes& axes, Loc loc) const {
  return (*this)(x, axes, KeepDims::no, loc);
}
Tile All::operator()(const Operand& x, const Axes& axes, KeepDims keep, Loc loc) const {
  return quantifier("all", Fn::bit_and, x, &axes, keep, loc);
}

Tile dot(const Operand& a, const Operand& b, Loc loc) { return dot(a, b, ieee, loc); }
Tile dot(const Operand& a, const Operand& b, DotPrecision precision, Loc loc) {
  return contract("dot", a, b, nullptr, precision, loc);
}
Tile dot(const Operand& a, const Operand& b, const Operand& acc, Loc loc) {
  return dot(a, b, acc, ieee, loc);
}
Tile dot(const Operand& a, const Operand& b, const Operand& acc, DotPrecision precision, Loc loc) {
  return contract("dot", a, b, &acc, precision, loc);
}
Tile addmm(const Operand& acc, const Operand& a, const Operand& b, Loc loc) {
  return addmm(acc, a, b, ieee, loc);
}
Tile addmm(const Operand& acc, const Operand& a, const Operand& b, DotPrecision precision,
           Loc loc) {
  return contract("addmm", a, b, &acc, precision, loc);
}

}  // namespace tilewright
