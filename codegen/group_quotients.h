// Pass on kernel IR: many quotients by one divisor.
#pragma once

#include "tilewright/codegen/kernel_ir.h"
#include "tilewright/codegen/names.h"

namespace tilewright::codegen {

/// Where a loop over registers divides element after element by one value, tw::quotient(x, y),
/// multiplies by the reciprocal and corrects: the same bits unless a quotient is tiny or no number,
/// and a second loop divides when one was. Elsewhere tw::quotient(x, y) becomes x / y.
void group_quotients(Kernel& kernel, Names& names);

}  // namespace tilewright::codegen
