// Ranges and divisors of the results of functions on integers.
#pragma once

#include "tilewright/ir/facts.h"

namespace tilewright::ir {

/// The whole range of a dtype; of i64 for floats.
Range full_range(DType dtype);

/// Where x fn y lies, for operands of `dtype` in the given ranges: the whole range when it may
/// wrap.
Range range_of(Fn fn, DType dtype, const Range& x, const Range& y);

/// A divisor of x fn y, for operands of `dtype` with the given divisors. `wraps`: the result may
/// have wrapped, so that only powers of two count.
int64_t divisor_of(Fn fn, DType dtype, int64_t x, int64_t y, const Range& y_range, bool wraps);

/// Greatest common divisor; 0 is divided by everything.
int64_t common_divisor(int64_t x, int64_t y);

}  // namespace tilewright::ir
