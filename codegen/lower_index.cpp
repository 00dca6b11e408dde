#include <fmt/format.h>

#include <algorithm>

#include "tilewright/codegen/lowering.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

/// A digit of a thread's number.
struct ThreadDigit {
  int64_t weight;  // position in threadIdx.x
  int64_t radix;
  int axis;
  int64_t stride;
};

/// Lane digits, then warp digits, of threadIdx.x; neighbours that continue one another are merged.
std::vector<ThreadDigit> thread_digits(const Layout& layout) {
  std::vector<ThreadDigit> digits;
  int64_t weight = 1;
  for (Holder holder : {Holder::lane, Holder::warp})
    for (const Digit& digit : layout.digits) {
      if (digit.holder != holder) continue;
      if (digit.radix > 1) digits.push_back({weight, digit.radix, digit.axis, digit.stride});
      weight *= digit.radix;
    }
  std::vector<ThreadDigit> merged;
  for (const ThreadDigit& digit : digits) {
    if (!merged.empty()) {
      ThreadDigit& last = merged.back();
      if (last.axis == digit.axis && last.weight * last.radix == digit.weight &&
          (digit.axis < 0 || last.stride * last.radix == digit.stride)) {
        last.radix *= digit.radix;
        continue;
      }
    }
    merged.push_back(digit);
  }
  return merged;
}

struct RegisterDigit {
  int64_t weight, radix, stride;
};

std::vector<RegisterDigit> register_digits(const Layout& layout, int axis) {
  std::vector<RegisterDigit> digits;
  int64_t weight = 1;
  for (const Digit& digit : layout.digits) {
    if (digit.holder != Holder::reg || digit.axis != axis) continue;
    if (digit.radix > 1) {
      if (!digits.empty() && digits.back().stride * digits.back().radix == digit.stride)
        digits.back().radix *= digit.radix;
      else
        digits.push_back({weight, digit.radix, digit.stride});
    }
    weight *= digit.radix;
  }
  return digits;
}

/// Whether C++ gives an index expression the type long long.
bool is_wide(const Lowering& lowering, const ExprRef& x) {
  switch (x->kind) {
    case Expr::Kind::integer:
      return x->dtype == DType::i64;
    case Expr::Kind::name:
      return lowering.wide_names.contains(x->text);
    case Expr::Kind::cast:
      return x->text == "long long";
    case Expr::Kind::conditional:
      return is_wide(lowering, x->args[1]) || is_wide(lowering, x->args[2]);
    case Expr::Kind::unary:
    case Expr::Kind::binary:
    case Expr::Kind::call:
      return std::any_of(x->args.begin(), x->args.end(),
                         [&](const ExprRef& arg) { return is_wide(lowering, arg); });
    default:
      return false;
  }
}

}  // namespace

ExprRef index_extremum(const Lowering& lowering, const char* which, ExprRef x, ExprRef y) {
  if (is_wide(lowering, x) || is_wide(lowering, y))
    for (ExprRef* side : {&x, &y}) {
      if ((*side)->kind == Expr::Kind::integer)
        *side = integer((*side)->value, DType::i64);
      else if (!is_wide(lowering, *side))
        *side = cast("long long", *side);
    }
  return call(which, {std::move(x), std::move(y)});
}

std::string dimension_name(const Lowering& lowering, const ir::Shape& shape, int axis) {
  const ir::Dim& dim = shape.at(axis);
  if (dim.is_block() && !lowering.fn.axes[dim.axis].name.empty())
    return singular(lowering.fn.axes[dim.axis].name);
  const int from_end = static_cast<int>(shape.size()) - 1 - axis;
  if (from_end == 0) return "col";
  if (from_end == 1) return "row";
  return fmt::format("i{}", axis);
}

ExprRef thread_digit(int threads, int64_t weight, int64_t radix) {
  ExprRef digit = name("threadIdx.x") / integer(weight);
  return weight * radix >= threads ? digit : digit % integer(radix);
}

ExprRef thread_coordinate(Lowering& lowering, const Layout& layout, int axis,
                          const std::string& name_hint) {
  ExprRef sum = integer(0);
  std::string key;
  const auto digits = thread_digits(layout);
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
    if (digit->axis != axis) continue;
    sum = sum +
          thread_digit(lowering.threads(), digit->weight, digit->radix) * integer(digit->stride);
    key += fmt::format("{}:{}:{} ", digit->weight, digit->radix, digit->stride);
  }
  if (key.empty()) return sum;
  auto [at, fresh] = lowering.thread_offsets.emplace(key, "");
  if (fresh) {
    at->second = lowering.names.unique("thread_" + name_hint);
    lowering.prologue.push_back(declare("int", at->second, sum));
  }
  return name(at->second);
}

