#include "tilewright/ir/facts.h"

#include <algorithm>

#include "tilewright/ir/builder.h"
#include "tilewright/ir/facts_arithmetic.h"
#include "tilewright/ir/fold.h"

namespace tilewright::ir {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

int64_t saturating_add(int64_t x, int64_t y) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(x, y, &sum)) return sum;
  return x < 0 ? kMin : kMax;
}

int64_t saturating_sub(int64_t x, int64_t y) {
  int64_t difference = 0;
  if (!__builtin_sub_overflow(x, y, &difference)) return difference;
  return x < 0 ? kMin : kMax;
}

bool is_full(const Range& range) { return range == Range{}; }

/// The other operand of a sum that has `term` as one; null when `value` is no such sum.
const Value* added_to(const Value* value, const Value* term) {
  const Op* sum = value->def;
  if (sum == nullptr || sum->kind != OpKind::binary || sum->fn() != Fn::add) return nullptr;
  if (sum->operand(0) == term) return sum->operand(1);
  return sum->operand(1) == term ? sum->operand(0) : nullptr;
}

bool is_made_by(const Value* value, OpKind kind) {
  return value->def != nullptr && value->def->kind == kind;
}

bool is_binary(const Value* value, Fn fn) {
  return is_made_by(value, OpKind::binary) && value->def->fn() == fn;
}

}  // namespace

Facts::Facts(const Function& fn) : fn_(fn) {
  for (size_t i = 0; i < fn.params.size(); ++i)
    if (const auto limit = fn.size_limit(i)) known_[fn.params[i].value] = {{0, *limit}, 1};
  region(fn.body());
}

void Facts::region(const Region& region) {
  for (const Op* op : region.ops) {
    operation(*op);
    for (const Region* inner : op->regions) this->region(*inner);
  }
}

void Facts::operation(const Op& op) {
  if (op.results.size() != 1 || !op.regions.empty()) return;
  const Type& type = op.result()->type;
  if (!type.is_value() || is_float(type.dtype)) return;
  Known known = evaluate(op);
  // A constant is its own largest divisor (2^62 for the one whose size is no i64).
  if (known.range.is_constant())
    known.divisor = known.range.min == kMin ? int64_t{1} << 62 : std::abs(known.range.min);
  known_[op.result()] = known;
}

Facts::Known Facts::known(const Value* value) const {
  const auto found = known_.find(value);
  if (found != known_.end()) return found->second;
  return {full_range(value->type.is_value() ? value->type.dtype : DType::i64), 1};
}

Range Facts::range(const Value* value) const { return known(value).range; }
int64_t Facts::divisor(const Value* value) const { return known(value).divisor; }

namespace {

/// x fn y, given what is known of x and y.
template <class Known>
Known evaluate_binary(Fn fn, DType dtype, const Known& x, const Known& y) {
  Known result;
  result.range = range_of(fn, dtype, x.range, y.range);
  const bool may_wrap = fn == Fn::add || fn == Fn::sub || fn == Fn::mul || fn == Fn::shl;
  const bool wraps = may_wrap && result.range == full_range(dtype);
  result.divisor = divisor_of(fn, dtype, x.divisor, y.divisor, y.range, wraps);
  const bool by_constant = y.range.is_constant() && y.range.min > 0;
  if (fn == Fn::rem && by_constant && x.divisor % y.range.min == 0) result = {{0, 0}, 0};
  return result;
}

template <class Known>
Known evaluate_cast(const Known& x, DType from, DType to) {
  if (is_float(from)) return {full_range(to), 1};
  const Range full = full_range(to);
  if (to == DType::boolean) return {full, 1};
  if (full.contains(x.range.min) && full.contains(x.range.max)) return x;
  return {full, divisor_of(Fn::add, to, x.divisor, x.divisor, x.range, true)};
}

template <class Known>
Known either(const Known& x, const Known& y) {
  return {{std::min(x.range.min, y.range.min), std::max(x.range.max, y.range.max)},
          common_divisor(x.divisor, y.divisor)};
}

}  // namespace

