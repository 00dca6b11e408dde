// Products that run while the threads that issued them go on: when to wait for them.
#include <algorithm>

#include "tilewright/codegen/dot_operands.h"
#include "tilewright/codegen/lowering.h"
#include "tilewright/codegen/matrix_unit.h"
#include "tilewright/codegen/stage_layouts.h"

namespace tilewright::codegen {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

/// Whether the registers of `value`, or those it is computed from where it is used, are written by
/// products in flight.
bool is_in_flight(const Lowering& lowering, const Value* value) {
  if (!value->type.is_tile()) return false;
  if (auto array = lowering.arrays.find(value); array != lowering.arrays.end())
    return std::any_of(lowering.in_flight.begin(), lowering.in_flight.end(),
                       [&](const Value* dot) { return lowering.arrays.at(dot) == array->second; });
  if (value->def == nullptr) return false;
  return std::any_of(value->def->operands.begin(), value->def->operands.end(),
                     [&](const Value* x) { return is_in_flight(lowering, x); });
}

bool is_ordering(OpKind kind) {
  switch (kind) {
    case OpKind::ring:
    case OpKind::ring_acquire:
    case OpKind::ring_commit:
    case OpKind::ring_wait:
    case OpKind::ring_read:
    case OpKind::ring_release:
    case OpKind::copy:
    case OpKind::yield:
      return true;
    default:
      return false;
  }
}

/// Whether nothing that a product of `loop` reads is written again in the loop's next step by the
/// threads that issue it: registers, or shared memory that they stage.
bool reads_what_stays(const Op& product, const Op& loop) {
  for (int i = 0; i < 2; ++i) {
    if (!is_shared(product.operand(i))) return false;
    const Op* ring = view_of(product.operand(i)).ring->def;
    if (ring->parent->parent == &loop) return false;
  }
  return true;
}

}  // namespace

bool is_asynchronous(const Lowering& lowering, const Op& op) {
  return op.kind == OpKind::dot &&
         unit_of(op, lowering.config, lowering.target) == MatrixUnit::wgmma &&
         ir::precision_of(op) != DotPrecision::two_level;
}

void settle(Lowering& lowering) {
  if (lowering.in_flight.empty()) return;
  lowering.emit(call_stmt(call("tw::wgmma_wait<0>", {})));
  std::unordered_set<std::string> done;
  for (const Value* dot : lowering.in_flight) {
    const std::string& array = lowering.arrays.at(dot);
    if (done.insert(array).second) lowering.emit(call_stmt(call("tw::complete", {name(array)})));
  }
  lowering.in_flight.clear();
}

void settle_before(Lowering& lowering, const Op& op) {
  if (lowering.in_flight.empty() || is_ordering(op.kind)) return;
  const bool reads = std::any_of(op.operands.begin(), op.operands.end(), [&](const Value* x) {
    // Products into the same registers follow one another.
    const bool accumulates =
        is_asynchronous(lowering, op) && x == op.operand(2) && lowering.homes.contains(op.result());
    return !accumulates && is_in_flight(lowering, x);
  });
  if (reads || !op.regions.empty()) settle(lowering);
}

bool products_can_overlap(const Lowering& lowering, const Op& loop) {
  const ir::LoopView view(loop);
  bool any = false, alone = true;
  ir::for_each_op(*view.body, [&](const Op& op) {
    if (is_asynchronous(lowering, op)) {
      any = true;
      alone &= op.parent == view.body && reads_what_stays(op, loop);
    }
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const Value* x = op.operand(i);
      const bool product = x->def != nullptr && is_asynchronous(lowering, *x->def);
      const bool carried = x->type.is_tile() && std::find(view.carried.begin(), view.carried.end(),
                                                          x) != view.carried.end();
      if (!product && !carried) continue;
      alone &= op.kind == OpKind::yield || (is_asynchronous(lowering, op) && i == 2);
    }
  });
  return any && alone;
}

}  // namespace tilewright::codegen