ExprRef register_coordinate(const Layout& layout, int axis, const ExprRef& index, int step) {
  ExprRef sum = integer(0);
  const auto digits = register_digits(layout, axis);
  for (const RegisterDigit& digit : digits) {
    if (digit.weight * digit.radix <= step) continue;  // index is a multiple of step
    const bool last = &digit == &digits.back();
    if (last && digit.stride % digit.weight == 0 &&
        (digit.weight == 1 || step % digit.weight == 0)) {
      sum = sum + index * integer(digit.stride / digit.weight);
      continue;
    }
    ExprRef part = index / integer(digit.weight);
    if (!last) part = part % integer(digit.radix);
    sum = sum + part * integer(digit.stride);
  }
  return sum;
}

std::vector<ExprRef> coordinates(Lowering& lowering, const Layout& layout, const ir::Shape& shape,
                                 const RegIndex& index, int vector_axis, int vector) {
  std::vector<ExprRef> at;
  for (int axis = 0; axis < layout.rank; ++axis) {
    const std::string hint = dimension_name(lowering, shape, axis);
    at.push_back(thread_coordinate(lowering, layout, axis, hint) +
                 register_coordinate(layout, axis, index[axis], axis == vector_axis ? vector : 1));
  }
  return at;
}

ExprRef replica_guard(const Lowering& lowering, const Layout& layout) {
  ExprRef guard;
  for (const ThreadDigit& digit : thread_digits(layout)) {
    if (digit.axis >= 0) continue;
    const bool last = digit.weight * digit.radix >= lowering.threads();
    ExprRef first = last ? name("threadIdx.x") < integer(digit.weight)
                         : binary("==", thread_digit(lowering.threads(), digit.weight, digit.radix),
                                  integer(0));
    if (last && digit.weight == 1) first = binary("==", name("threadIdx.x"), integer(0));
    guard = guard ? guard && first : first;
  }
  return guard;
}

ExprRef overhang_guard(const Layout& layout, const std::vector<int64_t>& extents,
                       const std::vector<ExprRef>& at) {
  ExprRef guard;
  for (int axis = 0; axis < layout.rank; ++axis)
    if (layout.covered(axis) > extents[axis]) {
      ExprRef inside = at[axis] < integer(extents[axis]);
      guard = guard ? guard && inside : inside;
    }
  return guard;
}

void for_axis(Lowering& lowering, int axis, int registers, int step,
              const std::function<void(const ExprRef&)>& body) {
  if (registers <= step) {
    body(integer(0));
    return;
  }
  const std::string& variable = lowering.register_loops.at(axis);
  std::vector<Stmt> inner = lowering.collect([&] { body(name(variable)); });
  lowering.emit(
      loop(variable, integer(0), integer(registers), integer(step), true, std::move(inner)));
}

void for_registers(Lowering& lowering, const Layout& layout, int vector_axis, int vector,
                   const std::function<void(const RegIndex&)>& body) {
  RegIndex index;
  std::function<void(int)> nest = [&](int axis) {
    if (axis == layout.rank) {
      body(index);
      return;
    }
    for_axis(lowering, axis, layout.registers(axis), axis == vector_axis ? vector : 1,
             [&](const ExprRef& at) {
               index.push_back(at);
               nest(axis + 1);
               index.pop_back();
             });
  };
  nest(0);
}

void for_registers_across(Lowering& lowering, const Layout& layout, int axis,
                          const std::function<void(RegIndex&)>& body) {
  RegIndex index(layout.rank, integer(0));
  std::function<void(int)> nest = [&](int other) {
    if (other == axis) ++other;
    if (other >= layout.rank) return body(index);
    for_axis(lowering, other, layout.registers(other), 1, [&](const ExprRef& at) {
      index[other] = at;
      nest(other + 1);
    });
  };
  nest(0);
}

std::vector<int64_t> register_extents(const Layout& layout) {
  std::vector<int64_t> extents;
  for (int axis = 0; axis < layout.rank; ++axis)
    if (layout.registers(axis) > 1) extents.push_back(layout.registers(axis));
  return extents;
}

ExprRef register_element(const std::string& array, const Layout& layout, const RegIndex& index) {
  std::vector<ExprRef> indices;
  for (int axis = 0; axis < layout.rank; ++axis)
    if (layout.registers(axis) > 1) indices.push_back(index.at(axis));
  return indices.empty() ? name(array) : element(array, std::move(indices));
}

}  // namespace tilewright::codegen
