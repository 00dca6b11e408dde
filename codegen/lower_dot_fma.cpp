#include <algorithm>

#include "tilewright/codegen/function_exprs.h"
#include "tilewright/codegen/lowering.h"
#include "tilewright/codegen/prelude.h"
#include "tilewright/codegen/stage_layouts.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using ir::Op;
using ir::Value;

/// One operand of a dot as its thread reads it.
struct Fragment {
  FragmentRead read;
  int outer;       // dimension of the accumulator: 0 for a, 1 for b
  int registers;   // along it
  int64_t extent;  // of the operand along it
  DType stored, used;
  std::string name;
};

Fragment make_fragment(Lowering& lowering, const Op& op, int operand, const Layout& layout) {
  Fragment fragment;
  const Value* ring = view_of(op.operand(operand)).ring;
  fragment.read = fragment_read(lowering.fn, op, operand, layout, lowering.in.shared.at(ring));
  fragment.outer = operand;
  fragment.registers = layout.registers(operand);
  fragment.extent = lowering.extents(op.result())[operand];
  fragment.stored = ring->type.dtype;
  fragment.used = op.result()->type.dtype;
  fragment.name = lowering.names.unique(name_of(ring, operand == 0 ? "a" : "b") + "_frag");
  return fragment;
}

/// Shared-memory element of a fragment at register position `reg` and depth `k`.
ExprRef fragment_source(Lowering& lowering, const Op& op, const Fragment& fragment,
                        const Layout& layout, const ExprRef& reg, const ExprRef& k) {
  const int step = fragment.read.along_k ? 1 : fragment.read.vector;
  ExprRef outer =
      thread_coordinate(lowering, layout, fragment.outer,
                        dimension_name(lowering, op.result()->type.shape, fragment.outer)) +
      register_coordinate(layout, fragment.outer, reg, step);
  // Threads past the tile multiply its last elements; their results are not stored.
  if (layout.covered(fragment.outer) > fragment.extent)
    outer = call("min", {outer, integer(fragment.extent - step)});
  std::vector<ExprRef> at(2);
  at[fragment.read.outer_axis] = outer;
  at[fragment.read.k_axis] = k;
  const RingBuffer& buffer = lowering.rings.at(fragment.read.view.ring);
  return shared_element(buffer.name, lowering.in.shared.at(fragment.read.view.ring),
                        buffer.read_stage, at);
}

/// Declares the fragment's registers and fills them for depth `k`: all of its rows, `vector` steps
/// of k each when k is contiguous, one step otherwise.
void load_fragment(Lowering& lowering, const Op& op, const Fragment& fragment, const Layout& layout,
                   const ExprRef& k) {
  const int vector = fragment.read.vector;
  std::vector<int64_t> extents;
  if (fragment.registers > 1) extents.push_back(fragment.registers);
  if (fragment.read.along_k && vector > 1) extents.push_back(vector);
  const std::string type = cuda_type(fragment.stored);
  lowering.emit(extents.empty() ? declare(type, fragment.name, nullptr, false)
                                : array(type, fragment.name, extents));
  const int step = fragment.read.along_k ? 1 : vector;
  for_axis(lowering, fragment.outer, fragment.registers, step, [&](const ExprRef& reg) {
    std::vector<ExprRef> at;
    if (fragment.registers > 1) at.push_back(reg);
    if (fragment.read.along_k && vector > 1) at.push_back(integer(0));
    const ExprRef to = at.empty() ? name(fragment.name) : element(fragment.name, at);
    const ExprRef from = fragment_source(lowering, op, fragment, layout, reg, k);
    if (vector == 1)
      lowering.emit(assign(to, from));
    else
      lowering.emit(
          call_stmt(call(fmt::format("tw::load<{}>", vector), {address(to), address(from)})));
  });
}

ExprRef fragment_element(const Fragment& fragment, const ExprRef& reg, const ExprRef& step) {
  std::vector<ExprRef> at;
  if (fragment.registers > 1) at.push_back(reg);
  if (fragment.read.along_k && fragment.read.vector > 1) at.push_back(step);
  ExprRef value = at.empty() ? name(fragment.name) : element(fragment.name, at);
  DType dtype = fragment.stored;
  for (DType next : fragment.read.view.casts) {
    value = cast_expr(value, dtype, next);
    dtype = next;
  }
  return cast_expr(value, dtype, fragment.used);
}

}  // namespace

void lower_dot_fma(Lowering& lowering, const Op& op) {
  const Layout& layout = lowering.layout(op.result());
  const int64_t k_extent = lowering.fn.extent(op.operand(0)->type.shape[1]);
  lowering.at_source(op);
  const std::string array = prepare_accumulator(lowering, op, layout);
  const Fragment fragments[2] = {make_fragment(lowering, op, 0, layout),
                                 make_fragment(lowering, op, 1, layout)};
  int depth = 1;  // steps of k taken together
  for (const Fragment& fragment : fragments)
    if (fragment.read.along_k) depth = std::max(depth, fragment.read.vector);

  const std::string& kk = lowering.vector_loop[3];
  const std::string& p = lowering.vector_loop[0];
  auto multiply = [&](const ExprRef& step) {
    for (const Fragment& fragment : fragments)
      if (!fragment.read.along_k || fragment.read.vector < depth)
        load_fragment(lowering, op, fragment, layout, name(kk) + step);
    for_registers(lowering, layout, -1, 1, [&](const RegIndex& index) {
      const ExprRef acc = register_element(array, layout, index);
      lowering.emit(assign(
          acc, fma_expr(op.result()->type.dtype, fragment_element(fragments[0], index[0], step),
                        fragment_element(fragments[1], index[1], step), acc)));
    });
  };
  std::vector<Stmt> body = lowering.collect([&] {
    for (const Fragment& fragment : fragments)
      if (fragment.read.along_k && fragment.read.vector == depth)
        load_fragment(lowering, op, fragment, layout, name(kk));
    if (depth == 1) {
      multiply(integer(0));
      return;
    }
    std::vector<Stmt> steps = lowering.collect([&] { multiply(name(p)); });
    lowering.emit(loop(p, integer(0), integer(depth), integer(1), true, std::move(steps)));
  });
  lowering.emit(loop(kk, integer(0), integer(k_extent), integer(depth), true, std::move(body)));
}

}  // namespace tilewright::codegen
