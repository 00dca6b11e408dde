// Rewrites operations into simpler ones of the same value, bit for bit.
#pragma once

#include "tilewright/ir/node.h"

namespace tilewright::ir {

/// Folds constants, drops identities (x + 0, a permute of a permute, the size of a known tensor),
/// moves work on uniform tiles to scalars, opens ifs on constants and drops sequential loops over
/// nothing. Leaves what is then unused to eliminate_dead_code. The rules are the table in
/// simplify.cpp; block sizes may be bound or not.
Function simplify(const Function& fn);

}  // namespace tilewright::ir
