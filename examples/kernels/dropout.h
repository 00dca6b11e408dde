// Dropout that keeps no mask: the random number of an element depends on its position only, so that
// the backward pass draws the same ones again.
#pragma once

#include <tilewright/tilewright.h>

namespace examples {

namespace tw = tilewright;

inline auto dropout = tw::kernel("dropout", [](tw::Tensor x, tw::Scalar<int64_t> seed, float p) {
  tw::Tensor y = tw::empty_like(x);
  for (auto i : tw::tile(x.size(0))) {
    y[i] = tw::where(tw::rand({i}, seed) >= p, tw::cast(x[i], tw::f32) / (1 - p), 0);
  }
  return y;
});

}  // namespace examples
