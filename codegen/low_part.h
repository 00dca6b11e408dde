// Operands of wgmma that are sums of two TF32 numbers.
#pragma once

#include <string>

#include "tilewright/ir/node.h"

namespace tilewright::codegen {

struct Lowering;

/// Whether the dot multiplies its operands in two parts each. The high part of a number is the
/// number itself, of which the unit cuts the last bits off. Low parts are made where the operand
/// is: of the first in registers, of the second in shared memory.
bool has_parts(const ir::Op& dot);

/// Writes what the unit cuts off the second operand to a buffer of shared memory, which is declared
/// here and lies as the operand's slot does; returns the buffer's name.
std::string lower_low_part(Lowering& lowering, const ir::Op& dot);

}  // namespace tilewright::codegen
