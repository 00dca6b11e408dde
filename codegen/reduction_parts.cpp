#include "tilewright/codegen/reduction_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "tilewright/codegen/prelude.h"
#include "tilewright/ir/combine.h"

namespace tilewright::codegen {

using ir::Op;
using ir::Value;

bool ReducedAxes::reduced(int axis) const {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

void for_each_kept(
    Lowering& lowering, const ReducedAxes& reduction,
    const std::function<void(const RegIndex& kept)>& start,
    const std::function<void(const RegIndex& index, const RegIndex& kept)>& element) {
  const Layout& from = reduction.from;
  RegIndex index(from.rank, integer(0)), kept;
  std::function<void(int)> over_reduced = [&](int axis) {
    while (axis < from.rank && !reduction.reduced(axis)) ++axis;
    if (axis == from.rank) return element(index, kept);
    for_axis(lowering, axis, from.registers(axis), 1, [&](const ExprRef& at) {
      index[axis] = at;
      over_reduced(axis + 1);
    });
  };
  std::function<void(int)> over_kept = [&](int axis) {
    while (axis < from.rank && reduction.reduced(axis)) ++axis;
    if (axis == from.rank) {
      start(kept);
      over_reduced(0);
      return;
    }
    for_axis(lowering, axis, from.registers(axis), 1, [&](const ExprRef& at) {
      index[axis] = at;
      kept.push_back(at);
      over_kept(axis + 1);
      kept.pop_back();
    });
  };
  over_kept(0);
}

std::vector<std::pair<int64_t, int64_t>> lane_ranges(const ReducedAxes& reduction) {
  std::vector<std::pair<int64_t, int64_t>> ranges;
  int64_t weight = 1;
  for (const Digit& digit : reduction.from.digits) {
    if (digit.holder != Holder::lane) continue;
    const int64_t limit = weight * digit.radix;
    if (digit.radix > 1 && digit.axis >= 0 && reduction.reduced(digit.axis)) {
      if (!ranges.empty() && ranges.back().second == weight)
        ranges.back().second = limit;
      else
        ranges.emplace_back(weight, limit);
    }
    weight = limit;
  }
  return ranges;
}

WarpPart warp_part_of(Lowering& lowering, const ReducedAxes& reduction) {
  WarpPart part;
  part.number = integer(0);
  Layout writers = reduction.to;  // digits that still tell threads apart, once warps are numbered
  writers.digits.clear();
  int64_t weight = 1;
  for (Holder holder : {Holder::lane, Holder::warp})
    for (const Digit& digit : reduction.from.digits) {
      if (digit.holder != holder) continue;
      const bool reduced = digit.axis >= 0 && reduction.reduced(digit.axis);
      Digit copy = digit;
      if (reduced && holder == Holder::warp && digit.radix > 1) {
        part.number = part.number +
                      thread_digit(lowering.threads(), weight, digit.radix) * integer(part.count);
        part.count *= digit.radix;
        copy.axis = 0;  // not a replica
      } else {
        copy.axis = reduced || digit.axis < 0 ? -1 : 0;
      }
      writers.digits.push_back(copy);
      weight *= digit.radix;
    }
  part.writer = replica_guard(lowering, writers);
  return part;
}

std::string declare_warp_buffer(Lowering& lowering, const std::string& name,
                                const ReducedAxes& reduction, const Value* result, int64_t warps) {
  SharedBuffer buffer;
  buffer.name = lowering.names.unique(name + "_of_warps");
  buffer.dtype = result->type.dtype;
  buffer.extents = {warps};
  for (int axis = 0; axis < reduction.to.rank && result->type.is_tile(); ++axis)
    buffer.extents.push_back(reduction.to.covered(axis));
  buffer.comment = "what each warp contributes";
  lowering.kernel.buffers.push_back(buffer);
  return buffer.name;
}

std::vector<ExprRef> warp_buffer_index(Lowering& lowering, const ReducedAxes& reduction,
                                       const Value* result, const ExprRef& warp,
                                       const RegIndex& kept) {
  std::vector<ExprRef> index = {warp};
  if (!result->type.is_tile()) return index;
  for (const ExprRef& at : coordinates(lowering, reduction.to, result->type.shape, kept))
    index.push_back(at);
  return index;
}

CombineFunction::CombineFunction(Lowering& lowering, const Op& op) : lowering_(lowering), op_(op) {
  const ir::CombineView view(op);
  tiles_ = view.tiles;
  identities_ = view.identities;
  lefts_ = view.lefts;
  rights_ = view.rights;
}

ExprRef CombineFunction::identity(size_t i) const {
  return scalar_value(lowering_, identities_[i]);
}

void CombineFunction::apply(const std::vector<ExprRef>& left, const std::vector<ExprRef>& right,
                            const std::vector<ExprRef>& targets) const {
  const ir::Region& body = *op_.regions[0];
  for (size_t i = 0; i < count(); ++i) {
    lowering_.scalars[lefts_[i]] = left[i];
    lowering_.scalars[rights_[i]] = right[i];
  }
  const auto& yields = body.yields();
  std::unordered_map<const Value*, int> uses;
  for (const Op* op : body.ops)
    for (const Value* operand : op->operands) ++uses[operand];
  for (const Op* op : body.ops) {
    if (op->kind == ir::OpKind::yield || op->kind == ir::OpKind::constant) continue;
    const Value* value = op->result();
    const bool yielded =
        count() > 1 && std::find(yields.begin(), yields.end(), value) != yields.end();
    const ExprRef expr = scalar_value(lowering_, value);
    if (uses[value] <= 1 && !yielded) {
      lowering_.scalars[value] = expr;
      continue;
    }
    // Results are computed before any of them replaces an operand.
    const std::string variable = lowering_.names.unique(name_of(value, "combined"));
    lowering_.emit(declare(cuda_type(value->type.dtype), variable, expr));
    lowering_.scalars[value] = name(variable);
  }
  std::vector<ExprRef> results;
  for (size_t i = 0; i < count(); ++i) {
    ExprRef value = scalar_value(lowering_, yields[i]);
    const bool moves = std::any_of(targets.begin(), targets.begin() + static_cast<int64_t>(i),
                                   [&](const ExprRef& target) { return same(target, value); });
    if (moves) {
      const std::string variable = lowering_.names.unique("old_value");
      lowering_.emit(declare(cuda_type(dtype(i)), variable, value));
      value = name(variable);
    }
    results.push_back(value);
  }
  for (size_t i = 0; i < count(); ++i)
    if (!same(targets[i], results[i])) lowering_.emit(assign(targets[i], results[i]));
  for (const Op* op : body.ops)
    for (const Value* value : op->results) lowering_.scalars.erase(value);
}

std::vector<ExprRef> CombineFunction::declare_each(const std::vector<ExprRef>& values,
                                                   std::string_view suffix, bool is_const) const {
  std::vector<ExprRef> variables;
  for (size_t i = 0; i < count(); ++i) {
    const std::string variable =
        lowering_.names.unique(fmt::format("{}_{}", name_of(tiles_[i], "value"), suffix));
    lowering_.emit(declare(cuda_type(dtype(i)), variable, values[i], is_const));
    variables.push_back(name(variable));
  }
  return variables;
}

std::vector<ExprRef> CombineFunction::from_lane(const char* helper,
                                                const std::vector<ExprRef>& values,
                                                const ExprRef& lane) const {
  std::vector<ExprRef> results;
  for (const ExprRef& value : values) results.push_back(call(helper, {value, lane}));
  return results;
}

}  // namespace tilewright::codegen
