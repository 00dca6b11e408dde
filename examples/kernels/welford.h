// Mean and variance of rows by Welford's method: a reduction of three tiles at once.
#pragma once

#include <tilewright/tilewright.h>

#include <tuple>

namespace examples {

namespace tw = tilewright;

inline auto welford = tw::kernel("welford", [](tw::Tensor x) {
  auto [m, n] = tw::sizes<2>(x);
  tw::Tensor means = tw::empty({m}, tw::f32), variances = tw::empty({m}, tw::f32);
  for (auto rows : tw::tile(m)) {
    tw::Tile row = tw::cast(x[rows, tw::all], tw::f32);
    auto [mean, squares, count] =
        tw::reduce(tw::axis(1), std::tuple{row, tw::zeros_like(row), tw::full_like(row, 1)},
                   std::tuple{0, 0, 0}, [](const auto& left, const auto& right) {
                     auto [mean_a, squares_a, count_a] = left;
                     auto [mean_b, squares_b, count_b] = right;
                     tw::Tile all = count_a + count_b, share = count_b / tw::max(all, 1),
                              step = mean_b - mean_a;
                     return std::tuple{mean_a + step * share,
                                       squares_a + squares_b + step * step * count_a * share, all};
                   });
    means[rows] = mean;
    variances[rows] = squares / n;
  }
  return std::tuple{means, variances};
});

}  // namespace examples
