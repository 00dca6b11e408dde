#include "tilewright/codegen/dot_operands.h"
#include "tilewright/codegen/low_part.h"
#include "tilewright/codegen/lowering.h"
#include "tilewright/codegen/matrix_operand.h"
#include "tilewright/codegen/matrix_unit.h"
#include "tilewright/codegen/prelude.h"
#include "tilewright/codegen/stage_layouts.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using ir::Op;
using ir::Value;

/// How warpgroups share the accumulator: each computes `pieces` times 64 rows by n columns.
struct Split {
  int rows_groups = 1;  // warpgroups side by side along the rows
  int groups = 1;       // all of them
  int pieces = 1;
  int64_t n = 8;
};

Split split_of(const Layout& layout) {
  Split split;
  split.pieces = layout.registers(0) / 2;
  split.n = int64_t{4} * layout.registers(1);
  split.groups = layout.size(Holder::warp) / 4;
  for (const Digit& digit : layout.digits)
    if (digit.holder == Holder::warp && digit.axis == 0 && digit.stride >= 64)
      split.rows_groups = digit.radix;
  return split;
}

/// An operand whose rows (of a) or columns (of b) begin at `outer`, from depth `k` on; in the
/// buffer `low` its low part.
ExprRef operand_at(const Lowering& lowering, const Op& op, int operand, const ExprRef& outer,
                   const ExprRef& k, const std::string& low = "") {
  const OperandView view = view_of(op.operand(operand));
  const int k_axis = view.axis[operand == 0 ? 1 : 0];
  const SharedLayout& layout = lowering.in.shared.at(view.ring);
  const RingBuffer& buffer = lowering.rings.at(view.ring);
  const int bytes = size_of(view.ring->type.dtype);
  const bool k_major = layout.order.back() == k_axis;
  // Rows begin at a multiple of eight, where the swizzle's pattern is zero.
  const ExprRef& row = k_major ? outer : k;
  ExprRef column = k_major ? k : outer;
  std::vector<ExprRef> indices;
  if (buffer.read_stage && low.empty()) indices.push_back(buffer.read_stage);
  if (layout.has_panels()) {
    indices.push_back(column / integer(layout.panel));
    column = column % integer(layout.panel);
  }
  indices.push_back(row);
  indices.push_back(column);
  const int swizzle = swizzle_bytes(layout, bytes);
  std::vector<ExprRef> args = {
      address(shared(low.empty() ? buffer.name : low, std::move(indices)))};
  if (!k_major) args.push_back(integer(layout.extents[layout.order.front()] * swizzle));
  args.push_back(integer(8 * swizzle));
  return call(fmt::format("tw::{}<{}>", k_major ? "k_major" : "mn_major", swizzle),
              std::move(args));
}

/// The first operand in registers: words for the 64 rows of `piece` at depth `k`.
ExprRef words_at(Lowering& lowering, const Op& op, const ExprRef& piece, const ExprRef& k,
                 int depth) {
  const int word = 4 / size_of(op.operand(0)->type.dtype);  // elements
  const ExprRef step = k / integer(depth);
  return name(operand_words(lowering, op.operand(0), piece * integer(2), step * integer(2 * word)));
}

/// Low parts of the words.
ExprRef low_words(Lowering& lowering, const ExprRef& words) {
  const std::string low = lowering.names.unique("low_words");
  lowering.emit(array("unsigned", low, {4}));
  for (int i = 0; i < 4; ++i) {
    const ExprRef number = call("__uint_as_float", {element(words->text, {integer(i)})});
    lowering.emit(assign(element(low, {integer(i)}),
                         call("__float_as_uint", {call("tw::tf32_low", {number})})));
  }
  return name(low);
}

}  // namespace

ExprRef warpgroup(Lowering& lowering) {
  if (lowering.config.warps == 4) return integer(0);
  std::string& variable = lowering.thread_offsets["warpgroup"];
  if (variable.empty()) {
    variable = lowering.names.unique("warpgroup");
    lowering.prologue.push_back(declare("int", variable, name("threadIdx.x") / integer(128)));
  }
  return name(variable);
}

