// Dots multiplied by mma: per step of k, pieces of both operands come from shared memory to
// registers, and each piece of the accumulator is one instruction.
#include <utility>

#include "tilewright/codegen/dot_operands.h"
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
  DotPrecision precision;
  std::string array;
  std::string low;  // tf32x3: what the array's numbers leave out of the operand's
};

/// How an operand is read from where it is: shared memory, or the registers it is computed in.
MmaRead read_of(const Lowering& lowering, const Op& op, int dim, const Layout& accumulator) {
  const Value* operand = op.operand(dim);
  if (is_shared(operand)) {
    const int contiguous = lowering.in.shared.at(view_of(operand).ring).order.back();
    return mma_read(lowering.fn, op, dim, accumulator, contiguous);
  }
  const int64_t k = lowering.extents(operand)[1 - dim];
  MmaRead read;
  read.operand =
      mma_operand(accumulator, dim == 0, MmaLoad::elements, size_of(operand->type.dtype), k);
  read.layout = mma_operand_layout(accumulator, read.operand);
  return read;
}

Fragment make_fragment(Lowering& lowering, const Op& op, int dim, const Layout& accumulator) {
  const Value* operand = op.operand(dim);
  const Value* source = is_shared(operand) ? view_of(operand).ring : operand;
  const auto extents = lowering.extents(operand);
  const DotPrecision precision = ir::precision_of(op);
  const std::string name = name_of(source, dim == 0 ? "a" : "b");
  return {.dim = dim,
          .read = read_of(lowering, op, dim, accumulator),
          .outer_extent = extents[dim],
          .k_extent = extents[1 - dim],
          .stored = source->type.dtype,
          .used = operand->type.dtype,
          .precision = precision,
          .array = lowering.names.unique(name + "_frag"),
          .low = precision == DotPrecision::tf32x3 ? lowering.names.unique(name + "_low") : ""};
}

/// First element of a piece's registers, or the one that `e` says.
ExprRef fragment_element(const Fragment& fragment, const std::string& array, const ExprRef& piece,
                         const ExprRef& e) {
  std::vector<ExprRef> at;
  if (fragment.read.operand.pieces > 1) at.push_back(piece);
  at.push_back(e);
  return element(array, at);
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
  lowering.emit(call_stmt(call(
      fmt::format("tw::{}<{}>", helper, operand.left ? 4 : 2 * operand.together),
      {address(fragment_element(fragment, fragment.array, piece, integer(0))), address(from)})));
}

ExprRef stored_element(Lowering& lowering, const Op& op, const Fragment& fragment,
                       const ExprRef& outer, const ExprRef& k) {
  ExprRef value = source(lowering, op, fragment, outer, k);
  DType dtype = fragment.stored;
  for (DType next : fragment.read.view.casts) {
    value = cast_expr(value, dtype, next);
    dtype = next;
  }
  return cast_expr(value, dtype, fragment.used);
}

/// The element that the thread holds for register `e` of a piece, in mma_register_layout.
ExprRef computed_element(Lowering& lowering, const Op& op, const Fragment& fragment,
                         const ExprRef& piece, const ExprRef& kk, const ExprRef& e) {
  const MmaOperand& operand = fragment.read.operand;
  const int word = operand.per_word();
  ExprRef outer = piece;
  if (operand.left) outer = piece * integer(2) + e / integer(word) % integer(2);
  const ExprRef half = e / integer(operand.left ? 2 * word : word);
  const ExprRef k = kk / integer(operand.depth()) * integer(2 * word) + half * integer(word) +
                    (word > 1 ? e % integer(word) : integer(0));
  RegIndex index = {outer, k};
  if (!operand.left) std::swap(index[0], index[1]);
  return element_value(lowering, op.operand(fragment.dim), index);
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
  const bool computed = !is_shared(op.operand(fragment.dim));
  ExprRef value = computed ? computed_element(lowering, op, fragment, piece, kk, e)
                           : stored_element(lowering, op, fragment, outer, k);
  if (fragment.k_extent % operand.depth() != 0) {
    const ExprRef at = thread_coordinate(
        lowering, fragment.read.layout, 1,
        dimension_name(lowering, op.operand(fragment.dim)->type.shape, 1 - fragment.dim));
    value = conditional(at + k < integer(fragment.k_extent), value,
                        constant_expr(int64_t{0}, fragment.used));
  }
  lowering.emit(loop(p, integer(0), integer(operand.elements()), integer(1), true,
                     {assign(fragment_element(fragment, fragment.array, piece, e), value)}));
}

