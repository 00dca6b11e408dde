// Which unit multiplies a dot, and what its instruction takes.
#pragma once

#include "tilewright/codegen/config.h"
#include "tilewright/codegen/target.h"
#include "tilewright/ir/node.h"

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
};

/// The instruction that `unit` offers for a dot of these types on `target`; null when there is
/// none.
const MatrixInstruction* find_instruction(MatrixUnit unit, DType a, DType b, DType acc,
                                          const Target& target);

/// What multiplies `dot`: the config's unit where that takes the operands' types, else fma.
MatrixUnit unit_of(const ir::Op& dot, const Config& config, const Target& target);

}  // namespace tilewright::codegen
