// Layer norm and RMS norm of rows of any length, forward and backward.
#pragma once

#include <tilewright/tilewright.h>

#include <tuple>
#include <vector>

namespace examples {

namespace tw = tilewright;

inline auto layer_norm =
    tw::kernel("layer_norm", [](tw::Tensor x, tw::Tensor weight, tw::Tensor bias, float eps) {
      auto [m, n] = tw::sizes<2>(x);
      tw::Tensor y = tw::empty_like(x), mean = tw::empty({m}, tw::f32),
                 rstd = tw::empty({m}, tw::f32);
      for (auto rows : tw::tile(m)) {
        tw::Tile row = tw::cast(x[rows, tw::all], tw::f32);
        tw::Tile center = tw::sum(row, tw::axis(1)) / n;
        tw::Tile part = row - center[tw::all, tw::none];
        tw::Tile scale = tw::rsqrt(tw::sum(part * part, tw::axis(1)) / n + eps);
        y[rows, tw::all] = part * scale[tw::all, tw::none] * tw::cast(weight[tw::all], tw::f32) +
                           tw::cast(bias[tw::all], tw::f32);
        mean[rows] = center;
        rstd[rows] = scale;
      }
      return std::tuple{y, mean, rstd};
    });

// The gradients of weights are sums over all rows. A program takes some of these, adds up what they
// give in registers, and then adds that to the result. Rows that are too long for registers are
// added one by one. `step` does some rows and gives their sums.
template <class Step>
void sum_over_rows(tw::Size m, tw::Size n, const std::vector<tw::Tensor>& results, Step step) {
  const auto add = [&](const std::vector<tw::Tile>& sums) {
    for (size_t i = 0; i < results.size(); ++i) tw::atomic_add(results[i][tw::all], sums[i]);
  };
  if (n > 16384) {
    for (auto rows : tw::tile(m)) add(step(rows));
    return;
  }
  const tw::Size part = tw::tunable("part", {16, 4, 8, 32, 64});
  for (auto p : tw::grid(tw::cdiv(m, part))) {
    std::vector<tw::Tile> sums;
    for (size_t i = 0; i < results.size(); ++i) sums.push_back(tw::zeros({n}, tw::f32));
    for (auto rows : tw::tile(p * part, tw::min((p + 1) * part, m))) {
      const std::vector<tw::Tile> more = step(rows);
      for (size_t i = 0; i < results.size(); ++i) sums[i] += more[i];
    }
    add(sums);
  }
}

// The gradients of x, of the weights and of the bias.
inline auto layer_norm_backward = tw::kernel(
    "layer_norm_backward",
    [](tw::Tensor dy, tw::Tensor x, tw::Tensor weight, tw::Tensor mean, tw::Tensor rstd) {
      auto [m, n] = tw::sizes<2>(x);
      tw::Tensor dx = tw::empty_like(x), dweight = tw::zeros_tensor({n}, tw::f32),
                 dbias = tw::zeros_tensor({n}, tw::f32);
      sum_over_rows(m, n, {dweight, dbias}, [&, n = n](auto rows) {
        tw::Tile scale = rstd[rows][tw::all, tw::none], grad = tw::cast(dy[rows, tw::all], tw::f32);
        tw::Tile hat =
            (tw::cast(x[rows, tw::all], tw::f32) - mean[rows][tw::all, tw::none]) * scale;
        tw::Tile scaled = grad * tw::cast(weight[tw::all], tw::f32);
        tw::Tile a = tw::sum(scaled, tw::axis(1), tw::keep_dims) / n;
        tw::Tile b = tw::sum(scaled * hat, tw::axis(1), tw::keep_dims) / n;
        dx[rows, tw::all] = (scaled - a - hat * b) * scale;
        return std::vector{tw::sum(grad * hat, tw::axis(0)), tw::sum(grad, tw::axis(0))};
      });
      return std::tuple{dx, dweight, dbias};
    });

inline auto rms_norm = tw::kernel("rms_norm", [](tw::Tensor x, tw::Tensor weight, float eps) {
  auto [m, n] = tw::sizes<2>(x);
  tw::Tensor y = tw::empty_like(x), rstd = tw::empty({m}, tw::f32);
  for (auto rows : tw::tile(m)) {
    tw::Tile row = tw::cast(x[rows, tw::all], tw::f32);
    tw::Tile scale = tw::rsqrt(tw::sum(row * row, tw::axis(1)) / n + eps);
    y[rows, tw::all] = row * scale[tw::all, tw::none] * tw::cast(weight[tw::all], tw::f32);
    rstd[rows] = scale;
  }
  return std::tuple{y, rstd};
});

inline auto rms_norm_backward = tw::kernel(
    "rms_norm_backward", [](tw::Tensor dy, tw::Tensor x, tw::Tensor weight, tw::Tensor rstd) {
      auto [m, n] = tw::sizes<2>(x);
      tw::Tensor dx = tw::empty_like(x), dweight = tw::zeros_tensor({n}, tw::f32);
      sum_over_rows(m, n, {dweight}, [&, n = n](auto rows) {
        tw::Tile scale = rstd[rows][tw::all, tw::none], grad = tw::cast(dy[rows, tw::all], tw::f32);
        tw::Tile hat = tw::cast(x[rows, tw::all], tw::f32) * scale;
        tw::Tile scaled = grad * tw::cast(weight[tw::all], tw::f32);
        tw::Tile b = tw::sum(scaled * hat, tw::axis(1), tw::keep_dims) / n;
        dx[rows, tw::all] = (scaled - hat * b) * scale;
        return std::vector{tw::sum(grad * hat, tw::axis(0))};
      });
      return std::tuple{dx, dweight};
    });

}  // namespace examples