/// Rounds f32 to the numbers that the instruction multiplies, which would cut them off.
void round_elements(Lowering& lowering, const Fragment& fragment) {
  const MmaOperand& operand = fragment.read.operand;
  const std::string& p = lowering.vector_loop[0];
  for_axis(lowering, fragment.dim, operand.pieces, 1, [&](const ExprRef& piece) {
    const ExprRef high = fragment_element(fragment, fragment.array, piece, name(p));
    std::vector<Stmt> body;
    if (!fragment.low.empty())
      body.push_back(assign(fragment_element(fragment, fragment.low, piece, name(p)),
                            call("tw::tf32_rest", {high})));
    body.push_back(assign(high, call("tw::to_tf32", {high})));
    lowering.emit(
        loop(p, integer(0), integer(operand.elements()), integer(1), true, std::move(body)));
  });
}

/// Declares the registers and fills them for the step of k that begins at `kk`.
void load_fragment(Lowering& lowering, const Op& op, const Fragment& fragment, const ExprRef& kk) {
  const MmaOperand& operand = fragment.read.operand;
  std::vector<int64_t> extents;
  if (operand.pieces > 1) extents.push_back(operand.pieces);
  extents.push_back(operand.elements());
  for (const std::string& registers : {fragment.array, fragment.low})
    if (!registers.empty()) lowering.emit(array(cuda_type(fragment.used), registers, extents));
  for_axis(lowering, fragment.dim, operand.pieces, operand.together, [&](const ExprRef& piece) {
    if (operand.load == MmaLoad::elements)
      load_elements(lowering, op, fragment, piece, kk);
    else
      load_matrices(lowering, op, fragment, piece, kk);
  });
  if (fragment.used == DType::f32) round_elements(lowering, fragment);
}

/// Multiplies the pieces in registers into the accumulator `acc`.
void multiply(Lowering& lowering, const std::string& helper, const std::string& acc,
              const Fragment& a, const Fragment& b) {
  std::vector<std::pair<std::string, std::string>> products = {{a.array, b.array}};
  // Of sums of two numbers, the small products first.
  if (!a.low.empty()) products = {{a.low, b.array}, {a.array, b.low}, {a.array, b.array}};
  for_axis(lowering, 0, a.read.operand.pieces, 1, [&](const ExprRef& i) {
    for_axis(lowering, 1, b.read.operand.pieces, 1, [&](const ExprRef& j) {
      const ExprRef row = i * integer(2), column = j * integer(2);
      for (const auto& [left, right] : products)
        lowering.emit(
            call_stmt(call(helper, {address(element(acc, {row, column})),
                                    address(element(acc, {row + integer(1), column})),
                                    address(fragment_element(a, left, i, integer(0))),
                                    address(fragment_element(b, right, j, integer(0)))})));
    });
  });
}

/// All steps of k.
void multiply_steps(Lowering& lowering, const Op& op, const MatrixInstruction& instruction,
                    const std::string& acc, const Layout& layout) {
  const Fragment a = make_fragment(lowering, op, 0, layout);
  const Fragment b = make_fragment(lowering, op, 1, layout);
  const auto step = [&](const ExprRef& kk) {
    load_fragment(lowering, op, a, kk);
    load_fragment(lowering, op, b, kk);
    multiply(lowering, "tw::" + mma_helper_name(instruction), acc, a, b);
  };
  const int64_t steps = a.read.operand.steps;
  if (steps == 1) return step(integer(0));
  const std::string& kk = lowering.vector_loop[3];
  std::vector<Stmt> body = lowering.collect([&] { step(name(kk)); });
  lowering.emit(loop(kk, integer(0), integer(steps * instruction.k), integer(instruction.k), true,
                     std::move(body)));
}

}  // namespace

void lower_dot_mma(Lowering& lowering, const Op& op) {
  const Layout& layout = lowering.layout(op.result());
  const MatrixInstruction* instruction = find_instruction(MatrixUnit::mma, op, lowering.target);
  internal_check(instruction != nullptr, "mma does not take the dot");
  lowering.at_source(op);
  const std::string acc = prepare_accumulator(lowering, op, layout);
  if (lowering.fn.extent(op.operand(0)->type.shape[1]) == 0) return;
  if (ir::precision_of(op) != DotPrecision::two_level)
    return multiply_steps(lowering, op, *instruction, acc, layout);
  // The unit adds with fewer bits than f32 has: a sum of its own for each tile of k, added as f32.
  const std::string partial = lowering.names.unique(acc + "_of_tile");
  lowering.emit(array(cuda_type(op.result()->type.dtype), partial, register_extents(layout), true));
  multiply_steps(lowering, op, *instruction, partial, layout);
  for_registers(lowering, layout, -1, 1, [&](const RegIndex& index) {
    lowering.emit(assign(register_element(acc, layout, index),
                         register_element(partial, layout, index), "+="));
  });
}

}  // namespace tilewright::codegen
