// Softmax over rows that one program holds whole: every element is read once and written once.
#pragma once

#include <tilewright/tilewright.h>

namespace examples {

namespace tw = tilewright;

inline auto softmax = tw::kernel("softmax", [](tw::Tensor x) {
  tw::Tensor y = tw::empty_like(x);
  for (auto rows : tw::tile(x.size(0))) {
    tw::Tile row = tw::cast(x[rows, tw::all], tw::f32);
    tw::Tile e = tw::exp(row - tw::max(row, tw::axis(1), tw::keep_dims));
    y[rows, tw::all] = e / tw::sum(e, tw::axis(1), tw::keep_dims);
  }
  return y;
});

}  // namespace examples
