// A factor known at run time only: one compiled kernel serves every value. `y` is updated in place.
#pragma once

#include <tilewright/tilewright.h>

namespace examples {

namespace tw = tilewright;

inline auto saxpy = tw::kernel("saxpy", [](tw::Scalar<float> alpha, tw::Tensor x, tw::Tensor y) {
  for (auto i : tw::tile(x.size(0))) {
    y[i] = tw::fma(alpha, x[i], y[i]);
  }
});

}  // namespace examples
