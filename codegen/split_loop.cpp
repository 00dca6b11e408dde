#include "tilewright/codegen/split_loop.h"

#include <algorithm>
#include <unordered_set>

#include "tilewright/codegen/bulk_copy.h"
#include "tilewright/codegen/known_value.h"
#include "tilewright/codegen/pipeline.h"
#include "tilewright/ir/builder.h"
#include "tilewright/ir/error.h"
#include "tilewright/ir/opspec.h"

namespace tilewright::codegen {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

/// Whether `next` is `carried` plus products.
bool adds_products(const Value* next, const Value* carried) {
  while (next->def != nullptr && next->def->kind == OpKind::dot) next = next->def->operand(2);
  return next == carried;
}

bool carries_sums(const Op& loop) {
  const ir::LoopView view(loop);
  for (size_t i = 0; i < view.carried.size(); ++i) {
    if (!view.carried[i]->type.is_tile() || !is_zero_fill(view.inits[i]) ||
        !adds_products(view.body->yields().at(i), view.carried[i]))
      return false;
  }
  return !view.carried.empty();
}

/// Elementwise, or moving elements about: a part of the result needs that part of the operand only.
bool keeps_parts(OpKind kind) {
  return ir::is_elementwise(kind) || kind == OpKind::permute || kind == OpKind::convert ||
         kind == OpKind::store;
}

/// Whether all that depends on the loop's results is elementwise.
bool feeds_elementwise_only(const ir::Function& fn, const Op& loop) {
  std::unordered_set<const Value*> parts(loop.results.begin(), loop.results.end());
  bool fine = true;
  ir::for_each_op(fn.body(), [&](const Op& op) {
    const bool uses = std::any_of(op.operands.begin(), op.operands.end(),
                                  [&](const Value* x) { return parts.contains(x); });
    if (!uses) return;
    fine &= keeps_parts(op.kind) && op.parent == loop.parent;
    parts.insert(op.results.begin(), op.results.end());
  });
  return fine;
}

/// Whether a tensor that the kernel stores to is loaded too: one block would load what another
/// stores.
bool reads_what_it_stores(const ir::Function& fn) {
  std::unordered_set<const ir::Param*> stored;
  bool both = false;
  ir::for_each_op(fn.body(), [&](const Op& op) {
    if (ir::writes_tensor(op.kind)) stored.insert(fn.param_of(ir::AccessView(op).tensor));
  });
  ir::for_each_op(fn.body(), [&](const Op& op) {
    if (ir::reads_tensor(op.kind)) both |= stored.contains(fn.param_of(ir::AccessView(op).tensor));
  });
  return both;
}

}  // namespace

const Op* find_split_loop(const LaidOut& laid_out, const Config& config) {
  if (config.split_k == 1) return nullptr;
  const Op* found = nullptr;
  bool several = false;
  ir::for_each_op(laid_out.fn.body(), [&](const Op& op) {
    if (!is_bulk_loop(laid_out, op)) return;
    several |= found != nullptr;
    found = &op;
  });
  const auto refuse = [&](const std::string& why) {
    raise(ErrorId::config_unsupported, found == nullptr ? Loc{} : found->loc, "split_k",
          std::to_string(config.split_k), why, "1");
  };
  if (found == nullptr) refuse("no loop of the kernel is filled by tma copies");
  if (several) refuse("the kernel has several loops that could be split");
  const Op* around = found->parent->parent;
  if (around == nullptr || around->kind != OpKind::tile_loop ||
      around->integer(AttrKey::parallel) == 0 || !carries_sums(*found))
    refuse("the loop does more than add up products, from zero");
  if (!feeds_elementwise_only(laid_out.fn, *found))
    refuse("what follows the loop needs more than one element of the sum at a time");
  if (reads_what_it_stores(laid_out.fn)) refuse("the kernel loads from a tensor that it stores to");
  const int64_t steps = trip_count(laid_out.fn, *found);
  if (steps < config.split_k)
    refuse(steps < 0 ? "the loop's number of steps is not known before the launch"
                     : fmt::format("the loop has {} steps", steps));
  return found;
}

}  // namespace tilewright::codegen
