// Layer norm and RMS norm of rows of any length, forward and backward.
#pragma once

#include <tilewright/tilewright.h>

#include <tuple>

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

// The gradients of x, of the weights and of the bias; the latter two are sums over rows, to which
// every program adds.
inline auto layer_norm_backward = tw::kernel(
    "layer_norm_backward",
    [](tw::Tensor dy, tw::Tensor x, tw::Tensor weight, tw::Tensor mean, tw::Tensor rstd) {
      auto [m, n] = tw::sizes<2>(x);
      tw::Tensor dx = tw::empty_like(x), dweight = tw::zeros_tensor({n}, tw::f32),
                 dbias = tw::zeros_tensor({n}, tw::f32);
      for (auto rows : tw::tile(m)) {
        tw::Tile scale = rstd[rows][tw::all, tw::none], grad = tw::cast(dy[rows, tw::all], tw::f32);
        tw::Tile hat =
            (tw::cast(x[rows, tw::all], tw::f32) - mean[rows][tw::all, tw::none]) * scale;
        tw::Tile scaled = grad * tw::cast(weight[tw::all], tw::f32);
        tw::Tile a = tw::sum(scaled, tw::axis(1), tw::keep_dims) / n;
        tw::Tile b = tw::sum(scaled * hat, tw::axis(1), tw::keep_dims) / n;
        dx[rows, tw::all] = (scaled - a - hat * b) * scale;
        tw::atomic_add(dweight[tw::all], tw::sum(grad * hat, tw::axis(0)));
        tw::atomic_add(dbias[tw::all], tw::sum(grad, tw::axis(0)));
      }
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
      for (auto rows : tw::tile(m)) {
        tw::Tile scale = rstd[rows][tw::all, tw::none], grad = tw::cast(dy[rows, tw::all], tw::f32);
        tw::Tile hat = tw::cast(x[rows, tw::all], tw::f32) * scale;
        tw::Tile scaled = grad * tw::cast(weight[tw::all], tw::f32);
        tw::Tile b = tw::sum(scaled * hat, tw::axis(1), tw::keep_dims) / n;
        dx[rows, tw::all] = (scaled - hat * b) * scale;
        tw::atomic_add(dweight[tw::all], tw::sum(grad * hat, tw::axis(0)));
      }
      return std::tuple{dx, dweight};
    });

}  // namespace examples
