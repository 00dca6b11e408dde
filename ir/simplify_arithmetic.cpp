#include <algorithm>
#include <cmath>
#include <limits>

#include "tilewright/ir/error.h"
#include "tilewright/ir/simplify_rules.h"

namespace tilewright::ir {
namespace {

bool is_commutative(Fn fn) {
  return fn == Fn::add || fn == Fn::mul || fn == Fn::min || fn == Fn::max || fn == Fn::bit_and ||
         fn == Fn::bit_or || fn == Fn::bit_xor;
}

bool holds_integers(const Value* value) { return !is_float(value->type.dtype); }

/// Whether `value` is known and equals `wanted`, the sign of zero included.
bool is_constant(const Value* value, double wanted) {
  const auto known = constant_of(value);
  if (!known) return false;
  if (!is_float(known->dtype)) return static_cast<double>(known->i) == wanted;
  return known->f == wanted && std::signbit(known->f) == std::signbit(wanted);
}

/// Whether `value` is known to have all bits set (true, for bool).
bool is_all_ones(const Value* value) {
  const auto known = constant_of(value);
  return known && !is_float(known->dtype) && known->i == wrap_to(known->dtype, -1);
}

/// Whether x fn y is x because of y.
bool is_neutral(Fn fn, const Value* y) {
  const bool integers = holds_integers(y);
  switch (fn) {
    case Fn::add:
      // -0 + 0 is 0, so only -0 leaves every float as it is.
      return is_constant(y, integers ? 0.0 : -0.0);
    case Fn::sub:
    case Fn::bit_or:
    case Fn::bit_xor:
    case Fn::shl:
    case Fn::shr:
      return is_constant(y, 0.0);
    case Fn::mul:
    case Fn::div:
      return is_constant(y, 1.0);
    case Fn::bit_and:
      return is_all_ones(y);
    default:
      return false;
  }
}

/// Whether some values of a dtype change in any operation that computes: f8e5m2's infinities, which
/// exist in memory only.
bool has_unstable_values(DType dtype) { return dtype == DType::f8e5m2; }

/// Whether every value of `from` is one of `to`.
bool is_lossless(DType from, DType to) {
  if (from == to) return true;
  if (is_float(from)) {
    if (!is_float(to)) return false;
    return to == DType::f64 || (to == DType::f32 && is_narrow_float(from)) ||
           (is_half(to) && is_f8(from));
  }
  if (!is_float(to)) return min_of(from) >= min_of(to) && max_of(from) <= max_of(to);
  const int magnitude = min_of(from) < 0 ? bits_of(from) - 1 : bits_of(from);
  // Every dtype of so few bits is also within the range of the float types that hold them.
  return magnitude <= float_digits(to);
}

/// Whether converting to `middle` and on to `to` gives what converting at once does.
bool skips_middle(DType from, DType middle, DType to) {
  if (!is_lossless(from, middle) || (from == to && has_unstable_values(from))) return false;
  if (is_float(from) == is_float(middle)) return true;
  // An integer by way of a float: narrowing saturates there, and wraps without.
  if (!is_float(to)) return to == DType::boolean || is_lossless(from, to);
  return !is_narrow_float(to) || bits_of(from) <= 16;
}

/// The constant c of `x fn c`, and x; for integers.
struct WithConstant {
  const Value* x = nullptr;
  Scalar c;
};
std::optional<WithConstant> split(const Value* value, Fn fn) {
  const Op* op = made_by(value, OpKind::binary, fn);
  if (op == nullptr) return std::nullopt;
  const auto c = constant_of(op->operand(1));
  if (!c) return std::nullopt;
  return WithConstant{op->operand(0), *c};
}

std::optional<Scalar> fold(const Candidate& op, const std::vector<Scalar>& x) {
  switch (op.kind) {
    case OpKind::unary:
      return fold_unary(op.fn(), x[0]);
    case OpKind::binary:
      return fold_binary(op.fn(), x[0], x[1]);
    case OpKind::compare:
      return Scalar::of(DType::boolean, int64_t{fold_compare(op.fn(), x[0], x[1])});
    case OpKind::fma:
      return fold_fma(x[0], x[1], x[2]);
    case OpKind::cast:
      return fold_cast(x[0], op.type.dtype);
    default:
      return std::nullopt;
  }
}

}  // namespace

Fn Candidate::fn() const { return attribute<Fn>(AttrKey::fn); }

const Op* made_by(const Value* value, OpKind kind) {
  return value->def != nullptr && value->def->kind == kind ? value->def : nullptr;
}

const Op* made_by(const Value* value, OpKind kind, Fn fn) {
  const Op* op = made_by(value, kind);
  return op != nullptr && op->fn() == fn ? op : nullptr;
}

const Value* uniform_of(const Value* value) {
  const Op* op = made_by(value, OpKind::broadcast);
  return op != nullptr && op->operand(0)->type.is_scalar() ? op->operand(0) : nullptr;
}

std::optional<Scalar> constant_of(const Value* value) {
  if (const Value* scalar = uniform_of(value)) value = scalar;
  const Op* op = made_by(value, OpKind::constant);
  if (op == nullptr) return std::nullopt;
  const Attr& attr = *op->find(AttrKey::value);
  const DType dtype = value->type.dtype;
  if (is_float(dtype)) return Scalar::of(dtype, std::get<double>(attr));
  return Scalar::of(dtype, std::get<int64_t>(attr));
}

const Value* fold_constants(Maker& make, const Candidate& op) {
  std::vector<Scalar> known;
  for (const Value* operand : op.operands) {
    const auto value = constant_of(operand);
    if (!value) return nullptr;
    known.push_back(*value);
  }
  const auto result = fold(op, known);
  return result ? make.constant(*result, op.type.shape) : nullptr;
}

const Value* move_to_scalar(Maker& make, const Candidate& op) {
  Candidate scalar = op;
  scalar.type.shape.clear();
  for (const Value*& operand : scalar.operands) {
    operand = uniform_of(operand);
    if (operand == nullptr) return nullptr;
  }
  return make.fill(make.make(scalar), op.type.shape);
}

const Value* simplify_unary(Maker& make, const Candidate& op) {
  const Op* inner = made_by(op.operand(0), OpKind::unary);
  if (inner == nullptr) return nullptr;
  const Fn fn = op.fn(), first = inner->fn();
  if (fn == Fn::neg && has_unstable_values(op.type.dtype)) return nullptr;
  if (fn == first && (fn == Fn::neg || fn == Fn::bit_not)) return inner->operand(0);
  const bool idempotent =
      fn == Fn::abs || fn == Fn::floor || fn == Fn::ceil || fn == Fn::round || fn == Fn::trunc;
  if (fn == first && idempotent) return op.operand(0);
  if (fn == Fn::abs && first == Fn::neg) return make.unary(Fn::abs, inner->operand(0));
  return nullptr;
}

const Value* order_operands(Maker& make, const Candidate& op) {
  const Value *x = op.operand(0), *y = op.operand(1);
  if (!holds_integers(x) || !is_commutative(op.fn()) || !constant_of(x) || constant_of(y))
    return nullptr;
  return make.binary(op.fn(), y, x);
}

const Value* drop_neutral(Maker&, const Candidate& op) {
  if (has_unstable_values(op.type.dtype)) return nullptr;
  if (is_neutral(op.fn(), op.operand(1))) return op.operand(0);
  if (is_commutative(op.fn()) && is_neutral(op.fn(), op.operand(0))) return op.operand(1);
  return nullptr;
}

const Value* absorb(Maker& make, const Candidate& op) {
  const Value *x = op.operand(0), *y = op.operand(1);
  if (!holds_integers(x)) return nullptr;
  const Fn fn = op.fn();
  const bool zero_right = (fn == Fn::mul || fn == Fn::bit_and) && is_constant(y, 0);
  const bool zero_left =
      (fn == Fn::div || fn == Fn::rem || fn == Fn::shl || fn == Fn::shr) && is_constant(x, 0);
  const bool by_zero = fn == Fn::div && is_constant(y, 0);
  const bool by_one = fn == Fn::rem && is_constant(y, 1);
  if (zero_right || zero_left || by_zero || by_one)
    return make.constant(Scalar::of(op.type.dtype, int64_t{0}), op.type.shape);
  if (fn == Fn::rem && is_constant(y, 0)) return x;
  return fn == Fn::bit_or && is_all_ones(y) ? y : nullptr;
}

const Value* same_operands(Maker& make, const Candidate& op) {
  const Value* x = op.operand(0);
  if (x != op.operand(1) || has_unstable_values(op.type.dtype)) return nullptr;
  const Fn fn = op.fn();
  if (fn == Fn::min || fn == Fn::max || fn == Fn::bit_and || fn == Fn::bit_or) return x;
  if (!holds_integers(x) || (fn != Fn::sub && fn != Fn::bit_xor && fn != Fn::rem)) return nullptr;
  return make.constant(Scalar::of(op.type.dtype, int64_t{0}), op.type.shape);
}

const Value* cancel(Maker&, const Candidate& op) {
  const Value *x = op.operand(0), *y = op.operand(1);
  if (!holds_integers(x)) return nullptr;
  if (op.fn() == Fn::sub) {
    const Op* sum = made_by(x, OpKind::binary, Fn::add);
    if (sum != nullptr && sum->operand(1) == y) return sum->operand(0);
    if (sum != nullptr && sum->operand(0) == y) return sum->operand(1);
  }
  if (op.fn() == Fn::add) {
    const Op* left = made_by(x, OpKind::binary, Fn::sub);
    if (left != nullptr && left->operand(1) == y) return left->operand(0);
    const Op* right = made_by(y, OpKind::binary, Fn::sub);
    if (right != nullptr && right->operand(1) == x) return right->operand(0);
  }
  return nullptr;
}

const Value* gather_constants(Maker& make, const Candidate& op) {
  const auto c = constant_of(op.operand(1));
  const Fn fn = op.fn();
  if (!holds_integers(op.operand(0)) || !c) return nullptr;
  const auto gathered = [&](Fn result, const Value* x, Fn of, const Scalar& a, const Scalar& b) {
    return make.binary(result, x, make.constant(*fold_binary(of, a, b), op.type.shape));
  };
  if (fn == Fn::add || fn == Fn::sub) {
    const Fn other = fn == Fn::add ? Fn::sub : Fn::add;
    // (x + d) + c is x + (d + c); (x - d) - c is x - (d + c).
    if (const auto inner = split(op.operand(0), fn))
      return gathered(fn, inner->x, Fn::add, inner->c, *c);
    // (x - d) + c is x + (c - d); (x + d) - c is x + (d - c).
    if (const auto inner = split(op.operand(0), other))
      return fn == Fn::add ? gathered(Fn::add, inner->x, Fn::sub, *c, inner->c)
                           : gathered(Fn::add, inner->x, Fn::sub, inner->c, *c);
    return nullptr;
  }
  if (fn != Fn::mul && fn != Fn::min && fn != Fn::max && fn != Fn::bit_and && fn != Fn::bit_or)
    return nullptr;
  const auto inner = split(op.operand(0), fn);
  return inner ? gathered(fn, inner->x, fn, inner->c, *c) : nullptr;
}

const Value* divide_by_power_of_two(Maker& make, const Candidate& op) {
  const auto c = constant_of(op.operand(1));
  if (op.fn() != Fn::div || !c || !is_float(c->dtype)) return nullptr;
  int exponent = 0;
  // The reciprocal must be exact, and normal in every type but f8.
  if (std::fabs(std::frexp(c->f, &exponent)) != 0.5 || std::abs(exponent - 1) > 13) return nullptr;
  const Scalar reciprocal = Scalar::of(c->dtype, 1 / c->f);
  if (reciprocal.f * c->f != 1) return nullptr;
  return make.binary(Fn::mul, op.operand(0), make.constant(reciprocal, op.type.shape));
}

const Value* simplify_fma(Maker& make, const Candidate& op) {
  const Value *x = op.operand(0), *y = op.operand(1), *z = op.operand(2);
  if (is_constant(x, 1)) return make.binary(Fn::add, y, z);
  if (is_constant(y, 1)) return make.binary(Fn::add, x, z);
  if (is_constant(z, -0.0)) return make.binary(Fn::mul, x, y);
  return nullptr;
}

const Value* simplify_compare(Maker& make, const Candidate& op) {
  if (op.operand(0) != op.operand(1) || !holds_integers(op.operand(0))) return nullptr;
  const Fn fn = op.fn();
  const bool result = fn == Fn::eq || fn == Fn::le || fn == Fn::ge;
  return make.constant(Scalar::of(DType::boolean, int64_t{result}), op.type.shape);
}

const Value* simplify_select(Maker& make, const Candidate& op) {
  const Value *condition = op.operand(0), *x = op.operand(1), *y = op.operand(2);
  if (const auto known = constant_of(condition)) return known->i ? x : y;
  if (x == y) return x;
  const auto if_true = constant_of(x), if_false = constant_of(y);
  if (if_true && if_false) {
    if (if_true->identical(*if_false)) return x;
    if (x->type.dtype == DType::boolean)
      return if_true->i ? condition : make.unary(Fn::bit_not, condition);
  }
  if (const Op* negation = made_by(condition, OpKind::unary, Fn::bit_not))
    return make.select(negation->operand(0), y, x);
  return nullptr;
}

const Value* simplify_cast(Maker& make, const Candidate& op) {
  const Value* x = op.operand(0);
  const DType to = op.type.dtype;
  if (x->type.dtype == to) return x;
  const Op* inner = made_by(x, OpKind::cast);
  if (inner == nullptr || !x->type.is_value()) return nullptr;
  const Value* origin = inner->operand(0);
  if (!skips_middle(origin->type.dtype, x->type.dtype, to)) return nullptr;
  return make.cast(origin, to);
}

}  // namespace tilewright::ir
