// Softmax over rows.
#pragma once

#include <tilewright/tilewright.h>

#include <limits>

namespace examples {

namespace tw = tilewright;

// Rows are taken whole. Where registers hold them, every element is read once and written once;
// longer ones are walked in parts, as the config says.
inline auto softmax = tw::kernel("softmax", [](tw::Tensor x) {
  tw::Tensor y = tw::empty_like(x);
  for (auto rows : tw::tile(x.size(0))) {
    tw::Tile row = tw::cast(x[rows, tw::all], tw::f32);
    tw::Tile e = tw::exp(row - tw::max(row, tw::axis(1), tw::keep_dims));
    y[rows, tw::all] = e / tw::sum(e, tw::axis(1), tw::keep_dims);
  }
  return y;
});

// Rows are read twice, in tiles of columns: a running maximum, with a sum that follows it, then the
// results.
inline auto softmax_two_pass = tw::kernel("softmax_two_pass", [](tw::Tensor x) {
  auto [m, n] = tw::sizes<2>(x);
  tw::Tensor y = tw::empty_like(x);
  for (auto rows : tw::tile(m)) {
    tw::Tile top = tw::full({rows}, std::numeric_limits<float>::lowest(), tw::f32),
             sum = tw::zeros({rows}, tw::f32);
    for (auto cols : tw::tile(n)) {
      tw::Tile part = tw::cast(x[rows, cols], tw::f32);
      tw::Tile next = tw::max(top, tw::max(part, tw::axis(1)));
      sum =
          sum * tw::exp(top - next) + tw::sum(tw::exp(part - next[tw::all, tw::none]), tw::axis(1));
      top = next;
    }
    for (auto cols : tw::tile(n)) {
      tw::Tile part = tw::cast(x[rows, cols], tw::f32);
      y[rows, cols] = tw::exp(part - top[tw::all, tw::none]) / sum[tw::all, tw::none];
    }
  }
  return y;
});

}  // namespace examples