Facts::Known Facts::evaluate(const Op& op) const {
  const DType dtype = op.result()->type.dtype;
  const Known unknown{full_range(dtype), 1};
  switch (op.kind) {
    case OpKind::constant: {
      const int64_t value = wrap_to(dtype, op.integer(AttrKey::value));
      return {{value, value}, 1};
    }
    case OpKind::dim: {
      const Param* param = fn_.param_of(op.operand(0));
      if (param == nullptr) return {{0, kMax}, 1};
      const int64_t size = param->spec.sizes.at(op.integer(AttrKey::axis));
      const bool dynamic = fn_.size_value(*param, op.integer(AttrKey::axis)) != nullptr;
      return {{dynamic ? 0 : size, size}, 1};
    }
    case OpKind::iota: {
      const int64_t extent = fn_.extent(op.shape(AttrKey::shape)[0]);
      return {{0, extent > 0 ? extent - 1 : kMax}, 1};
    }
    case OpKind::slice_begin:
    case OpKind::slice_end:
    case OpKind::slice_id:
    case OpKind::slice_index:
      return evaluate_slice_part(op);
    case OpKind::unary:
      if (op.fn() != Fn::neg) return unknown;
      return evaluate_binary(Fn::sub, dtype, Known{{0, 0}, 0}, known(op.operand(0)));
    case OpKind::binary:
      return evaluate_binary(op.fn(), dtype, known(op.operand(0)), known(op.operand(1)));
    case OpKind::select:
      return either(known(op.operand(1)), known(op.operand(2)));
    case OpKind::cast:
      return evaluate_cast(known(op.operand(0)), op.operand(0)->type.dtype, dtype);
    case OpKind::broadcast:
    case OpKind::permute:
    case OpKind::reshape:
    case OpKind::convert:
    case OpKind::pick:
      return known(op.operand(0));
    default:
      return unknown;
  }
}

Facts::Span Facts::span_of(const Value* slice) const {
  Span span;
  if (slice->type.kind != Type::Kind::slice) return span;
  span.extent = fn_.extent(slice->type.shape[0]);
  if (is_made_by(slice, OpKind::slice)) {
    span.begin = slice->def->operand(0);
    span.limit = slice->def->operand(1);
  } else if (slice->owner != nullptr) {
    const LoopView loop(*slice->owner->parent);
    span.begin = loop.begins.at(slice->index);
    span.limit = loop.limits.at(slice->index);
    span.is_argument = true;
  }
  return span;
}

Facts::Known Facts::begin_of(const Span& span) const {
  Known begin = known(span.begin);
  if (!span.is_argument) return begin;
  const Range first = begin.range;
  // The body runs only where begin < limit.
  int64_t last = saturating_sub(known(span.limit).range.max, 1);
  if (span.extent > 0 && first.is_constant() && last >= first.min) {
    int64_t walked = 0;
    if (!__builtin_sub_overflow(last, first.min, &walked)) last -= walked % span.extent;
  }
  begin.range = {first.min, std::max(last, first.min)};
  begin.divisor = span.extent > 0 ? common_divisor(begin.divisor, span.extent) : 1;
  return begin;
}

Facts::Known Facts::evaluate_slice_part(const Op& op) const {
  const Value* slice = op.operand(0);
  const Span span = span_of(slice);
  if (span.begin == nullptr) return {};
  const Known begin = begin_of(span), limit = known(span.limit);
  const int64_t extent = span.extent;
  switch (op.kind) {
    case OpKind::slice_begin:
      return begin;
    case OpKind::slice_end: {
      Known end;
      end.range.max = limit.range.max;
      if (extent > 0) {
        end.range.max = std::min(end.range.max, saturating_add(begin.range.max, extent));
        end.range.min = std::min(limit.range.min, saturating_add(begin.range.min, extent));
        end.divisor = common_divisor(begin.divisor, extent);
        if (!slice_is_full(slice)) end.divisor = common_divisor(end.divisor, limit.divisor);
      }
      // A loop's tile has at least one position, one past which it ends.
      if (span.is_argument) end.range.min = std::max(end.range.min, begin.range.min);
      end.range.max = std::max(end.range.max, end.range.min);
      return end;
    }
    case OpKind::slice_id: {
      if (!span.is_argument) return {};
      const int64_t length = saturating_sub(limit.range.max, known(span.begin).range.min);
      const int64_t last = saturating_sub(length, 1) / std::max<int64_t>(extent, 1);
      return {{0, std::max<int64_t>(last, 0)}, 1};
    }
    default:
      return {{begin.range.min, extent > 0 ? saturating_add(begin.range.max, extent - 1) : kMax},
              extent == 1 ? begin.divisor : 1};
  }
}

