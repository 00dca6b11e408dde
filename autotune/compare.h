// Comparing what two configs of a kernel leave in memory, and the contents that kernels are tuned
// with.
#pragma once

#include <cstdint>
#include <string>

#include "tilewright/ir/node.h"

namespace tilewright::tune {

/// How far apart floats may be that differ in the order of sums only: so many units in the last
/// place of the dtype, plus a part of the largest magnitude in the tensor. Integers are equal.
struct Tolerance {
  double ulps = 4;
  double of_largest = 0x1p-17;
};
/// What the kernel's dots and sums need for a result.
Tolerance tolerance_of(const ir::Function& fn);

struct Difference {
  int64_t wrong = 0;               ///< elements further apart than allowed
  int64_t where = -1;              ///< the first of these
  double found = 0, expected = 0;  ///< there
  double allowed = 0;              ///< there
};

/// Compares `count` elements. NaN equals NaN.
Difference compare(DType dtype, const void* result, const void* expected, int64_t count,
                   const Tolerance& tolerance);

/// Element `i` of memory of that dtype.
double element_value(DType dtype, const void* data, int64_t i);

/// Fills memory with what no kernel should leave: NaN for floats, 0xa5 bytes for the others.
void fill_poison(DType dtype, void* data, int64_t bytes);
/// Fills memory with random elements, the same for the same seed: floats uniform in [-1, 1), small
/// integers of either sign, so that sums stay exact. A long tensor repeats a period whose length is
/// prime.
void fill_random(DType dtype, void* data, int64_t count, uint64_t seed);

}  // namespace tilewright::tune
