#include "tilewright/ir/simplify.h"

#include "tilewright/ir/error.h"
#include "tilewright/ir/simplify_rules.h"

namespace tilewright::ir {
namespace {

struct SimplifyRule {
  OpKind kind;
  SimplifyFn apply;
};

/// Tried in order; the first that gives a value wins.
constexpr SimplifyRule kRules[] = {
    // All operands constant: a constant. All operands repeat a scalar: the scalar's result,
    // repeated.
    {OpKind::unary, fold_constants},
    {OpKind::unary, move_to_scalar},
    {OpKind::binary, fold_constants},
    {OpKind::binary, move_to_scalar},
    {OpKind::compare, fold_constants},
    {OpKind::compare, move_to_scalar},
    {OpKind::fma, fold_constants},
    {OpKind::fma, move_to_scalar},
    {OpKind::select, move_to_scalar},
    {OpKind::cast, fold_constants},
    {OpKind::cast, move_to_scalar},

    {OpKind::unary, simplify_unary},           // -(-x), |-x|, ~~x
    {OpKind::binary, order_operands},          // integers: 2 + x is x + 2
    {OpKind::binary, drop_neutral},            // x + 0, x * 1, x / 1, x & true
    {OpKind::binary, absorb},                  // integers: x * 0, x & 0, 0 / x, x % 1
    {OpKind::binary, same_operands},           // x - x, x & x, min(x, x)
    {OpKind::binary, cancel},                  // integers: (x + y) - y, (x - y) + y
    {OpKind::binary, gather_constants},        // integers: (x + 2) + 3, (x * 2) * 3
    {OpKind::binary, divide_by_power_of_two},  // floats: x / 4 is x * 0.25
    {OpKind::fma, simplify_fma},               // 1 * y + z, x * y + -0
    {OpKind::compare, simplify_compare},       // integers: x < x
    {OpKind::select, simplify_select},         // a known condition, equal branches
    {OpKind::cast, simplify_cast},             // to the type it has, or by way of a wider one

    {OpKind::broadcast, simplify_broadcast},      // to the shape it has, of a broadcast
    {OpKind::permute, simplify_permute},          // the identity, of a permute, of a fill
    {OpKind::reshape, simplify_reshape},          // the identity, of a reshape, of a fill
    {OpKind::pick, simplify_pick},                // of a join, of a fill
    {OpKind::reduce, simplify_reduce},            // of no axis
    {OpKind::dim, simplify_dim},                  // of a tensor of known size
    {OpKind::slice_begin, simplify_slice_begin},  // of a slice operation
    {OpKind::slice_end, simplify_slice_end},      // of a slice operation of known extent
};

/// Replaces an operation with one result by what the rules give.
bool simplify_value(Rewriter& rewriter, const Op& op) {
  if (op.effect() != Effect::pure || op.results.size() != 1) return false;
  const Candidate candidate{op.kind, rewriter(op.operands), op.attributes, op.result()->type};
  const Value* value = Maker(rewriter.builder()).try_rules(candidate);
  if (value == nullptr) return false;
  rewriter.replace(op.result(), value);
  return true;
}

bool rule(Rewriter& rewriter, const Op& op);

/// An if on a constant: the branch taken, in place.
bool open_if(Rewriter& rewriter, const Op& op) {
  const auto condition = constant_of(rewriter(op.operand(0)));
  if (!condition) return false;
  const Region& taken = *op.regions[condition->i ? 0 : 1];
  for (const Op* inner : taken.ops) {
    if (inner->kind == OpKind::yield) continue;
    rewriter.builder().loc = inner->loc;
    if (!rule(rewriter, *inner)) rewriter.clone(*inner);
  }
  for (size_t i = 0; i < op.results.size(); ++i)
    rewriter.replace(op.results[i], rewriter(taken.yields()[i]));
  return true;
}

/// A sequential loop with nothing to go over: what it would carry. (A grid is left: it launches no
/// program, and the passes after this one expect it.)
bool drop_empty_loop(Rewriter& rewriter, const Op& op) {
  if (op.integer(AttrKey::parallel) != 0) return false;
  const LoopView loop(op);
  for (size_t i = 0; i < loop.begins.size(); ++i) {
    const auto begin = constant_of(rewriter(loop.begins[i]));
    const auto limit = constant_of(rewriter(loop.limits[i]));
    if (!begin || !limit || begin->i < limit->i) continue;
    for (size_t r = 0; r < op.results.size(); ++r)
      rewriter.replace(op.results[r], rewriter(loop.inits[r]));
    return true;
  }
  return false;
}

/// A while loop whose condition does not hold.
bool drop_while(Rewriter& rewriter, const Op& op) {
  const auto condition = constant_of(rewriter(op.operand(0)));
  if (!condition || condition->i) return false;
  const WhileView loop(op);
  for (size_t r = 0; r < op.results.size(); ++r)
    rewriter.replace(op.results[r], rewriter(loop.inits[r]));
  return true;
}

bool rule(Rewriter& rewriter, const Op& op) {
  if (op.kind == OpKind::while_loop) return drop_while(rewriter, op);
  if (op.kind == OpKind::if_else) return open_if(rewriter, op);
  if (op.kind == OpKind::tile_loop) return drop_empty_loop(rewriter, op);
  return simplify_value(rewriter, op);
}

}  // namespace

const Value* Maker::try_rules(const Candidate& candidate) {
  for (const SimplifyRule& rule : kRules) {
    if (rule.kind != candidate.kind) continue;
    if (const Value* value = rule.apply(*this, candidate)) {
      internal_check(value->type == candidate.type, "a simplification changed a type");
      return value;
    }
  }
  return nullptr;
}

const Value* Maker::make(const Candidate& candidate) {
  if (const Value* value = try_rules(candidate)) return value;
  return builder_.create(candidate.kind, candidate.operands, candidate.attributes, &candidate.type)
      ->result();
}

const Value* Maker::unary(Fn fn, const Value* x) {
  return make({OpKind::unary, {x}, {{AttrKey::fn, fn}}, x->type});
}

const Value* Maker::binary(Fn fn, const Value* x, const Value* y) {
  return make({OpKind::binary, {x, y}, {{AttrKey::fn, fn}}, x->type});
}

const Value* Maker::cast(const Value* x, DType dtype) {
  return make({OpKind::cast, {x}, {}, Type::value(dtype, x->type.shape)});
}

const Value* Maker::select(const Value* condition, const Value* x, const Value* y) {
  return make({OpKind::select, {condition, x, y}, {}, x->type});
}

const Value* Maker::fill(const Value* scalar, const Shape& shape) {
  return builder_.fill(scalar, shape);
}

const Value* Maker::constant(const Scalar& scalar, const Shape& shape) {
  const Value* value = is_float(scalar.dtype) ? builder_.constant(scalar.dtype, scalar.f)
                                              : builder_.constant(scalar.dtype, scalar.i);
  return builder_.fill(value, shape);
}

Function simplify(const Function& fn) { return Rewriter::run(fn, rule); }

}  // namespace tilewright::ir
