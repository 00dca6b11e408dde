#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tilewright/codegen/function_exprs.h"
#include "tilewright/codegen/lowering.h"
#include "tilewright/codegen/prelude.h"
#include "tilewright/ir/error.h"
#include "tilewright/ir/opspec.h"

namespace tilewright::codegen {
namespace {

using ir::AttrKey;
using ir::Fn;
using ir::Op;
using ir::OpKind;
using ir::Value;

/// Tiles that cost nothing to compute again: views and positions.
bool is_free(OpKind kind) {
  return kind == OpKind::broadcast || kind == OpKind::permute || kind == OpKind::join ||
         kind == OpKind::pick || kind == OpKind::slice_index || kind == OpKind::iota;
}

/// Tiles that are computed again at each use.
bool is_view(const Lowering& lowering, const Op& op) {
  return is_free(op.kind) || widens_load(lowering, op) || shifts_load(lowering, op);
}

/// Tiles that can be computed where they are used, element by element.
bool is_by_element(OpKind kind) { return ir::is_elementwise(kind) || is_free(kind); }

/// Whether `op` reads its tile operands element by element, so that they can be computed in place.
bool takes_inlined(OpKind kind) {
  return is_by_element(kind) || kind == OpKind::reduce || kind == OpKind::combine ||
         kind == OpKind::scan || kind == OpKind::sort || kind == OpKind::store ||
         kind == OpKind::stage || kind == OpKind::print || kind == OpKind::convert ||
         kind == OpKind::reshape || kind == OpKind::dot || ir::is_atomic(kind);
}

/// Index tiles are read by guards and for addresses, and better held.
bool is_index_tile(const Op& op, const Value* operand) {
  if (!ir::writes_tensor(op.kind) || !operand->type.is_tile()) return false;
  const ir::AccessView access(op);
  return std::find(access.indices.begin(), access.indices.end(), operand) != access.indices.end();
}

/// How often a tile is computed if everything that can be inlined is: uses through free views count
/// as many times as the view is used.
void count_effective_uses(Lowering& lowering, const ir::Region& region) {
  for (auto op = region.ops.rbegin(); op != region.ops.rend(); ++op) {
    for (const ir::Region* inner : (*op)->regions) count_effective_uses(lowering, *inner);
    int times = 1;
    if ((*op)->results.size() == 1 && is_view(lowering, **op))
      times = lowering.uses[(*op)->result()];
    const bool inlines = takes_inlined((*op)->kind);
    const bool tests = (*op)->kind == OpKind::while_loop ||
                       ((*op)->kind == OpKind::yield && (*op)->parent->parent != nullptr &&
                        (*op)->parent->parent->kind == OpKind::while_loop);
    for (const Value* operand : (*op)->operands) {
      // The condition of a while loop is computed where it is assigned.
      if (tests && operand == (*op)->operand(0)) {
        ++lowering.uses[operand];
        continue;
      }
      // A dot reads each element of what it multiplies once, and sums into its own registers.
      const bool sum = (*op)->kind == OpKind::dot && operand == (*op)->operand(2);
      // Where a slice ends is asked by guards only: many accesses need none.
      if ((*op)->kind == OpKind::slice && operand == (*op)->operand(1)) {
        ++lowering.uses[operand];
        continue;
      }
      const bool same_region = operand->def != nullptr && operand->def->parent == (*op)->parent;
      lowering.uses[operand] += inlines && !sum && !is_index_tile(**op, operand) &&
                                        (same_region || !operand->type.is_tile())
                                    ? times
                                    : 2;
    }
  }
}

void number(Lowering& lowering, const ir::Region& region) {
  for (const Op* op : region.ops) {
    lowering.position[op] = static_cast<int>(lowering.position.size());
    for (const ir::Region* inner : op->regions) number(lowering, *inner);
  }
}

/// The position at which `value` is last read, uses by inlined operations counted where those are
/// computed.
int last_read(const Lowering& lowering, const ir::Region& body, const Value* value,
              const Op* except) {
  int last = -1;
  ir::for_each_op(body, [&](const Op& op) {
    for (const Value* operand : op.operands) {
      if (operand != value || &op == except) continue;
      const bool passes_on = op.results.size() == 1 && is_inlined(lowering, op.result());
      last = std::max(last, passes_on ? last_read(lowering, body, op.result(), except)
                                      : lowering.position.at(&op));
    }
  });
  return last;
}

/// Whether computing an element of `value` reads an element of `tile` at another place: through a
/// transposition or a broadcast.
bool reads_elsewhere(const Lowering& lowering, const Value* value, const Value* tile, bool moved) {
  if (value == tile) return moved;
  if (value->def == nullptr || (value->type.is_tile() && !is_inlined(lowering, value)))
    return false;
  moved |= is_free(value->def->kind);
  return std::any_of(value->def->operands.begin(), value->def->operands.end(), [&](const Value* x) {
    return x->type.is_tile() && reads_elsewhere(lowering, x, tile, moved);
  });
}

/// Whether an operand that a dot multiplies is computed from `tile` where the dot reads it.
bool multiplies_view_of(const Lowering& lowering, const Op& dot, const Value* tile) {
  return is_view_of(lowering, dot.operand(0), {tile}) ||
         is_view_of(lowering, dot.operand(1), {tile});
}

/// Whether `dot` can sum straight into the registers of `acc`, the sum before it: nothing else
/// reads that later.
bool takes_over(const Lowering& lowering, const Op& dot, const Value* acc) {
  return dot.operand(2) == acc && !multiplies_view_of(lowering, dot, acc) &&
         last_read(lowering, *dot.parent, acc, &dot) < lowering.position.at(&dot);
}

void share_accumulator(Lowering& lowering, const Op& dot) {
  const Value* acc = dot.operand(2);
  const bool sums_before =
      acc->def != nullptr && acc->def->kind == OpKind::dot && acc->def->parent == dot.parent;
  if (sums_before && takes_over(lowering, dot, acc)) lowering.homes[dot.result()] = acc;
}

/// Whether `op` can compute what a loop carries next into the registers of `carried`.
bool replaces(const Lowering& lowering, const Op& op, const Value* carried) {
  if (op.kind == OpKind::dot) return takes_over(lowering, op, carried);
  if (!ir::is_elementwise(op.kind)) return false;
  const bool elsewhere = std::any_of(op.operands.begin(), op.operands.end(), [&](const Value* x) {
    return reads_elsewhere(lowering, x, carried, false);
  });
  return !elsewhere && last_read(lowering, *op.parent, carried, &op) < lowering.position.at(&op);
}

/// A yielded tile can be computed straight into the carried one's array when nothing reads the old
/// value afterwards; of several sums one after the other, the first.
void share_carried_arrays(Lowering& lowering, const ir::Region* body,
                          const std::vector<const Value*>& all_carried,
                          const std::vector<const Value*>& all_next) {
  for (size_t i = 0; i < all_carried.size(); ++i) {
    const Value* carried = all_carried[i];
    const Value* next = all_next[i];
    for (auto home = lowering.homes.find(next); home != lowering.homes.end();
         home = lowering.homes.find(next))
      next = home->second;
    if (!carried->type.is_tile() || next->def == nullptr || next->def->parent != body) continue;
    if (replaces(lowering, *next->def, carried)) lowering.homes[next] = carried;
  }
}

bool fits_int(const Lowering& lowering, const Value* value) {
  const auto range = lowering.facts.range(value);
  return range.min > std::numeric_limits<int32_t>::min() / 2 &&
         range.max < std::numeric_limits<int32_t>::max() / 2;
}

/// i64 arithmetic on values known to be small is done in plain ints.
ExprRef small_binary(const Lowering& lowering, Fn fn, const ExprRef& x, const ExprRef& y) {
  switch (fn) {
    case Fn::add:
      return x + y;
    case Fn::sub:
      return x - y;
    case Fn::mul:
      return x * y;
    case Fn::min:
      return index_extremum(lowering, "min", x, y);
    case Fn::max:
      return index_extremum(lowering, "max", x, y);
    default:
      return nullptr;
  }
}

ExprRef scalar_binary(Lowering& lowering, const Op& op, const ExprRef& x, const ExprRef& y) {
  const bool small = op.result()->type.dtype == DType::i64 && fits_int(lowering, op.result()) &&
                     fits_int(lowering, op.operand(0)) && fits_int(lowering, op.operand(1));
  if (small)
    if (ExprRef plain = small_binary(lowering, op.fn(), x, y)) return plain;
  return nullptr;
}

/// An int expression where the function wants a long long.
ExprRef widened(const ExprRef& x, DType dtype) {
  return dtype == DType::i64 && x->kind != Expr::Kind::cast ? cast("long long", x) : x;
}

/// Integers that float holds exactly are rounded once on the way through it.
ExprRef cast_value(const Lowering& lowering, const Op& op, const ExprRef& x) {
  constexpr int64_t exact = int64_t{1} << 24;
  const DType from = op.operand(0)->type.dtype, to = op.result()->type.dtype;
  if (is_narrow_float(to) && !is_float(from)) {
    const ir::Range range = lowering.facts.range(op.operand(0));
    if (range.min >= -exact && range.max <= exact)
      return cast_expr(cast("float", x), DType::f32, to);
  }
  return cast_expr(x, from, to);
}

ExprRef apply(Lowering& lowering, const Op& op, std::vector<ExprRef> args) {
  switch (op.kind) {
    case OpKind::select:
      return conditional(args[0], args[1], args[2]);
    case OpKind::cast:
      return cast_value(lowering, op, args[0]);
    case OpKind::fma:
      return fma_expr(op.result()->type.dtype, args[0], args[1], args[2]);
    case OpKind::compare:
      return fn_expr(op.fn(), op.operand(0)->type.dtype, std::move(args));
    case OpKind::random:
      return call(fmt::format("tw::philox<{}>", op.integer(AttrKey::word)), std::move(args));
    case OpKind::inline_ptx:
      return ptx_call(lowering, op, std::move(args));
    default:
      break;
  }
  const DType dtype = op.result()->type.dtype;
  if (op.result()->type.is_scalar() && op.kind == OpKind::binary)
    if (ExprRef plain = scalar_binary(lowering, op, args[0], args[1])) return plain;
  for (ExprRef& arg : args) arg = widened(arg, dtype);
  return fn_expr(op.fn(), dtype, std::move(args));
}

ExprRef slice_end(Lowering& lowering, const Value* slice) {
  const ExprRef begin = scalar_value(lowering, slice);
  const int64_t extent = lowering.fn.extent(slice->type.shape[0]);
  if (lowering.facts.slice_is_full(slice)) return begin + integer(extent);
  return index_extremum(lowering, "min", begin + integer(extent), lowering.limits.at(slice));
}

ExprRef constant_value(const Op& op) {
  const ir::Attr& value = *op.find(AttrKey::value);
  const DType dtype = op.result()->type.dtype;
  if (const auto* number = std::get_if<double>(&value)) return constant_expr(*number, dtype);
  const int64_t number = std::get<int64_t>(value);
  const bool index = dtype == DType::i64 && number == static_cast<int32_t>(number);
  return index ? integer(number) : constant_expr(number, dtype);
}

/// The position of an element along a slice or iota.
ExprRef position_value(Lowering& lowering, const Value* value, const RegIndex& index) {
  const ExprRef at = coordinates(lowering, lowering.layout(value), value->type.shape, index)[0];
  if (value->def->kind == OpKind::iota) return at;
  return scalar_value(lowering, value->def->operand(0)) + at;
}

ExprRef broadcast_value(Lowering& lowering, const Op& op, const RegIndex& index) {
  const Value* x = op.operand(0);
  if (x->type.is_scalar()) return scalar_value(lowering, x);
  const auto& dims = op.integers(AttrKey::dims);
  RegIndex inner;
  for (size_t i = 0; i < dims.size(); ++i)
    inner.push_back(lowering.layout(x).registers(static_cast<int>(i)) > 1 ? index[dims[i]]
                                                                          : integer(0));
  return element_value(lowering, x, inner);
}

ExprRef permute_value(Lowering& lowering, const Op& op, const RegIndex& index) {
  const auto& dims = op.integers(AttrKey::dims);
  RegIndex inner(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) inner[dims[i]] = index[i];
  return element_value(lowering, op.operand(0), inner);
}

/// The operand that a position along the new dimension names.
ExprRef join_value(Lowering& lowering, const Op& op, RegIndex index) {
  const int64_t axis = op.integer(AttrKey::axis);
  const ExprRef at = index[axis];
  index.erase(index.begin() + axis);
  const size_t last = op.operands.size() - 1;
  ExprRef value = element_value(lowering, op.operand(last), index);
  for (size_t i = last; i-- > 0;)
    value = conditional(binary("==", at, integer(static_cast<int64_t>(i))),
                        element_value(lowering, op.operand(i), index), value);
  return value;
}

ExprRef pick_value(Lowering& lowering, const Op& op, RegIndex index) {
  index.insert(index.begin() + op.integer(AttrKey::axis), integer(op.integer(AttrKey::position)));
  return element_value(lowering, op.operand(0), index);
}

/// Whether each thread divides several elements by one and the same: the divisor is a broadcast
/// along a dimension of which a thread holds more than one.
bool divides_by_one(const Lowering& lowering, const Op& op) {
  constexpr int64_t worthwhile = 4;  // quotients for which a reciprocal pays
  if (op.kind != OpKind::binary || op.fn() != Fn::div) return false;
  const Value* divisor = op.operand(1);
  while (divisor->def != nullptr && divisor->type.is_tile() &&
         (divisor->def->kind == OpKind::broadcast || divisor->def->kind == OpKind::permute))
    divisor = divisor->def->operand(0);
  // Dividing by a power of two is a multiplication already.
  const bool constant = divisor->def != nullptr && divisor->def->kind == OpKind::constant;
  const double* number =
      constant ? std::get_if<double>(divisor->def->find(AttrKey::value)) : nullptr;
  int exponent = 0;
  if (number != nullptr && std::abs(std::frexp(*number, &exponent)) == 0.5) return false;
  const auto found = lowering.in.layouts.find(divisor);
  if (divisor->type.is_tile() && found == lowering.in.layouts.end()) return false;
  const int64_t divisors = divisor->type.is_tile() ? found->second.registers() : 1;
  return lowering.layout(op.result()).registers() >= worthwhile * divisors;
}

ExprRef inlined_value(Lowering& lowering, const Value* value, const RegIndex& index) {
  const Op& op = *value->def;
  if (widens_load(lowering, op))
    if (ExprRef at =
            float_of_word(op.operand(0), element_value(lowering, op.operand(0), index), lowering))
      return at;
  switch (op.kind) {
    case OpKind::slice_index:
    case OpKind::iota:
      return position_value(lowering, value, index);
    case OpKind::broadcast:
      return broadcast_value(lowering, op, index);
    case OpKind::permute:
      return permute_value(lowering, op, index);
    case OpKind::join:
      return join_value(lowering, op, index);
    case OpKind::pick:
      return pick_value(lowering, op, index);
    default:
      break;
  }
  std::vector<ExprRef> args;
  for (const Value* operand : op.operands) args.push_back(element_value(lowering, operand, index));
  if (divides_by_one(lowering, op))
    return quotient_expr(op.result()->type.dtype, std::move(args[0]), std::move(args[1]));
  return apply(lowering, op, std::move(args));
}

}  // namespace

void analyze_values(Lowering& lowering) {
  count_effective_uses(lowering, lowering.fn.body());
  number(lowering, lowering.fn.body());
  ir::for_each_op(lowering.fn.body(), [&](const Op& op) {
    if (op.kind == OpKind::dot) share_accumulator(lowering, op);
  });
  ir::for_each_op(lowering.fn.body(), [&](const Op& op) {
    if (op.kind == OpKind::tile_loop) {
      const ir::LoopView loop(op);
      share_carried_arrays(lowering, loop.body, loop.carried, loop.body->yields());
    } else if (op.kind == OpKind::while_loop) {
      const ir::WhileView loop(op);
      share_carried_arrays(lowering, loop.body, loop.carried, loop.next);
    }
  });
}

bool is_inlined(const Lowering& lowering, const Value* value) {
  if (!value->type.is_tile() || value->def == nullptr || !is_by_element(value->def->kind))
    return false;
  if (is_view(lowering, *value->def)) return true;
  auto uses = lowering.uses.find(value);
  return uses != lowering.uses.end() && uses->second <= 1;
}

bool is_view_of(const Lowering& lowering, const Value* value,
                const std::vector<const Value*>& variables) {
  if (std::find(variables.begin(), variables.end(), value) != variables.end()) return true;
  if (value->def == nullptr || value->def->effect() != ir::Effect::pure) return false;
  if (value->type.is_tile() && !is_inlined(lowering, value)) return false;
  return std::any_of(value->def->operands.begin(), value->def->operands.end(),
                     [&](const Value* x) { return is_view_of(lowering, x, variables); });
}

std::string name_of(const Value* value, std::string_view otherwise) {
  return value->name.empty() ? std::string(otherwise) : value->name;
}

std::string scalar_type(const Lowering& lowering, const Value* value) {
  if (value->type.dtype == DType::i64 && fits_int(lowering, value)) return "int";
  return cuda_type(value->type.dtype);
}

ExprRef scalar_value(Lowering& lowering, const Value* value) {
  if (auto found = lowering.scalars.find(value); found != lowering.scalars.end())
    return found->second;
  internal_check(value->def != nullptr, "a scalar without a definition was lowered");
  const Op& op = *value->def;
  switch (op.kind) {
    case OpKind::constant:
      return constant_value(op);
    case OpKind::dim:
      return dimension_size(lowering, op.operand(0), op.integer(AttrKey::axis));
    case OpKind::slice_begin:
      return scalar_value(lowering, op.operand(0));
    case OpKind::slice_end:
      return slice_end(lowering, op.operand(0));
    case OpKind::slice_id:
      return lowering.ids.at(op.operand(0));
    case OpKind::pick:
      return pick_value(lowering, op, {});
    default:
      break;
  }
  std::vector<ExprRef> args;
  for (const Value* operand : op.operands) args.push_back(scalar_value(lowering, operand));
  return apply(lowering, op, std::move(args));
}

ExprRef slice_limit(Lowering& lowering, const Value* slice) {
  if (auto found = lowering.limits.find(slice); found != lowering.limits.end())
    return found->second;
  internal_check(slice->def != nullptr, "a slice without a limit was lowered");
  return scalar_value(lowering, slice->def->operand(1));
}

ExprRef element_value(Lowering& lowering, const Value* value, const RegIndex& index) {
  if (!value->type.is_tile()) return scalar_value(lowering, value);
  if (auto found = lowering.arrays.find(value); found != lowering.arrays.end())
    return register_element(found->second, lowering.layout(value), index);
  return inlined_value(lowering, value, index);
}

std::string declare_tile(Lowering& lowering, const Value* value, bool zero) {
  if (auto home = lowering.homes.find(value); home != lowering.homes.end())
    return lowering.arrays[value] = lowering.arrays.at(home->second);
  const std::string array_name = lowering.names.unique(name_of(value, "tile"));
  const auto extents = register_extents(lowering.layout(value));
  const std::string type = cuda_type(value->type.dtype);
  if (!extents.empty())
    lowering.emit(array(type, array_name, extents, zero));
  else
    lowering.emit(declare(type, array_name,
                          zero ? constant_expr(int64_t{0}, value->type.dtype) : nullptr, false));
  return lowering.arrays[value] = array_name;
}

void materialize(Lowering& lowering, const Value* value) {
  // The expression is built before the array exists, so that it reads the operands.
  const Layout& layout = lowering.layout(value);
  const std::string array_name = declare_tile(lowering, value);
  lowering.arrays.erase(value);
  for_registers(lowering, layout, -1, 1, [&](const RegIndex& index) {
    lowering.emit(
        assign(register_element(array_name, layout, index), inlined_value(lowering, value, index)));
  });
  lowering.arrays[value] = array_name;
}

void lower_elementwise(Lowering& lowering, const Op& op) {
  if (op.result()->type.is_scalar()) {
    lower_scalar(lowering, op);
    return;
  }
  if (op.result()->type.kind == ir::Type::Kind::shared || is_inlined(lowering, op.result())) return;
  lowering.at_source(op);
  materialize(lowering, op.result());
}

void lower_scalar(Lowering& lowering, const Op& op) {
  const Value* value = op.result();
  const bool leaf = op.operands.empty() || op.kind == OpKind::slice_begin ||
                    op.kind == OpKind::slice_id || op.kind == OpKind::dim;
  const ExprRef expr = scalar_value(lowering, value);
  const bool simple = leaf || expr->kind == Expr::Kind::integer || expr->kind == Expr::Kind::name;
  if (simple || lowering.uses[value] <= 1) {
    lowering.scalars[value] = expr;
    return;
  }
  lowering.at_source(op);
  const std::string variable = lowering.names.unique(name_of(value, "scalar"));
  lowering.emit(declare(scalar_type(lowering, value), variable, expr));
  lowering.scalars[value] = name(variable);
}

}  // namespace tilewright::codegen
