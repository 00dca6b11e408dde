#include "tilewright/codegen/atomics.h"

#include <fmt/format.h>

#include <algorithm>

#include "tilewright/ir/builder.h"

namespace tilewright::codegen {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;

std::string order_of(const Op& op) {
  const ir::Attr* order = op.find(AttrKey::order);
  return order == nullptr ? "" : std::get<std::string>(*order);
}

/// Whether there is an instruction that changes memory and gives nothing (PTX: red).
bool is_reduction(const Op& op) {
  if (op.kind != OpKind::atomic) return false;
  const bool extremum = op.fn() == ir::Fn::min || op.fn() == ir::Fn::max;
  if (extremum && is_float(ir::AccessView(op).tensor->type.dtype)) return false;
  const std::string order = order_of(op);
  return order.empty() || order == "release";
}

/// The most elements that one instruction changes.
int widest(const Op& op, const Target& target) {
  if (!is_reduction(op) || op.fn() != ir::Fn::add) return 1;
  switch (ir::AccessView(op).tensor->type.dtype) {
    case DType::f32:
      return target.sm >= 90 ? 4 : 1;
    case DType::f16:
      return target.sm >= 90 ? 8 : 2;
    case DType::bf16:
      return target.sm >= 90 ? 8 : 1;
    default:
      return 1;
  }
}

}  // namespace

bool is_used(const ir::Function& fn, const ir::Value* value) {
  bool used = false;
  ir::for_each_op(fn.body(), [&](const Op& op) {
    used |= std::find(op.operands.begin(), op.operands.end(), value) != op.operands.end();
  });
  return used;
}

AccessFacts access_facts(const ir::Function& fn, const ir::Facts& facts, const Op& op,
                         const Config& config, const Target& target) {
  AccessFacts access = analyze_access(fn, facts, op, config.vector);
  if (!ir::is_atomic(op.kind)) return access;
  const int most = is_used(fn, op.result()) ? 1 : widest(op, target);
  access.vector = std::min(access.vector, most);
  access.whole_vector = std::min(access.whole_vector, most);
  return access;
}

std::string atomic_helper(const Op& op, bool used, int vector) {
  const bool reduction = !used && is_reduction(op);
  std::string name = op.kind == OpKind::atomic_cas        ? "cas"
                     : op.kind == OpKind::atomic_exchange ? "exchange"
                     : op.fn() == ir::Fn::bit_and         ? "and"
                     : op.fn() == ir::Fn::bit_or          ? "or"
                     : op.fn() == ir::Fn::bit_xor         ? "xor"
                                                          : std::string(ir::info(op.fn()).name);
  name = fmt::format("tw::{}_{}_{}", reduction ? "red" : "atomic", name,
                     to_string(ir::AccessView(op).tensor->type.dtype));
  if (vector > 1) name += fmt::format("x{}", vector);
  if (const std::string order = order_of(op); !order.empty()) name += "_" + order;
  return name;
}

}  // namespace tilewright::codegen
