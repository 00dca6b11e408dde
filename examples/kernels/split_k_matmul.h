// Products whose inner dimension is shared out among programs, for results of few tiles.
#pragma once

#include <tilewright/tilewright.h>

namespace examples {

namespace tw = tilewright;

// The parts are added as they come.
inline auto split_k_matmul = tw::kernel("split_k_matmul", [](tw::Tensor a, tw::Tensor b) {
  auto [m, k] = tw::sizes<2>(a);
  const tw::Size n = b.size(1), split = tw::tunable("split_k", {4, 1, 2, 8}),
                 part = tw::cdiv(k, split);
  tw::Tensor c = tw::zeros_tensor({m, n}, tw::f32);
  for (auto [s, rows, cols] : tw::tile({tw::each(split), m, n})) {
    tw::Tile acc = tw::zeros({rows, cols}, tw::f32);
    for (auto ks : tw::tile(s * part, tw::min((s + 1) * part, k))) {
      acc = tw::addmm(acc, a[rows, ks], b[ks, cols]);
    }
    tw::atomic_add(c[rows, cols], acc);
  }
  return c;
});

// The parts are added by a second grid, always in one order.
inline auto split_k_matmul_ordered =
    tw::kernel("split_k_matmul_ordered", [](tw::Tensor a, tw::Tensor b) {
      auto [m, k] = tw::sizes<2>(a);
      const tw::Size n = b.size(1), split = tw::tunable("split_k", {4, 1, 2, 8}),
                     part = tw::cdiv(k, split);
      tw::Tensor c = tw::empty({m, n}, a.dtype()), parts = tw::empty({split, m, n}, tw::f32);
      for (auto [s, rows, cols] : tw::tile({tw::each(split), m, n})) {
        tw::Tile acc = tw::zeros({rows, cols}, tw::f32);
        for (auto ks : tw::tile(s * part, tw::min((s + 1) * part, k))) {
          acc = tw::addmm(acc, a[rows, ks], b[ks, cols]);
        }
        parts[s, rows, cols] = acc;
      }
      tw::barrier();
      for (auto [rows, cols] : tw::tile({m, n})) {
        tw::Tile sum = tw::zeros({rows, cols}, tw::f32);
        for (auto s : tw::grid(split)) sum += parts[s, rows, cols];
        c[rows, cols] = sum;
      }
      return c;
    });

}  // namespace examples
