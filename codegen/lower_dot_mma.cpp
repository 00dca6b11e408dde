// Dots multiplied by mma: per step of k, pieces of both operands come from shared memory to
// registers, and each piece of the accumulator is one instruction.
#include "tilewright/codegen/function_exprs.h"
#include "tilewright/codegen/lowering.h"
#include "tilewright/codegen/matrix_unit.h"
#include "tilewright/codegen/mma_read.h"
#include "tilewright/codegen/prelude.h"
#include "tilewright/codegen/prelude_mma.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using ir::Op;
using ir::Value;

/// The registers of one operand: those of one step of k, by piece.
struct Fragment {
  int dim;  // 0: a, 1: b
  MmaRead read;
  int64_t outer_extent, k_extent;
  DType stored, used;
  std::string array;
};

Fragment make_fragment(Lowering& lowering, const Op& op, int dim, const Layout& accumulator) {
  const Value* ring = view_of(op.operand(dim)).ring;
  const int contiguous = lowering.in.shared.at(ring).order.back();
  const auto extents = lowering.extents(op.operand(dim));
  return {.dim = dim,
          .read = mma_read(lowering.fn, op, dim, accumulator, contiguous),
          .outer_extent = extents[dim],
          .k_extent = extents[1 - dim],
          .stored = ring->type.dtype,
          .used = op.operand(dim)->type.dtype,
          .array = lowering.names.unique(name_of(ring, dim == 0 ? "a" : "b") + "_frag")};
}

/// First element of a piece's registers, or the one that `e` says.
ExprRef fragment_element(const Fragment& fragment, const ExprRef& piece, const ExprRef& e) {
  std::vector<ExprRef> at;
  if (fragment.read.operand.pieces > 1) at.push_back(piece);
  at.push_back(e);
  return element(fragment.array, at);
}

/// The element of shared memory at a distance from where this thread's reads of a piece begin.
ExprRef source(Lowering& lowering, const Op& op, const Fragment& fragment, const ExprRef& outer,
               const ExprRef& k) {
  const MmaRead& read = fragment.read;
  const ir::Shape& shape = op.operand(fragment.dim)->type.shape;
  const auto thread = [&](int axis, int dim) {
    return thread_coordinate(lowering, read.layout, axis, dimension_name(lowering, shape, dim));
  };
  ExprRef row = thread(0, fragment.dim) + outer;
  // Rows past the tile's end read its last ones; their products are not stored.
  const int run = read.operand.load == MmaLoad::transposed ? read.vector() : 1;
  if (read.layout.covered(0) > fragment.outer_extent)
    row = call("min", {row, integer(fragment.outer_extent - run)});
  std::vector<ExprRef> at(2);
  at[read.outer_axis] = row;
  at[read.k_axis] = thread(1, 1 - fragment.dim) + k;
  const RingBuffer& buffer = lowering.rings.at(read.view.ring);
  return shared_element(buffer.name, lowering.in.shared.at(read.view.ring), buffer.read_stage, at,
                        read.vector());
}

void load_matrices(Lowering& lowering, const Op& op, const Fragment& fragment, const ExprRef& piece,
                   const ExprRef& k) {
  const MmaOperand& operand = fragment.read.operand;
  const char* helper = operand.load == MmaLoad::matrices ? "matrix_load" : "matrix_load_transposed";
  const ExprRef from = source(lowering, op, fragment, piece * integer(operand.piece()), k);
  lowering.emit(
      call_stmt(call(fmt::format("tw::{}<{}>", helper, operand.left ? 4 : 2 * operand.together),
                     {address(fragment_element(fragment, piece, integer(0))), address(from)})));
}

