// Dropout that keeps no mask: the random number of an element depends on its position only, so that
// the backward pass draws the same ones again. The generator gives four numbers at a time: one for
// an element of each quarter.
#pragma once

#include <tilewright/tilewright.h>

#include <algorithm>

namespace examples {

namespace tw = tilewright;

inline auto dropout = tw::kernel("dropout", [](tw::Tensor x, tw::Scalar<int64_t> seed, float p) {
  const tw::Size n = x.size(0), quarter = tw::cdiv(n, 4);
  const float scale = 1 / (1 - p);
  tw::Tensor y = tw::empty_like(x);
  for (auto i : tw::tile(quarter)) {
    const auto numbers = tw::rand4x({i}, seed);
    for (int q : tw::static_range(4)) {
      const tw::Size begin = std::min<tw::Size>(q * quarter, n),
                     end = std::min<tw::Size>((q + 1) * quarter, n);
      tw::Tile part = tw::cast(x.slice(0, begin, end)[i], tw::f32);
      y.slice(0, begin, end)[i] = tw::where(numbers[q] >= p, part * scale, 0);
    }
  }
  return y;
});

}  // namespace examples
