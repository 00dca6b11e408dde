// Pass: makes the masks of ragged reductions and dots explicit.
#pragma once

#include "tilewright/ir/node.h"

namespace tilewright::codegen {

/// Replaces the implicit masks that specialize left on reductions and dots: what a reduction sees
/// past a loop's end becomes its identity, what a dot sees past the end of k becomes 0 in both
/// operands, by a select unless the operand is 0 there already. Afterwards their guards are empty.
ir::Function mask_edges(const ir::Function& fn);

}  // namespace tilewright::codegen
