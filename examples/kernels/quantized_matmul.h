// Products of matrices that are stored in fewer bits, with scales.
#pragma once

#include <tilewright/tilewright.h>

namespace examples {

namespace tw = tilewright;

// a and b are f8, with a scale for each row of a and each column of b.
inline auto fp8_matmul = tw::kernel(
    "fp8_matmul", [](tw::Tensor a, tw::Tensor b, tw::Tensor row_scales, tw::Tensor col_scales) {
      auto [m, k] = tw::sizes<2>(a);
      const tw::Size n = b.size(1);
      tw::Tensor c = tw::empty({m, n}, tw::bf16);
      for (auto [rows, cols] : tw::tile({m, n})) {
        tw::Tile acc = tw::zeros({rows, cols}, tw::f32);
        for (auto ks : tw::tile(k)) {
          acc = tw::addmm(acc, a[rows, ks], b[ks, cols]);
        }
        c[rows, cols] = acc * row_scales[rows][tw::all, tw::none] * col_scales[cols];
      }
      return c;
    });

// Byte [j, col] of the weights holds two signed numbers of 4 bits: row j in its low half, row j + k
// / 2 in its high half; each column has a scale.
inline auto int4_matmul =
    tw::kernel("int4_matmul", [](tw::Tensor x, tw::Tensor weights, tw::Tensor scales) {
      auto [m, k] = tw::sizes<2>(x);
      auto [half, n] = tw::sizes<2>(weights);
      tw::check(half * 2 == k, "x has {} columns, and the weights are {} by {}", k, half, n);
      tw::Tensor y = tw::empty({m, n}, x.dtype()), first = x.slice(1, 0, half),
                 second = x.slice(1, half, k);
      for (auto [rows, cols] : tw::tile({m, n})) {
        tw::Tile acc = tw::zeros({rows, cols}, tw::f32);
        for (auto ks : tw::tile(half)) {
          auto [low, high] = tw::unpack_int4(weights[ks, cols], x.dtype());
          acc = tw::addmm(acc, first[rows, ks], low);
          acc = tw::addmm(acc, second[rows, ks], high);
        }
        y[rows, cols] = acc * scales[cols];
      }
      return y;
    });

}  // namespace examples
