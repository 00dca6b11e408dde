// Kernel IR expressions as CUDA text.
#pragma once

#include <string>

#include "tilewright/codegen/kernel_ir.h"

namespace tilewright::codegen {

/// The expression in C++ syntax with the parentheses it needs (and those a reader of shifts and of
/// && inside || expects), on one line.
std::string expr_text(const Expr& x);
/// The same with marks where a long line may be broken; see print_cuda_wrap.h.
std::string marked_expr_text(const Expr& x);

}  // namespace tilewright::codegen
