// A transposed copy: tiles change hands through shared memory, so that both sides are contiguous.
#pragma once

#include <tilewright/tilewright.h>

namespace examples {

namespace tw = tilewright;

inline auto transpose = tw::kernel("transpose", [](tw::Tensor x) {
  auto [m, n] = tw::sizes<2>(x);
  tw::Tensor y = tw::empty({n, m}, x.dtype());
  for (auto [rows, cols] : tw::tile({m, n})) {
    y[cols, rows] = x[rows, cols].t();
  }
  return y;
});

}  // namespace examples
