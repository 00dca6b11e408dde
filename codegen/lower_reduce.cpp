#include <algorithm>

#include "tilewright/codegen/function_exprs.h"
#include "tilewright/codegen/lowering.h"
#include "tilewright/codegen/prelude.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::Value;

constexpr int kWarpSize = 32;

/// One reduction being lowered: first within each thread, then across the lanes of a warp by
/// shuffles, then across warps through shared memory.
struct Reduction {
  Lowering& lowering;
  const Op& op;
  const Value* x;
  const Value* result;
  const Layout& from;
  Layout to;
  std::vector<int64_t> axes;
  std::string name;
  std::string others = {};  ///< what other lanes hold, where it has to be read first

  bool reduced(int axis) const { return std::find(axes.begin(), axes.end(), axis) != axes.end(); }
  DType dtype() const { return result->type.dtype; }
  ExprRef combine(const ExprRef& a, const ExprRef& b) const {
    return fn_expr(op.fn(), dtype(), {a, b});
  }
  ExprRef element(const RegIndex& kept) const {
    return result->type.is_tile() ? register_element(name, to, kept)
                                  : tilewright::codegen::name(name);
  }
};

/// Splits a loop nest: kept axes outside, reduced ones inside.
void thread_part(Reduction& r) {
  const auto extents = r.lowering.extents(r.x);
  RegIndex index(r.from.rank, integer(0)), kept;
  std::function<void(int)> over_reduced = [&](int axis) {
    while (axis < r.from.rank && !r.reduced(axis)) ++axis;
    if (axis == r.from.rank) {
      ExprRef value = element_value(r.lowering, r.x, index);
      const auto at = coordinates(r.lowering, r.from, r.x->type.shape, index);
      if (ExprRef inside = overhang_guard(r.from, extents, at))
        value = conditional(inside, value, identity_expr(r.op.fn(), r.dtype()));
      r.lowering.emit(assign(r.element(kept), r.combine(r.element(kept), value)));
      return;
    }
    for_axis(r.lowering, axis, r.from.registers(axis), 1, [&](const ExprRef& at) {
      index[axis] = at;
      over_reduced(axis + 1);
    });
  };
  std::function<void(int)> over_kept = [&](int axis) {
    while (axis < r.from.rank && r.reduced(axis)) ++axis;
    if (axis == r.from.rank) {
      r.lowering.emit(assign(r.element(kept), identity_expr(r.op.fn(), r.dtype())));
      over_reduced(0);
      return;
    }
    for_axis(r.lowering, axis, r.from.registers(axis), 1, [&](const ExprRef& at) {
      index[axis] = at;
      kept.push_back(at);
      over_kept(axis + 1);
      kept.pop_back();
    });
  };
  over_kept(0);
}

/// Runs `body` for each register of the result.
void for_result(Reduction& r, const std::function<void(const RegIndex&)>& body) {
  if (r.result->type.is_tile())
    for_registers(r.lowering, r.to, -1, 1, body);
  else
    body({});
}

/// Lane distances whose holders have different elements of a reduced axis, merged into ranges
/// [first, limit) of powers of two.
std::vector<std::pair<int64_t, int64_t>> lane_ranges(const Reduction& r) {
  std::vector<std::pair<int64_t, int64_t>> ranges;
  int64_t weight = 1;
  for (const Digit& digit : r.from.digits) {
    if (digit.holder != Holder::lane) continue;
    const int64_t limit = weight * digit.radix;
    if (digit.radix > 1 && digit.axis >= 0 && r.reduced(digit.axis)) {
      if (!ranges.empty() && ranges.back().second == weight)
        ranges.back().second = limit;
      else
        ranges.emplace_back(weight, limit);
    }
    weight = limit;
  }
  return ranges;
}

void lane_part(Reduction& r) {
  for (const auto& [first, limit] : lane_ranges(r))
    for_result(r, [&, first = first, limit = limit](const RegIndex& kept) {
      const std::string& distance = r.lowering.vector_loop[1];
      const ExprRef shuffled = call("tw::shuffle_xor", {r.element(kept), name(distance)});
      std::vector<Stmt> body;
      ExprRef other = shuffled;
      if (r.dtype() == DType::boolean) {
        // && and || do not evaluate their second operand in every lane; a shuffle needs them all.
        body.push_back(declare("bool", r.others, shuffled));
        other = name(r.others);
      }
      body.push_back(assign(r.element(kept), r.combine(r.element(kept), other)));
      r.lowering.emit(
          loop(distance, integer(first), integer(limit), name(distance), true, std::move(body)));
    });
}

/// Warps that hold different elements of the reduced axes: their count, a thread's number among
/// them, and the condition that one thread writes for each group.
struct WarpPart {
  int64_t count = 1;
  ExprRef number = integer(0);
  ExprRef writer;
};

