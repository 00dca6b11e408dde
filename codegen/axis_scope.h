// Where slices come from.
#pragma once

#include "tilewright/ir/node.h"

namespace tilewright::codegen {

/// The slice argument of the innermost tile loop around `op` that walks `axis`; null when there is
/// none.
const ir::Value* slice_in_scope(const ir::Op& op, int axis);

/// The least position an index can have: the begin of the loop or slice it comes from; a scalar
/// index itself.
const ir::Value* first_position(const ir::Value* index);

}  // namespace tilewright::codegen
