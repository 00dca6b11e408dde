// The parts of simplify: what a rule sees, and the rules (one comment each; see the table in
// simplify.cpp for the operation each belongs to).
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "tilewright/ir/builder.h"
#include "tilewright/ir/error.h"
#include "tilewright/ir/fold.h"

namespace tilewright::ir {

/// An operation with one result that is about to be made.
struct Candidate {
  OpKind kind;
  std::vector<const Value*> operands;
  std::vector<std::pair<AttrKey, Attr>> attributes;
  Type type;

  const Value* operand(size_t i) const { return operands[i]; }
  Fn fn() const;
  template <class T>
  const T& attribute(AttrKey key) const {
    for (const auto& [k, value] : attributes)
      if (k == key) return std::get<T>(value);
    throw InternalError("simplify: an attribute is missing");
  }
};

/// Makes values for rules; what it makes is simplified in turn.
class Maker {
 public:
  explicit Maker(Builder& builder) : builder_(builder) {}

  const Function& function() const { return builder_.function(); }

  /// The simplest value of the candidate: an existing one, or a new operation.
  const Value* make(const Candidate& candidate);
  /// The value that a rule gives for the candidate; null when none applies.
  const Value* try_rules(const Candidate& candidate);

  const Value* unary(Fn fn, const Value* x);
  const Value* binary(Fn fn, const Value* x, const Value* y);
  const Value* cast(const Value* x, DType dtype);
  const Value* select(const Value* condition, const Value* x, const Value* y);
  const Value* fill(const Value* scalar, const Shape& shape);
  /// A constant of the type, the same in every element.
  const Value* constant(const Scalar& scalar, const Shape& shape);

 private:
  Builder& builder_;
};

using SimplifyFn = const Value* (*)(Maker&, const Candidate&);

/// The value that all elements of a scalar or tile are known to have.
std::optional<Scalar> constant_of(const Value* value);
/// The scalar that a tile repeats; null when it is no fill.
const Value* uniform_of(const Value* value);
/// The operation that makes `value` when it is of the kind (and function), else null.
const Op* made_by(const Value* value, OpKind kind);
const Op* made_by(const Value* value, OpKind kind, Fn fn);

// simplify_arithmetic.cpp
const Value* fold_constants(Maker&, const Candidate&);
const Value* move_to_scalar(Maker&, const Candidate&);
const Value* simplify_unary(Maker&, const Candidate&);
const Value* order_operands(Maker&, const Candidate&);
const Value* drop_neutral(Maker&, const Candidate&);
const Value* absorb(Maker&, const Candidate&);
const Value* same_operands(Maker&, const Candidate&);
const Value* cancel(Maker&, const Candidate&);
const Value* gather_constants(Maker&, const Candidate&);
const Value* divide_by_power_of_two(Maker&, const Candidate&);
const Value* simplify_fma(Maker&, const Candidate&);
const Value* simplify_compare(Maker&, const Candidate&);
const Value* simplify_select(Maker&, const Candidate&);
const Value* simplify_cast(Maker&, const Candidate&);

// simplify_shape.cpp
const Value* simplify_broadcast(Maker&, const Candidate&);
const Value* simplify_permute(Maker&, const Candidate&);
const Value* simplify_reshape(Maker&, const Candidate&);
const Value* simplify_pick(Maker&, const Candidate&);
const Value* simplify_reduce(Maker&, const Candidate&);
const Value* simplify_dim(Maker&, const Candidate&);
const Value* simplify_slice_begin(Maker&, const Candidate&);
const Value* simplify_slice_end(Maker&, const Candidate&);

}  // namespace tilewright::ir
