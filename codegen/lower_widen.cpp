// Rows of halves: held as they came, made floats where they are used.
#include <algorithm>

#include "tilewright/codegen/lowering.h"

namespace tilewright::codegen {

using ir::Fn;
using ir::Op;
using ir::OpKind;
using ir::Value;

bool widens_load(const Lowering& lowering, const Op& op) {
  constexpr int64_t many = 32;  // registers that the floats would take
  if (op.kind != OpKind::cast || !op.result()->type.is_tile()) return false;
  const Value* x = op.operand(0);
  const bool halves = x->type.dtype == DType::bf16 || x->type.dtype == DType::f16;
  if (!halves || op.result()->type.dtype != DType::f32 || x->def == nullptr) return false;
  // Halves that come one by one would have to be put into words.
  const Layout& layout = lowering.layout(op.result());
  return x->def->kind == OpKind::load && x->def->parent == op.parent &&
         layout.registers() >= many && layout.vector(layout.rank - 1) > 1;
}

bool shifts_load(const Lowering& lowering, const Op& op) {
  if (op.kind != OpKind::binary || !op.result()->type.is_tile()) return false;
  if (op.fn() != Fn::add && op.fn() != Fn::sub && op.fn() != Fn::mul) return false;
  const Op *x = op.operand(0)->def, *y = op.operand(1)->def;
  return x != nullptr && y != nullptr && x->parent == op.parent && widens_load(lowering, *x) &&
         y->kind == OpKind::broadcast && y->operand(0)->type.is_tile() &&
         lowering.layout(y->operand(0)).registers() * 8 <= lowering.layout(op.result()).registers();
}

ExprRef float_of_word(const Value* halves, const ExprRef& element, const Lowering& lowering) {
  if (element->kind != Expr::Kind::element || halves->type.dtype != DType::bf16) return nullptr;
  if (register_extents(lowering.layout(halves)).back() % 2 != 0) return nullptr;
  std::vector<ExprRef> outer(element->args.begin(), element->args.end() - 1);
  const ExprRef array =
      outer.empty() ? name(element->text) : codegen::element(element->text, std::move(outer));
  return call("tw::float_at", {array, element->args.back()});
}

void hold_halves(Lowering& lowering, const Op& op) {
  const auto used_later = [&](const Value* value) {
    bool used = false;
    ir::for_each_op(*op.parent, [&](const Op& user) {
      used |= lowering.position.at(&user) > lowering.position.at(&op) &&
              std::ranges::any_of(user.operands, [&](const Value* operand) {
                return is_view_of(lowering, operand, {value});
              });
    });
    return used;
  };
  std::vector<std::string> held;
  for (const Op* cast : op.parent->ops) {
    if (!widens_load(lowering, *cast)) continue;
    const auto array = lowering.arrays.find(cast->operand(0));
    if (array == lowering.arrays.end() || !used_later(cast->result())) continue;
    const auto extents = register_extents(lowering.layout(cast->operand(0)));
    if (extents.size() == 1 && extents[0] % 2 == 0 &&
        std::ranges::find(held, array->second) == held.end())
      held.push_back(array->second);
  }
  for (const std::string& array : held) lowering.emit(call_stmt(call("tw::hold", {name(array)})));
}

}  // namespace tilewright::codegen
