#include "tilewright/codegen/known_value.h"

#include <algorithm>
#include <cmath>

#include "tilewright/ir/builder.h"

namespace tilewright::codegen {

std::optional<int64_t> known_value(const ir::Function& fn, const ir::Value* value) {
  const ir::Op* op = value->def;
  if (op == nullptr) return std::nullopt;
  if (op->kind == ir::OpKind::constant && !is_float(value->type.dtype))
    return op->integer(ir::AttrKey::value);
  if (op->kind == ir::OpKind::dim)
    if (const ir::Param* param = fn.param_of(op->operand(0));
        param != nullptr && !fn.size_value(*param, op->integer(ir::AttrKey::axis)))
      return param->spec.sizes.at(op->integer(ir::AttrKey::axis));
  if (op->kind != ir::OpKind::binary) return std::nullopt;
  const std::optional<int64_t> x = known_value(fn, op->operand(0)),
                               y = known_value(fn, op->operand(1));
  if (!x || !y) return std::nullopt;
  switch (op->fn()) {
    case ir::Fn::add:
      return *x + *y;
    case ir::Fn::sub:
      return *x - *y;
    case ir::Fn::mul:
      return *x * *y;
    case ir::Fn::div:
      return *y == 0 ? 0 : *x / *y;
    case ir::Fn::min:
      return std::min(*x, *y);
    case ir::Fn::max:
      return std::max(*x, *y);
    default:
      return std::nullopt;
  }
}

bool is_zero_fill(const ir::Value* tile) {
  if (tile->def == nullptr || tile->def->kind != ir::OpKind::broadcast) return false;
  const ir::Op* scalar = tile->def->operand(0)->def;
  if (scalar == nullptr || scalar->kind != ir::OpKind::constant) return false;
  const ir::Attr& number = *scalar->find(ir::AttrKey::value);
  if (const auto* real = std::get_if<double>(&number)) return *real == 0 && !std::signbit(*real);
  return std::get<int64_t>(number) == 0;
}

}  // namespace tilewright::codegen
