// Reductions by a function of the kernel: within each thread, across lanes, across warps.
#include "tilewright/codegen/lowering.h"
#include "tilewright/codegen/prelude.h"
#include "tilewright/codegen/reduction_parts.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::Value;
using Exprs = std::vector<ExprRef>;

struct Combination {
  Lowering& lowering;
  const Op& op;
  CombineFunction fn;
  ReducedAxes axes;
  std::vector<std::string> names = {};  ///< of the results' variables

  const Value* result(size_t i) const { return op.results[i]; }
  /// The results at a register position.
  Exprs elements(const RegIndex& kept) const {
    Exprs all;
    for (size_t i = 0; i < fn.count(); ++i)
      all.push_back(result(i)->type.is_tile() ? register_element(names[i], axes.to, kept)
                                              : name(names[i]));
    return all;
  }
  void for_result(const std::function<void(const RegIndex&)>& body) const {
    if (result(0)->type.is_tile())
      for_registers(lowering, axes.to, -1, 1, body);
    else
      body({});
  }
};

void declare_results(Combination& c) {
  for (size_t i = 0; i < c.fn.count(); ++i) {
    const Value* result = c.result(i);
    const std::string hint = name_of(result, name_of(c.fn.tile(i), "value") + "_combined");
    if (result->type.is_tile()) {
      if (result->name.empty()) const_cast<Value*>(result)->name = hint;
      c.names.push_back(declare_tile(c.lowering, result));
    } else {
      c.names.push_back(c.lowering.names.unique(hint));
      c.lowering.emit(declare(cuda_type(result->type.dtype), c.names.back(), nullptr, false));
      c.lowering.scalars[result] = name(c.names.back());
    }
  }
}

void thread_part(Combination& c) {
  const Value* x = c.fn.tile(0);
  const auto extents = c.lowering.extents(x);
  const auto start = [&](const RegIndex& kept) {
    const Exprs elements = c.elements(kept);
    for (size_t i = 0; i < c.fn.count(); ++i)
      c.lowering.emit(assign(elements[i], c.fn.identity(i)));
  };
  for_each_kept(c.lowering, c.axes, start, [&](const RegIndex& index, const RegIndex& kept) {
    const auto at = coordinates(c.lowering, c.axes.from, x->type.shape, index);
    const ExprRef inside = overhang_guard(c.axes.from, extents, at);
    Exprs values;
    for (size_t i = 0; i < c.fn.count(); ++i) {
      ExprRef value = element_value(c.lowering, c.fn.tile(i), index);
      values.push_back(inside ? conditional(inside, value, c.fn.identity(i)) : value);
    }
    const Exprs elements = c.elements(kept);
    c.fn.apply(elements, c.fn.declare_each(values, "next"), elements);
  });
}

void lane_part(Combination& c) {
  const std::string& distance = c.lowering.vector_loop[1];
  for (const auto& [first, limit] : lane_ranges(c.axes))
    c.for_result([&, first = first, limit = limit](const RegIndex& kept) {
      const Exprs elements = c.elements(kept);
      std::vector<Stmt> body = c.lowering.collect([&] {
        const Exprs others =
            c.fn.declare_each(c.fn.from_lane("tw::shuffle_xor", elements, name(distance)), "other");
        c.fn.apply(elements, others, elements);
      });
      c.lowering.emit(
          loop(distance, integer(first), integer(limit), name(distance), true, std::move(body)));
    });
}

void warp_part(Combination& c) {
  const WarpPart part = warp_part_of(c.lowering, c.axes);
  if (part.count == 1) return;
  std::vector<std::string> buffers;
  for (size_t i = 0; i < c.fn.count(); ++i)
    buffers.push_back(declare_warp_buffer(c.lowering, c.names[i], c.axes, c.result(i), part.count));
  const auto of_warp = [&](const ExprRef& warp, const RegIndex& kept) {
    Exprs all;
    for (size_t i = 0; i < c.fn.count(); ++i)
      all.push_back(
          shared(buffers[i], warp_buffer_index(c.lowering, c.axes, c.result(i), warp, kept)));
    return all;
  };
  c.lowering.emit_if(part.writer, [&] {
    c.for_result([&](const RegIndex& kept) {
      const Exprs to = of_warp(part.number, kept), from = c.elements(kept);
      for (size_t i = 0; i < to.size(); ++i) c.lowering.emit(assign(to[i], from[i]));
    });
  });
  c.for_result([&](const RegIndex& kept) {
    const Exprs elements = c.elements(kept), first = of_warp(integer(0), kept);
    for (size_t i = 0; i < first.size(); ++i) c.lowering.emit(assign(elements[i], first[i]));
    const std::string& warp = c.lowering.vector_loop[2];
    std::vector<Stmt> body = c.lowering.collect([&] {
      const Exprs others = c.fn.declare_each(of_warp(name(warp), kept), "other");
      c.fn.apply(elements, others, elements);
    });
    c.lowering.emit(loop(warp, integer(1), integer(part.count), integer(1), true, std::move(body)));
  });
}

}  // namespace

void lower_combine(Lowering& lowering, const Op& op) {
  const auto& axes = op.integers(AttrKey::axes);
  internal_check(op.has(AttrKey::guard) && op.integers(AttrKey::guard).empty(),
                 "a reduction with an implicit mask was lowered");
  const Layout& from = lowering.layout(op.operand(0));
  Combination c{lowering, op, {lowering, op}, {from, drop_axes(from, axes), axes}};
  lowering.at_source(op);
  declare_results(c);
  thread_part(c);
  lane_part(c);
  warp_part(c);
  hold_halves(lowering, op);
}

}  // namespace tilewright::codegen
