// Sums: of whole rows, however long (the config decides whether they are read in parts), and of
// all.
#pragma once

#include <tilewright/tilewright.h>

namespace examples {

namespace tw = tilewright;

inline auto sum_rows = tw::kernel("sum_rows", [](tw::Tensor x) {
  tw::Tensor sums = tw::empty({x.size(0)}, tw::f32);
  for (auto rows : tw::tile(x.size(0))) {
    sums[rows] = tw::sum(tw::cast(x[rows, tw::all], tw::f32), tw::axis(1));
  }
  return sums;
});

// Rows that are too long for one program each: parts are added as they come.
inline auto long_sum = tw::kernel("long_sum", [](tw::Tensor x) {
  auto [m, n] = tw::sizes<2>(x);
  tw::Tensor sums = tw::zeros_tensor({m}, tw::f32);
  for (auto [row, cols] : tw::tile({tw::each(m), n})) {
    tw::atomic_add(sums[row], tw::sum(tw::cast(x[row, cols], tw::f32)));
  }
  return sums;
});

// Every program adds its part; in which order is not known, so the last bits may differ.
inline auto total = tw::kernel("total", [](tw::Tensor x) {
  tw::Tensor sum = tw::zeros_tensor({1}, tw::f32);
  for (auto i : tw::tile(x.size(0))) {
    tw::atomic_add(sum[0], tw::sum(tw::cast(x[i], tw::f32)));
  }
  return sum;
});

}  // namespace examples
