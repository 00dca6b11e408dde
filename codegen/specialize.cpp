#include "tilewright/codegen/specialize.h"

#include <algorithm>

#include "tilewright/codegen/axis_scope.h"
#include "tilewright/ir/builder.h"
#include "tilewright/ir/error.h"
#include "tilewright/ir/facts.h"

namespace tilewright::codegen {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;

ir::Function bind_blocks(const ir::Function& fn, const Config& config) {
  ir::Function bound = ir::Rewriter::run(fn, [](ir::Rewriter&, const Op&) { return false; });
  size_t next = 0;
  for (ir::Axis& axis : bound.axes)
    if (!axis.pinned) axis.block = config.block.at(next++);
  return bound;
}

/// Whether an index always addresses dimension `dim` of a tensor.
bool always_inside(const ir::Function& fn, const ir::Facts& facts, const ir::Value* index,
                   const ir::Param& param, int dim) {
  const ir::Range range = facts.range(first_position(index));
  if (range.min < 0) return false;
  const bool slice = index->type.kind == ir::Type::Kind::slice;
  if (const ir::Value* size = fn.size_value(param, dim))
    return slice ? facts.slice_in_bounds(index, size)
                 : index->type.is_scalar() && facts.is_less(index, size);
  const int64_t size = param.spec.sizes[dim];
  return slice ? facts.slice_in_bounds(index, size) : range.max < size;
}

/// The slice of the grid in whose direction blocks of a cluster are neighbours, if the last cluster
/// may have blocks without a tile; null otherwise. They share the work of the others, at positions
/// past the end.
const ir::Value* overrun_slice(const ir::Function& fn, const ir::Facts& facts,
                               const Config& config) {
  if (config.cluster == 1) return nullptr;
  for (const Op* op : fn.body().ops) {
    if (op->kind != OpKind::tile_loop || op->integer(AttrKey::parallel) == 0) continue;
    const ir::LoopView grid(*op);
    const size_t first = config.order.empty() ? 0 : static_cast<size_t>(config.order[0]);
    const ir::Range begin = facts.range(grid.begins.at(first));
    const ir::Range limit = facts.range(grid.limits.at(first));
    const int64_t block = fn.axes.at(op->integers(AttrKey::axes).at(first)).block;
    const bool known = begin.min == begin.max && limit.min == limit.max;
    const bool whole = known && ((limit.min - begin.min + block - 1) / block) % config.cluster == 0;
    return whole ? nullptr : grid.slices.at(first);
  }
  return nullptr;
}

bool depends_on(const ir::Value* value, const ir::Value* slice) {
  if (value == slice) return true;
  return value->def != nullptr &&
         std::any_of(value->def->operands.begin(), value->def->operands.end(),
                     [&](const ir::Value* x) { return depends_on(x, slice); });
}

/// Whether every lane of an index tile is below the limits of its dimensions.
bool lanes_exist(const ir::Facts& facts, const Op& op, const ir::Value* index,
                 const ir::Value* overrun) {
  if (!index->type.is_tile()) return true;
  return std::all_of(index->type.shape.begin(), index->type.shape.end(), [&](const ir::Dim& dim) {
    const ir::Value* slice = dim.is_block() ? slice_in_scope(op, dim.axis) : nullptr;
    return slice == nullptr || (slice != overrun && facts.slice_is_full(slice));
  });
}

/// Whether a bool is known to be true, of a tile every element.
bool is_true(const ir::Facts& facts, const ir::Value* value) {
  const Op* op = value->def;
  if (op == nullptr) return false;
  switch (op->kind) {
    case OpKind::constant:
      return op->integer(AttrKey::value) != 0;
    case OpKind::broadcast:
    case OpKind::permute:
      return is_true(facts, op->operand(0));
    case OpKind::binary:
      return op->fn() == ir::Fn::bit_and && is_true(facts, op->operand(0)) &&
             is_true(facts, op->operand(1));
    case OpKind::compare: {
      if (is_float(op->operand(0)->type.dtype)) return false;
      const ir::Range x = facts.range(op->operand(0)), y = facts.range(op->operand(1));
      if (op->fn() == ir::Fn::lt) return x.max < y.min;
      if (op->fn() == ir::Fn::le) return x.max <= y.min;
      if (op->fn() == ir::Fn::ge) return x.min >= y.max;
      return op->fn() == ir::Fn::gt && x.min > y.max;
    }
    default:
      return false;
  }
}

/// Copies an access with its guard, without a mask that is always true.
void specialize_access(ir::Rewriter& rewriter, const ir::Facts& facts, const Op& op,
                       const ir::Value* overrun, std::vector<int64_t> guard) {
  const ir::Value* mask = ir::AccessView(op).mask;
  Op* copy = rewriter.clone(op);
  if (mask != nullptr && is_true(facts, mask) &&
      (overrun == nullptr || !depends_on(mask, overrun))) {
    copy->operands.pop_back();
    std::erase_if(copy->attributes, [](const auto& a) { return a.first == AttrKey::masked; });
  }
  copy->set(AttrKey::guard, std::move(guard));
}

/// Index positions of a load or store that may lie before or past the loop's or the tensor's range.
/// Nothing is proven of those that depend on `overrun`.
std::vector<int64_t> guard_of_access(const ir::Function& fn, const ir::Facts& facts, const Op& op,
                                     const ir::Value* overrun) {
  const ir::AccessView access(op);
  const ir::Param* param = fn.param_of(access.tensor);
  internal_check(param != nullptr, "a memory operation on something that is no parameter");
  std::vector<int64_t> guard;
  for (size_t d = 0; d < access.indices.size(); ++d) {
    if (!always_inside(fn, facts, access.indices[d], *param, static_cast<int>(d)) ||
        !lanes_exist(facts, op, access.indices[d], overrun) ||
        (overrun != nullptr && depends_on(access.indices[d], overrun)))
      guard.push_back(static_cast<int64_t>(d));
  }
  return guard;
}

bool dimension_in_bounds(const ir::Facts& facts, const Op& op, const ir::Dim& dim) {
  if (!dim.is_block()) return true;
  const ir::Value* slice = slice_in_scope(op, dim.axis);
  return slice != nullptr && facts.slice_is_full(slice);
}

/// Axes along which an operation combines or orders elements.
std::vector<int64_t> axes_of(const Op& op) {
  if (op.kind == OpKind::reduce || op.kind == OpKind::combine) return op.integers(AttrKey::axes);
  // What comes after the last element of a scan changes nothing before it.
  if (op.kind == OpKind::scan && op.integer(AttrKey::reverse) == 0) return {};
  return {op.integer(AttrKey::axis)};
}

/// Reduced axes of a reduction whose positions may run past their loop's end.
std::vector<int64_t> guard_of_reduce(const ir::Facts& facts, const Op& op) {
  std::vector<int64_t> guard;
  for (int64_t axis : axes_of(op))
    if (!dimension_in_bounds(facts, op, op.operand(0)->type.shape[axis])) guard.push_back(axis);
  return guard;
}

}  // namespace

ir::Function specialize(const ir::Function& fn, const Config& config) {
  const ir::Function bound = bind_blocks(fn, config);
  const ir::Facts facts(bound);
  const ir::Value* overrun = overrun_slice(bound, facts, config);
  return ir::Rewriter::run(bound, [&](ir::Rewriter& rewriter, const Op& op) {
    std::vector<int64_t> guard;
    switch (op.kind) {
      case OpKind::load:
      case OpKind::store:
      case OpKind::atomic:
      case OpKind::atomic_exchange:
      case OpKind::atomic_cas:
        specialize_access(rewriter, facts, op, overrun, guard_of_access(bound, facts, op, overrun));
        return true;
      case OpKind::reduce:
      case OpKind::combine:
      case OpKind::scan:
      case OpKind::sort:
        guard = guard_of_reduce(facts, op);
        break;
      case OpKind::dot:
        if (!dimension_in_bounds(facts, op, op.operand(0)->type.shape[1])) return false;
        break;
      default:
        return false;
    }
    rewriter.clone(op)->set(AttrKey::guard, std::move(guard));
    return true;
  });
}

}  // namespace tilewright::codegen
