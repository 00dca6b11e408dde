// Which unit multiplies a dot, and what its instruction takes.
#pragma once

#include "tilewright/codegen/config.h"
#include "tilewright/codegen/target.h"
#include "tilewright/ir/node.h"
#include "tilewright/ir/precision.h"

namespace tilewright::codegen {

/// One kind of product that a matrix unit takes (PTX ISA, "Matrix multiply-accumulate operation
/// using mma / wgmma instruction").
struct MatrixInstruction {
  MatrixUnit unit;
  DType a, b;  ///< as the dot's operands have them
  DType acc;   ///< of accumulator and result
  int k;       ///< depth of one instruction
  int min_sm;
  std::string_view type;  ///< suffix of the helper's name: "bf16", "f16", ..
  /// What it computes with: ieee where the operands' dtypes leave no choice, tf32 for products of
  /// f32 (which three of them give as tf32x3).
  DotPrecision precision = DotPrecision::ieee;
};

/// The instruction that `unit` offers for a dot of these types on `target`, as precise as asked;
/// null when there is none. An f32 dot takes a matrix unit when asked for as tf32 or tf32x3 only.
const MatrixInstruction* find_instruction(MatrixUnit unit, DType a, DType b, DType acc,
                                          DotPrecision precision, const Target& target);

/// Likewise, for the types and the precision of `dot`.
const MatrixInstruction* find_instruction(MatrixUnit unit, const ir::Op& dot, const Target& target);

/// What multiplies `dot`: the config's unit where that takes the operands' types in the dot's
/// precision, else fma, which is more exact than any precision asks.
MatrixUnit unit_of(const ir::Op& dot, const Config& config, const Target& target);

}  // namespace tilewright::codegen
