// Comparing the results of two runs of one kernel.
#pragma once

#include "tilewright/runtime/array.h"

namespace tilewright::cli {

struct Comparison {
  int64_t different = 0;  ///< elements further apart than allowed
  double largest = 0;     ///< error; NaN where only one is NaN
  double allowed = 0;     ///< at that element
  int64_t where = -1;     ///< of the largest error, row-major
};

/// Compares arrays of equal dtype and sizes on the CPU. Integers must be equal, NaN equals NaN.
/// Floats may differ by 4 units in the last place of the dtype, plus 64 of f32 (or f64) at the
/// magnitude of the largest finite element, which reductions in another order need.
Comparison compare(const Array& result, const Array& reference);

}  // namespace tilewright::cli
