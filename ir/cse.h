// Merges equal computations.
#pragma once

#include "tilewright/ir/node.h"

namespace tilewright::ir {

/// Uses one result for all equal pure operations where the first is visible: those later in its
/// region and in the regions inside. Commutative functions match with their operands swapped.
Function eliminate_common_subexpressions(const Function& fn);

}  // namespace tilewright::ir
