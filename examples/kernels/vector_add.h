// The smallest kernel: one loop over tiles, each of them a program of the grid.
#pragma once

#include <tilewright/tilewright.h>

namespace examples {

namespace tw = tilewright;

inline auto vector_add = tw::kernel("vector_add", [](tw::Tensor a, tw::Tensor b) {
  tw::check(a.size(0) == b.size(0), "lengths differ: {} and {}", a.size(0), b.size(0));
  tw::Tensor c = tw::empty({a.size(0)}, a.dtype());
  for (auto i : tw::tile(a.size(0))) {
    c[i] = a[i] + b[i];
  }
  return c;
});

}  // namespace examples