/// Element by element, in the order of the instruction's registers: neighbours along k fill a
/// word; words go on 8 rows further down (a), then half a step further along k.
void load_elements(Lowering& lowering, const Op& op, const Fragment& fragment, const ExprRef& piece,
                   const ExprRef& kk) {
  const MmaOperand& operand = fragment.read.operand;
  const int word = operand.per_word(), half = operand.depth() / 2;
  const std::string& p = lowering.vector_loop[0];
  const ExprRef e = name(p);
  ExprRef outer = piece * integer(operand.piece());
  if (operand.left) outer = outer + e / integer(word) % integer(2) * integer(8);
  const int words_before = operand.left ? 2 * word : word;
  const ExprRef k =
      kk + e / integer(words_before) * integer(half) + (word > 1 ? e % integer(word) : integer(0));
  ExprRef value = source(lowering, op, fragment, outer, k);
  DType dtype = fragment.stored;
  for (DType next : fragment.read.view.casts) {
    value = cast_expr(value, dtype, next);
    dtype = next;
  }
  value = cast_expr(value, dtype, fragment.used);
  if (fragment.k_extent % operand.depth() != 0) {
    const ExprRef at = thread_coordinate(
        lowering, fragment.read.layout, 1,
        dimension_name(lowering, op.operand(fragment.dim)->type.shape, 1 - fragment.dim));
    value = conditional(at + k < integer(fragment.k_extent), value,
                        constant_expr(int64_t{0}, fragment.used));
  }
  lowering.emit(loop(p, integer(0), integer(operand.elements()), integer(1), true,
                     {assign(fragment_element(fragment, piece, e), value)}));
}

/// Declares the registers and fills them for the step of k that begins at `kk`.
void load_fragment(Lowering& lowering, const Op& op, const Fragment& fragment, const ExprRef& kk) {
  const MmaOperand& operand = fragment.read.operand;
  std::vector<int64_t> extents;
  if (operand.pieces > 1) extents.push_back(operand.pieces);
  extents.push_back(operand.elements());
  lowering.emit(array(cuda_type(fragment.used), fragment.array, extents));
  for_axis(lowering, fragment.dim, operand.pieces, operand.together, [&](const ExprRef& piece) {
    if (operand.load == MmaLoad::elements)
      load_elements(lowering, op, fragment, piece, kk);
    else
      load_matrices(lowering, op, fragment, piece, kk);
  });
}

}  // namespace

void lower_dot_mma(Lowering& lowering, const Op& op) {
  const Layout& layout = lowering.layout(op.result());
  const MatrixInstruction* instruction =
      find_instruction(MatrixUnit::mma, op.operand(0)->type.dtype, op.operand(1)->type.dtype,
                       op.result()->type.dtype, ir::precision_of(op), lowering.target);
  internal_check(instruction != nullptr, "mma does not take the dot");
  lowering.at_source(op);
  const std::string acc = prepare_accumulator(lowering, op, layout);
  const Fragment a = make_fragment(lowering, op, 0, layout);
  const Fragment b = make_fragment(lowering, op, 1, layout);
  const std::string multiply = "tw::" + mma_helper_name(*instruction);
  const auto step = [&](const ExprRef& kk) {
    load_fragment(lowering, op, a, kk);
    load_fragment(lowering, op, b, kk);
    for_axis(lowering, 0, a.read.operand.pieces, 1, [&](const ExprRef& i) {
      for_axis(lowering, 1, b.read.operand.pieces, 1, [&](const ExprRef& j) {
        const ExprRef row = i * integer(2), column = j * integer(2);
        lowering.emit(call_stmt(call(multiply, {address(element(acc, {row, column})),
                                                address(element(acc, {row + integer(1), column})),
                                                address(fragment_element(a, i, integer(0))),
                                                address(fragment_element(b, j, integer(0)))})));
      });
    });
  };
  const int64_t steps = a.read.operand.steps;
  if (steps == 0) return;
  if (steps == 1) return step(integer(0));
  const std::string& kk = lowering.vector_loop[3];
  std::vector<Stmt> body = lowering.collect([&] { step(name(kk)); });
  lowering.emit(loop(kk, integer(0), integer(steps * instruction->k), integer(instruction->k), true,
                     std::move(body)));
}

}  // namespace tilewright::codegen