namespace {

/// Issues the products of one tile of k into `acc`. `accumulate` says at depth `kk` whether they
/// are added to what is there.
void issue_products(Lowering& lowering, const Op& op, const std::string& acc,
                    const std::function<ExprRef(int depth)>& accumulate) {
  const MatrixInstruction& instruction = *find_instruction(MatrixUnit::wgmma, op, lowering.target);
  const Split split = split_of(lowering.layout(op.result()));
  const int64_t depth = lowering.fn.extent(op.operand(0)->type.shape[1]);
  const ExprRef group = warpgroup(lowering);
  const bool by_rows = split.rows_groups == split.groups;
  const ExprRef group_row = by_rows ? group : group % integer(split.rows_groups);
  const ExprRef group_col = by_rows ? integer(0) : group / integer(split.rows_groups);
  const std::string function =
      fmt::format("tw::wgmma_m64n{}k{}_{}", split.n, instruction.k, instruction.type);
  const std::string& kk = lowering.vector_loop[3];
  const bool staged = is_shared(op.operand(0));
  const std::string low = has_parts(op) ? lower_low_part(lowering, op) : "";
  const std::vector<Stmt> body = lowering.collect([&] {
    for_axis(lowering, 0, split.pieces, 1, [&](const ExprRef& piece) {
      const ExprRef row = group_row * integer(int64_t{64} * split.pieces) + piece * integer(64);
      const ExprRef to = split.pieces == 1
                             ? name(acc)
                             : call("tw::rows<2>", {address(element(acc, {piece * integer(2)}))});
      const ExprRef a = staged ? operand_at(lowering, op, 0, row, name(kk))
                               : words_at(lowering, op, piece, name(kk), instruction.k);
      const ExprRef column = group_col * integer(split.n);
      const ExprRef b = operand_at(lowering, op, 1, column, name(kk));
      const ExprRef a_low = low.empty() ? nullptr : low_words(lowering, a);
      if (!staged) lowering.emit(call_stmt(call("tw::wgmma_fence", {})));
      if (low.empty()) {
        lowering.emit(call_stmt(call(function, {to, a, b, accumulate(instruction.k)})));
        return;
      }
      // The small products first.
      const ExprRef b_low = operand_at(lowering, op, 1, column, name(kk), low);
      lowering.emit(call_stmt(call(function, {to, a_low, b, accumulate(instruction.k)})));
      lowering.emit(call_stmt(call(function, {to, a, b_low, integer(1)})));
      lowering.emit(call_stmt(call(function, {to, a, b, integer(1)})));
    });
  });
  if (staged) lowering.emit(call_stmt(call("tw::wgmma_fence", {})));
  lowering.emit(loop(kk, integer(0), integer(depth), integer(instruction.k), true, body));
  lowering.emit(call_stmt(call("tw::wgmma_commit", {})));
}

/// The unit adds with fewer bits than f32 has: a sum of its own for each tile of k, added as f32
/// when it is complete.
void multiply_in_two_levels(Lowering& lowering, const Op& op, const std::string& acc) {
  const Layout& layout = lowering.layout(op.result());
  const int64_t depth = lowering.fn.extent(op.operand(0)->type.shape[1]);
  const std::string partial = lowering.names.unique(acc + "_of_tile");
  lowering.emit(array(cuda_type(op.result()->type.dtype), partial, register_extents(layout)));
  settle(lowering);
  issue_products(lowering, op, partial, [&](int step) {
    return depth == step ? integer(0) : binary(">", name(lowering.vector_loop[3]), integer(0));
  });
  lowering.emit(call_stmt(call("tw::wgmma_wait<0>", {})));
  lowering.emit(call_stmt(call("tw::complete", {name(partial)})));
  for_registers(lowering, layout, -1, 1, [&](const RegIndex& index) {
    lowering.emit(assign(register_element(acc, layout, index),
                         register_element(partial, layout, index), "+="));
  });
}

}  // namespace

void lower_dot_wgmma(Lowering& lowering, const Op& op) {
  lowering.at_source(op);
  if (has_parts(op)) settle(lowering);  // products before may still read the low part
  const std::string acc = prepare_accumulator(lowering, op, lowering.layout(op.result()));
  if (ir::precision_of(op) == DotPrecision::two_level)
    return multiply_in_two_levels(lowering, op, acc);
  const int64_t depth = lowering.fn.extent(op.operand(0)->type.shape[1]);
  const bool overwrites = lowering.overwriting.contains(&op);
  issue_products(lowering, op, acc, [&](int step) {
    if (!overwrites) return integer(1);
    const ExprRef later = binary(">", lowering.step, lowering.first_step);
    return depth == step
               ? later
               : binary("||", later, binary(">", name(lowering.vector_loop[3]), integer(0)));
  });
  lowering.in_flight.push_back(op.result());
}

}  // namespace tilewright::codegen
