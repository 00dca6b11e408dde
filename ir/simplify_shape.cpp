#include <algorithm>

#include "tilewright/ir/error.h"
#include "tilewright/ir/simplify_rules.h"

namespace tilewright::ir {
namespace {

using Integers = std::vector<int64_t>;

/// The dimensions of a dimension map after another: result[i] = outer[inner[i]].
Integers compose(const Integers& outer, const Integers& inner) {
  Integers result;
  for (int64_t d : inner) result.push_back(outer[d]);
  return result;
}

}  // namespace

const Value* simplify_broadcast(Maker& make, const Candidate& op) {
  const Value* x = op.operand(0);
  if (x->type.shape == op.type.shape) return x;
  const Op* inner = made_by(x, OpKind::broadcast);
  if (inner == nullptr) return nullptr;
  Candidate at_once = op;
  at_once.operands = {inner->operand(0)};
  at_once.attributes[1].second =
      compose(op.attribute<Integers>(AttrKey::dims), inner->integers(AttrKey::dims));
  return make.make(at_once);
}

const Value* simplify_permute(Maker& make, const Candidate& op) {
  const Value* x = op.operand(0);
  const Integers& dims = op.attribute<Integers>(AttrKey::dims);
  if (std::is_sorted(dims.begin(), dims.end()) && x->type == op.type) return x;
  if (const Value* scalar = uniform_of(x)) return make.fill(scalar, op.type.shape);
  const Op* inner = made_by(x, OpKind::permute);
  if (inner == nullptr) return nullptr;
  const Integers both = compose(inner->integers(AttrKey::dims), dims);
  return make.make({OpKind::permute, {inner->operand(0)}, {{AttrKey::dims, both}}, op.type});
}

const Value* simplify_reshape(Maker& make, const Candidate& op) {
  const Value* x = op.operand(0);
  if (x->type == op.type) return x;
  if (const Value* scalar = uniform_of(x)) return make.fill(scalar, op.type.shape);
  const Op* inner = made_by(x, OpKind::reshape);
  if (inner == nullptr) return nullptr;
  return make.make({OpKind::reshape, {inner->operand(0)}, op.attributes, op.type});
}

const Value* simplify_pick(Maker& make, const Candidate& op) {
  const Value* x = op.operand(0);
  if (const Value* scalar = uniform_of(x)) return make.fill(scalar, op.type.shape);
  const Op* join = made_by(x, OpKind::join);
  const bool same_axis =
      join != nullptr && join->integer(AttrKey::axis) == op.attribute<int64_t>(AttrKey::axis);
  return same_axis ? join->operand(op.attribute<int64_t>(AttrKey::position)) : nullptr;
}

const Value* simplify_reduce(Maker&, const Candidate& op) {
  return op.attribute<Integers>(AttrKey::axes).empty() ? op.operand(0) : nullptr;
}

const Value* simplify_dim(Maker& make, const Candidate& op) {
  const Param* param = make.function().param_of(op.operand(0));
  if (param == nullptr) return nullptr;
  if (make.function().size_value(*param, op.attribute<int64_t>(AttrKey::axis))) return nullptr;
  const int64_t size = param->spec.sizes.at(op.attribute<int64_t>(AttrKey::axis));
  return make.constant(Scalar::of(DType::i64, size), {});
}

const Value* simplify_slice_begin(Maker&, const Candidate& op) {
  const Op* slice = made_by(op.operand(0), OpKind::slice);
  return slice == nullptr ? nullptr : slice->operand(0);
}

const Value* simplify_slice_end(Maker& make, const Candidate& op) {
  const Op* slice = made_by(op.operand(0), OpKind::slice);
  if (slice == nullptr) return nullptr;
  const Dim& dim = slice->shape(AttrKey::dim)[0];
  const int64_t extent = make.function().extent(dim);
  if (dim.is_block() && extent == 0) return nullptr;
  const Value* extent_value = make.constant(Scalar::of(DType::i64, extent), {});
  return make.binary(Fn::min, make.binary(Fn::add, slice->operand(0), extent_value),
                     slice->operand(1));
}

}  // namespace tilewright::ir