/// Whether x - base is a multiple of the extent, or negative.
bool Facts::is_multiple_above(const Value* x, const Value* base, int64_t extent) const {
  if (x == base || is_less_equal(x, base)) return true;
  const Known from = known(base), to = known(x);
  if (common_divisor(from.divisor, to.divisor) % extent == 0) return true;
  int64_t distance = 0;
  if (from.range.is_constant() && to.range.is_constant() &&
      !__builtin_sub_overflow(to.range.min, from.range.min, &distance))
    return distance % extent == 0;
  const Value* added = added_to(x, base);
  // A sum that wraps is below its base.
  return added != nullptr && known(added).range.min >= 0 && known(added).divisor % extent == 0;
}

/// Whether begin and limit are sums with one term in common (where a part of a tensor begins), and
/// without it there are enough positions between them.
bool Facts::stays_full_when_moved(const Span& span) const {
  if (!is_binary(span.begin, Fn::add)) return false;
  if (is_full(known(span.begin).range) || is_full(known(span.limit).range)) return false;  // wraps
  for (const Value* term : span.begin->def->operands) {
    const Value* from = added_to(span.begin, term);
    const Value* to = added_to(span.limit, term);
    if (to == nullptr) continue;
    const int64_t least = known(to).range.min;
    if (least > saturating_add(kMin, span.extent) && known(from).range.max <= least - span.extent)
      return true;
  }
  return false;
}

bool Facts::slice_is_full(const Value* slice) const {
  const Span span = span_of(slice);
  if (span.begin == nullptr || span.extent <= 0) return false;
  if (span.is_argument) return is_multiple_above(span.limit, span.begin, span.extent);
  const Known begin = known(span.begin), limit = known(span.limit);
  if (begin.range.max <= saturating_sub(limit.range.min, span.extent) &&
      limit.range.min > saturating_add(kMin, span.extent))
    return true;
  const Value* added = added_to(span.limit, span.begin);
  if (added != nullptr && !is_full(limit.range) && known(added).range.min >= span.extent)
    return true;
  if (stays_full_when_moved(span)) return true;
  return common_divisor(begin.divisor, limit.divisor) % span.extent == 0 &&
         is_less(span.begin, span.limit);
}

bool Facts::slice_in_bounds(const Value* slice, int64_t bound) const {
  return slice_is_full(slice) && range(span_of(slice).limit).max <= bound;
}

bool Facts::slice_in_bounds(const Value* slice, const Value* bound) const {
  return slice_is_full(slice) && is_less_equal(span_of(slice).limit, bound);
}

/// Whether a check before each launch finds two sizes of tensors equal.
bool Facts::checked_equal(const Value* x, const Value* y) const {
  for (const LaunchCheck& check : fn_.checks) {
    const SizeProgram& steps = check.condition;
    const bool compares = steps.size() == 3 && steps[0].kind == SizeStep::Kind::size &&
                          steps[1].kind == SizeStep::Kind::size && steps[2].fn == Fn::eq;
    if (!compares) continue;
    const Value* a = fn_.params.at(steps[0].value).value;
    const Value* b = fn_.params.at(steps[1].value).value;
    if ((x == a && y == b) || (x == b && y == a)) return true;
  }
  return false;
}

bool Facts::is_less_equal(const Value* x, const Value* y) const {
  if (x == y || range(x).max <= range(y).min || checked_equal(x, y)) return true;
  if (is_binary(x, Fn::min))
    return is_less_equal(x->def->operand(0), y) || is_less_equal(x->def->operand(1), y);
  if (is_binary(y, Fn::max))
    return is_less_equal(x, y->def->operand(0)) || is_less_equal(x, y->def->operand(1));
  if (is_made_by(x, OpKind::slice_end)) {
    const Span span = span_of(x->def->operand(0));
    return span.limit != nullptr && is_less_equal(span.limit, y);
  }
  return is_less(x, y);
}

bool Facts::is_less(const Value* x, const Value* y) const {
  if (range(x).max < range(y).min) return true;
  if (!is_made_by(x, OpKind::slice_begin)) return false;
  const Span span = span_of(x->def->operand(0));
  return span.is_argument && is_less_equal(span.limit, y);
}

}  // namespace tilewright::ir
