// Which loop slice an axis's block stands for at a point of a function.
#pragma once

#include "tilewright/ir/node.h"

namespace tilewright::codegen {

/// The slice argument of the innermost tile loop around `op` that walks `axis`; null when there is
/// none.
const ir::Value* slice_in_scope(const ir::Op& op, int axis);

}  // namespace tilewright::codegen