WarpPart warp_part_of(const Reduction& r) {
  WarpPart part;
  Layout writers = r.to;  // digits that still tell threads apart, once warps are numbered
  writers.digits.clear();
  int64_t weight = 1;
  for (Holder holder : {Holder::lane, Holder::warp})
    for (const Digit& digit : r.from.digits) {
      if (digit.holder != holder) continue;
      const bool reduced = digit.axis >= 0 && r.reduced(digit.axis);
      Digit copy = digit;
      if (reduced && holder == Holder::warp && digit.radix > 1) {
        part.number = part.number +
                      thread_digit(r.lowering.threads(), weight, digit.radix) * integer(part.count);
        part.count *= digit.radix;
        copy.axis = 0;  // not a replica
      } else {
        copy.axis = reduced || digit.axis < 0 ? -1 : 0;
      }
      writers.digits.push_back(copy);
      weight *= digit.radix;
    }
  part.writer = replica_guard(r.lowering, writers);
  return part;
}

/// Index of a result element among those of the scratch buffer.
std::vector<ExprRef> scratch_index(Reduction& r, const ExprRef& warp, const RegIndex& kept) {
  std::vector<ExprRef> index = {warp};
  if (!r.result->type.is_tile()) return index;
  for (const ExprRef& at : coordinates(r.lowering, r.to, r.result->type.shape, kept))
    index.push_back(at);
  return index;
}

void warp_part(Reduction& r) {
  const WarpPart part = warp_part_of(r);
  if (part.count == 1) return;
  SharedBuffer buffer;
  buffer.name = r.lowering.names.unique(r.name + "_of_warps");
  buffer.dtype = r.dtype();
  buffer.extents = {part.count};
  for (int axis = 0; axis < r.to.rank && r.result->type.is_tile(); ++axis)
    buffer.extents.push_back(r.to.covered(axis));
  buffer.comment = "what each warp contributes";
  r.lowering.kernel.buffers.push_back(buffer);

  r.lowering.emit_if(part.writer, [&] {
    for_result(r, [&](const RegIndex& kept) {
      r.lowering.emit(
          assign(shared(buffer.name, scratch_index(r, part.number, kept)), r.element(kept)));
    });
  });

  for_result(r, [&](const RegIndex& kept) {
    r.lowering.emit(
        assign(r.element(kept), shared(buffer.name, scratch_index(r, integer(0), kept))));
    const std::string& warp = r.lowering.vector_loop[2];
    const ExprRef other = shared(buffer.name, scratch_index(r, name(warp), kept));
    std::vector<Stmt> body = {assign(r.element(kept), r.combine(r.element(kept), other))};
    r.lowering.emit(loop(warp, integer(1), integer(part.count), integer(1), true, std::move(body)));
  });
}

/// The user's name for the result, also when it was given to a view of it (keep_dims); else what it
/// is: "sum", "max_value".
std::string result_name(const Lowering& lowering, const Op& op) {
  const Value* result = op.result();
  if (!result->name.empty()) return result->name;
  std::string found;
  for (const Op* user : op.parent->ops) {
    const bool views = user->results.size() == 1 && is_inlined(lowering, user->result()) &&
                       user->kind == ir::OpKind::broadcast && user->operand(0) == result;
    if (views && found.empty()) found = user->result()->name;
  }
  if (!found.empty()) return found;
  return op.fn() == ir::Fn::add ? "sum" : std::string(ir::info(op.fn()).name) + "_value";
}

}  // namespace

void lower_reduce(Lowering& lowering, const Op& op) {
  const Value* x = op.operand(0);
  const Value* result = op.result();
  const auto& axes = op.integers(AttrKey::axes);
  internal_check(op.has(AttrKey::guard) && op.integers(AttrKey::guard).empty(),
                 "a reduction with an implicit mask was lowered");
  Reduction r{lowering, op, x, result, lowering.layout(x), drop_axes(lowering.layout(x), axes),
              axes,     ""};
  lowering.at_source(op);
  const std::string hint = result_name(lowering, op);
  if (result->type.is_tile()) {
    if (result->name.empty()) const_cast<Value*>(result)->name = hint;
    r.name = declare_tile(lowering, result);
  } else {
    r.name = lowering.names.unique(hint);
    lowering.emit(declare(cuda_type(result->type.dtype), r.name, nullptr, false));
    lowering.scalars[result] = name(r.name);
  }
  thread_part(r);
  if (r.dtype() == DType::boolean) r.others = lowering.names.unique("of_other_lane");
  lane_part(r);
  warp_part(r);
}

}  // namespace tilewright::codegen
