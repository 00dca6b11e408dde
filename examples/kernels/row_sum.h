// Sums of rows of any length: a loop over tiles of columns carries the partial sums.
#pragma once

#include <tilewright/tilewright.h>

namespace examples {

namespace tw = tilewright;

inline auto row_sum = tw::kernel("row_sum", [](tw::Tensor x) {
  auto [m, n] = tw::sizes<2>(x);
  tw::Tensor sums = tw::empty({m}, tw::f32);
  for (auto rows : tw::tile(m)) {
    tw::Tile total = tw::zeros({rows}, tw::f32);
    for (auto cols : tw::tile(n)) {
      total += tw::sum(tw::cast(x[rows, cols], tw::f32), tw::axis(1));
    }
    sums[rows] = total;
  }
  return sums;
});

}  // namespace examples
