#include "tilewright/codegen/host_size.h"

#include "tilewright/codegen/lowering.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using ir::AttrKey;
using ir::Fn;
using ir::Op;
using ir::OpKind;

struct OperatorOf {
  Fn fn;
  const char* text;
};

constexpr OperatorOf kOperators[] = {{Fn::add, "+"},     {Fn::sub, "-"},    {Fn::mul, "*"},
                                     {Fn::bit_and, "&"}, {Fn::bit_or, "|"}, {Fn::bit_xor, "^"},
                                     {Fn::eq, "=="},     {Fn::ne, "!="},    {Fn::lt, "<"},
                                     {Fn::le, "<="},     {Fn::gt, ">"},     {Fn::ge, ">="}};

[[noreturn]] void refuse(const Op& op) {
  raise(ErrorId::grid_bound, op.loc, ir::info(op.kind).name);
}

/// x / y and x % y as tiles define them: 0 and x where y is 0.
ExprRef quotient(Fn fn, const ExprRef& x, const ExprRef& y) {
  const ExprRef zero = binary("==", y, integer(0));
  return fn == Fn::div ? conditional(zero, integer(0), x / y) : conditional(zero, x, x % y);
}

ExprRef apply(const Op& op, const ExprRef& x, const ExprRef& y) {
  if (op.fn() == Fn::min) return call("min", {x, y});
  if (op.fn() == Fn::max) return call("max", {x, y});
  if (op.fn() == Fn::div || op.fn() == Fn::rem) return quotient(op.fn(), x, y);
  for (const OperatorOf& known : kOperators)
    if (known.fn == op.fn()) return binary(known.text, x, y);
  refuse(op);
}

ExprRef converted(const Op& op, const ExprRef& x) {
  const DType to = op.result()->type.dtype;
  if (to == DType::boolean) return binary("!=", x, integer(0));
  if (to == DType::i32) return cast("int", x);
  if (to != DType::i64) refuse(op);
  return x;
}

}  // namespace

ExprRef host_size(const Lowering& lowering, const ir::Value* value) {
  const bool integral = is_integer(value->type.dtype) || value->type.dtype == DType::boolean;
  if (value->def == nullptr) {
    const ir::Param* param = lowering.fn.param_of(value);
    internal_check(param != nullptr, "a grid's bound depends on a loop");
    if (!integral) raise(ErrorId::grid_bound, lowering.fn.loc, param->name);
    return name(lowering.kernel.params.at(param - lowering.fn.params.data()).name);
  }
  const Op& op = *value->def;
  if (!integral) refuse(op);
  const auto operand = [&](size_t i) { return host_size(lowering, op.operand(i)); };
  switch (op.kind) {
    case OpKind::constant:
      return integer(op.integer(AttrKey::value));
    case OpKind::dim:
      return dimension_size(lowering, op.operand(0), op.integer(AttrKey::axis));
    case OpKind::unary:
      if (op.fn() != Fn::neg) refuse(op);
      return unary("-", operand(0));
    case OpKind::binary:
    case OpKind::compare:
      return apply(op, operand(0), operand(1));
    case OpKind::select:
      return conditional(operand(0), operand(1), operand(2));
    case OpKind::cast:
      return converted(op, operand(0));
    default:
      refuse(op);
  }
}

}  // namespace tilewright::codegen
