// Tile IR's elementwise functions, conversions and constants as CUDA expressions.
#pragma once

#include <vector>

#include "tilewright/codegen/kernel_ir.h"
#include "tilewright/ir/functions.h"

namespace tilewright::codegen {

/// `fn` of operands of C type cuda_type(dtype); the result has that type too, or is a truth value
/// for comparisons. Every operand is used once. Narrow floats compute in float and round back after
/// the operation; integers wrap. InternalError when fn does not take the dtype, or for a wrong
/// number of operands.
ExprRef fn_expr(ir::Fn fn, DType dtype, std::vector<ExprRef> args);
/// x / y as fn_expr has it, where several x in a row are divided by one y: group_quotients makes
/// something cheaper of it.
ExprRef quotient_expr(DType dtype, ExprRef x, ExprRef y);
/// x * y + z, rounded once; integers wrap.
ExprRef fma_expr(DType dtype, ExprRef x, ExprRef y, ExprRef z);
/// Conversion of x from a dtype to another: to nearest even between floats and from integers (once,
/// also to narrow types), truncated and saturated from float to integer (NaN gives 0), wrapped
/// between integers, `x != 0` to bool.
ExprRef cast_expr(ExprRef x, DType from, DType to);
/// The constant of a dtype nearest to `value`, converted as cast_expr does.
ExprRef constant_expr(double value, DType dtype);
ExprRef constant_expr(int64_t value, DType dtype);
/// The identity of a reduction by `fn` in `dtype`: -inf or the lowest value for max, ..
ExprRef identity_expr(ir::Fn fn, DType dtype);

}  // namespace tilewright::codegen
