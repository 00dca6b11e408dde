// Sizes that the host works out before a launch.
#pragma once

#include "tilewright/codegen/kernel_ir.h"
#include "tilewright/ir/node.h"

namespace tilewright::codegen {

struct Lowering;

/// An integer scalar of the function's outermost region as an expression of the kernel's scalar
/// parameters alone, which evaluate() can compute; with the values the kernel computes itself.
/// Raises grid_bound for what is no integer arithmetic on them.
ExprRef host_size(const Lowering& lowering, const ir::Value* value);

}  // namespace tilewright::codegen
