#include "tilewright/codegen/function_exprs.h"
#include "tilewright/codegen/lowering.h"
#include "tilewright/codegen/prelude.h"
#include "tilewright/codegen/reduction_parts.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::Value;

/// One reduction being lowered: first within each thread, then across the lanes of a warp by
/// shuffles, then across warps through shared memory.
struct Reduction {
  Lowering& lowering;
  const Op& op;
  const Value* x;
  const Value* result;
  ReducedAxes axes;
  std::string name;
  std::string others = {};  ///< what other lanes hold, where it has to be read first

  DType dtype() const { return result->type.dtype; }
  ExprRef combine(const ExprRef& a, const ExprRef& b) const {
    return fn_expr(op.fn(), dtype(), {a, b});
  }
  ExprRef element(const RegIndex& kept) const {
    return result->type.is_tile() ? register_element(name, axes.to, kept)
                                  : tilewright::codegen::name(name);
  }
};

void thread_part(Reduction& r) {
  const auto extents = r.lowering.extents(r.x);
  const Layout& from = r.axes.from;
  const auto start = [&](const RegIndex& kept) {
    r.lowering.emit(assign(r.element(kept), identity_expr(r.op.fn(), r.dtype())));
  };
  for_each_kept(r.lowering, r.axes, start, [&](const RegIndex& index, const RegIndex& kept) {
    ExprRef value = element_value(r.lowering, r.x, index);
    const auto at = coordinates(r.lowering, from, r.x->type.shape, index);
    if (ExprRef inside = overhang_guard(from, extents, at))
      value = conditional(inside, value, identity_expr(r.op.fn(), r.dtype()));
    r.lowering.emit(assign(r.element(kept), r.combine(r.element(kept), value)));
  });
}

/// Runs `body` for each register of the result.
void for_result(Reduction& r, const std::function<void(const RegIndex&)>& body) {
  if (r.result->type.is_tile())
    for_registers(r.lowering, r.axes.to, -1, 1, body);
  else
    body({});
}

void lane_part(Reduction& r) {
  for (const auto& [first, limit] : lane_ranges(r.axes))
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

void warp_part(Reduction& r) {
  const WarpPart part = warp_part_of(r.lowering, r.axes);
  if (part.count == 1) return;
  const std::string buffer = declare_warp_buffer(r.lowering, r.name, r.axes, r.result, part.count);
  const auto of_warp = [&](const ExprRef& warp, const RegIndex& kept) {
    return shared(buffer, warp_buffer_index(r.lowering, r.axes, r.result, warp, kept));
  };
  r.lowering.emit_if(part.writer, [&] {
    for_result(r, [&](const RegIndex& kept) {
      r.lowering.emit(assign(of_warp(part.number, kept), r.element(kept)));
    });
  });

  for_result(r, [&](const RegIndex& kept) {
    r.lowering.emit(assign(r.element(kept), of_warp(integer(0), kept)));
    const std::string& warp = r.lowering.vector_loop[2];
    const ExprRef other = of_warp(name(warp), kept);
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
  const Layout& from = lowering.layout(x);
  Reduction r{lowering, op, x, result, {from, drop_axes(from, axes), axes}, ""};
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
  hold_halves(lowering, op);
}

}  // namespace tilewright::codegen
