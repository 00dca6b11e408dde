// Contracts products and sums.
#pragma once

#include "tilewright/ir/node.h"

namespace tilewright::ir {

/// Turns a * b + c, c + a * b, a * b - c and c - a * b of f32 and f64 into fma where nothing else
/// uses the product and it stands in the sum's region. Half types keep rounding after each
/// operation. Every back end runs what this gives, so that all round alike; when both operands of a
/// sum are products, the left one is contracted.
Function form_fma(const Function& fn);

}  // namespace tilewright::ir
