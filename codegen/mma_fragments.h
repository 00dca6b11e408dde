// Which elements of its operands a warp reads from shared memory for mma.m16n8, as digits (PTX ISA,
// "Matrix fragments for mma" and "ldmatrix").
#pragma once

#include "tilewright/codegen/layout.h"

namespace tilewright::codegen {

/// How a warp reads an operand.
enum class MmaLoad {
  matrices,    ///< ldmatrix: 16 bytes along k, k being contiguous
  transposed,  ///< ldmatrix.trans: 16 bytes along the outer dimension; elements of two bytes
  elements,    ///< one by one
};

/// How the pieces that a warp multiplies are read.
struct MmaOperand {
  bool left = true;  ///< a, in pieces of 16 rows, else b, in pieces of 8 columns
  MmaLoad load = MmaLoad::matrices;
  int bytes = 2;      ///< of an element
  int pieces = 1;     ///< of one warp, along the outer dimension
  int together = 1;   ///< pieces that one load brings
  int64_t steps = 1;  ///< of k, each as deep as the instruction

  int piece() const { return left ? 16 : 8; }  ///< elements along the outer dimension
  int per_word() const { return 4 / bytes; }   ///< elements
  int depth() const { return 32 / bytes; }     ///< of one step: 32 bytes of k
  /// Elements of one piece that a thread holds, in the order of the instruction's registers.
  int elements() const { return (left ? 4 : 2) * per_word(); }
};

/// The pieces of an operand for an accumulator in mma_layout, and what reads them: one load for
/// each piece of a, one for two of b where their number is even.
MmaOperand mma_operand(const Layout& accumulator, bool left, MmaLoad load, int bytes, int64_t k);

/// Which elements of the operand each lane reads, its outer dimension (m or n) being axis 0 and k
/// axis 1: for `elements` what the instruction wants it to hold; else the 16 bytes whose address
/// the lane gives, which the hardware hands to the lanes that hold them.
Layout mma_operand_layout(const Layout& accumulator, const MmaOperand& operand);

/// Which elements of an operand, [m, k] or [k, n], a thread holds that computes it in registers:
/// those that `elements` wants, all of k.
Layout mma_register_layout(const Layout& accumulator, bool left, int bytes, int64_t k);

}  // namespace tilewright::codegen
