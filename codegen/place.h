// Pass: gives the operands of dots a home in shared memory.
#pragma once

#include "tilewright/codegen/config.h"
#include "tilewright/codegen/target.h"
#include "tilewright/ir/node.h"

namespace tilewright::codegen {

/// Every operand of a dot is read by many threads, so it is staged: a loaded one (possibly cast or
/// transposed on the way) is copied straight from global memory, a computed one is written from
/// registers. Each becomes a one-slot ring: acquire, copy or stage, commit, wait, read, release.
/// Copies whose products come later in the same region share one commit and wait, if no store comes
/// between them. Where a matrix unit multiplies (operand_home tells), tiles that an operand is
/// computed from are copied too and fetched to registers, and what is computed stays there if the
/// unit takes it so.
ir::Function place(const ir::Function& fn, const Config& config, const Target& target);

}  // namespace tilewright::codegen
