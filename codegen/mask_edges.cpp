#include "tilewright/codegen/mask_edges.h"

#include <limits>

#include "tilewright/codegen/axis_scope.h"
#include "tilewright/ir/builder.h"
#include "tilewright/ir/error.h"
#include "tilewright/ir/precision.h"

namespace tilewright::codegen {
namespace {

using ir::AttrKey;
using ir::Fn;
using ir::Op;
using ir::OpKind;
using ir::Value;

/// Whether every position of `value` past the limit of its dimensions is 0 by construction.
bool zero_past_limit(const Value* value) {
  if (value->def == nullptr) return false;
  switch (value->def->kind) {
    case OpKind::load:
      return true;
    case OpKind::cast:
    case OpKind::permute:
      return zero_past_limit(value->def->operand(0));
    default:
      return false;
  }
}

const Value* identity(ir::Builder& builder, Fn fn, DType dtype) {
  if (is_float(dtype)) return builder.constant(dtype, ir::identity_of(fn));
  return builder.constant(dtype, ir::integer_identity(fn, dtype));
}

/// `x` with `otherwise` (a scalar) where dimension `dim` runs past the limit of `slice`.
const Value* masked(ir::Builder& builder, const Value* x, int64_t dim, const Value* slice,
                    const Value* otherwise) {
  const ir::Shape line = slice->type.shape;
  const Value* end = builder.fill(builder.slice_end(slice), line);
  const Value* inside = builder.compare(Fn::lt, builder.slice_index(slice), end);
  const ir::Shape& shape = x->type.shape;
  return builder.select(builder.broadcast(inside, shape, {dim}), x, builder.fill(otherwise, shape));
}

const Value* slice_of(const ir::Rewriter& rewriter, const Op& op, const ir::Dim& dim) {
  const Value* slice = slice_in_scope(op, dim.axis);
  internal_check(slice != nullptr, "a block dimension outside its loop");
  return rewriter(slice);
}

bool mask_reduce(ir::Rewriter& rewriter, const Op& op) {
  ir::Builder& builder = rewriter.builder();
  const Value* source = op.operand(0);
  const Value* x = rewriter(source);
  const bool already_zero = op.fn() == Fn::add && zero_past_limit(source);
  for (int64_t dim : op.integers(AttrKey::guard)) {
    if (already_zero) break;
    const Value* slice = slice_of(rewriter, op, source->type.shape[dim]);
    x = masked(builder, x, dim, slice, identity(builder, op.fn(), x->type.dtype));
  }
  const Value* result = builder.reduce(op.fn(), x, op.integers(AttrKey::axes));
  const_cast<Op*>(result->def)->set(AttrKey::guard, std::vector<int64_t>{});
  rewriter.replace(op.result(), result);
  return true;
}

/// What sorts after every other key.
const Value* last_key(ir::Builder& builder, const Op& sort) {
  const DType dtype = sort.operand(0)->type.dtype;
  if (is_float(dtype)) return builder.constant(dtype, std::numeric_limits<double>::quiet_NaN());
  const bool descending = sort.integer(AttrKey::descending) != 0;
  return builder.constant(dtype, ir::integer_identity(descending ? Fn::max : Fn::min, dtype));
}

/// The tiles of a combine or scan become their identities past the limits, the keys of a sort come
/// last there.
bool mask_tiles(ir::Rewriter& rewriter, const Op& op) {
  ir::Builder& builder = rewriter.builder();
  const bool sorts = op.kind == OpKind::sort;
  const size_t masked_tiles = sorts ? 1 : op.results.size();
  std::vector<const Value*> operands = rewriter(op.operands);
  const auto& guard = op.integers(AttrKey::guard);
  if (!guard.empty())
    for (size_t i = 0; i < masked_tiles; ++i) {
      const Value* otherwise = sorts ? last_key(builder, op) : operands[masked_tiles + i];
      for (int64_t dim : guard) {
        const Value* slice = slice_of(rewriter, op, op.operand(i)->type.shape[dim]);
        operands[i] = masked(builder, operands[i], dim, slice, otherwise);
      }
    }
  builder.loc = op.loc;
  Op* copy = rewriter.clone(op);
  copy->operands = operands;
  copy->set(AttrKey::guard, std::vector<int64_t>{});
  return true;
}

bool mask_dot(ir::Rewriter& rewriter, const Op& op) {
  if (op.operand(0)->type.shape[1] == ir::Dim::constant(0)) {  // adds nothing
    rewriter.replace(op.result(), rewriter(op.operand(2)));
    return true;
  }
  ir::Builder& builder = rewriter.builder();
  const Value* operands[2] = {rewriter(op.operand(0)), rewriter(op.operand(1))};
  if (!op.has(AttrKey::guard)) {
    const Value* slice = slice_of(rewriter, op, op.operand(0)->type.shape[1]);
    for (int i = 0; i < 2; ++i)
      if (!zero_past_limit(op.operand(i)))
        operands[i] = masked(builder, operands[i], i == 0 ? 1 : 0, slice,
                             builder.constant(operands[i]->type.dtype, int64_t{0}));
  }
  const Value* result =
      builder.dot(operands[0], operands[1], rewriter(op.operand(2)), ir::precision_of(op));
  const_cast<Op*>(result->def)->set(AttrKey::guard, std::vector<int64_t>{});
  rewriter.replace(op.result(), result);
  return true;
}

}  // namespace

ir::Function mask_edges(const ir::Function& fn) {
  return ir::Rewriter::run(fn, [](ir::Rewriter& rewriter, const Op& op) {
    if (op.kind == OpKind::reduce) return mask_reduce(rewriter, op);
    if (op.kind == OpKind::combine || op.kind == OpKind::scan || op.kind == OpKind::sort)
      return mask_tiles(rewriter, op);
    if (op.kind == OpKind::dot) return mask_dot(rewriter, op);
    return false;
  });
}

}  // namespace tilewright::codegen
