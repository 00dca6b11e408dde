// Rows that belong to groups, each with a matrix of its own. Group g has the rows offsets[g] to
// offsets[g + 1].
#pragma once

#include <tilewright/tilewright.h>

namespace examples {

namespace tw = tilewright;

inline auto grouped_matmul =
    tw::kernel("grouped_matmul", [](tw::Tensor a, tw::Tensor b, tw::Tensor offsets) {
      auto [groups, k, n] = tw::sizes<3>(b);
      tw::Tensor c = tw::empty({a.size(0), n}, a.dtype());
      for (auto [g, cols] : tw::tile({tw::each(groups), n})) {
        for (auto rows : tw::tile(offsets[g], offsets[g + 1])) {
          tw::Tile acc = tw::zeros({rows, cols}, tw::f32);
          for (auto ks : tw::tile(k)) {
            acc = tw::addmm(acc, a[rows, ks], b[g, ks, cols]);
          }
          c[rows, cols] = acc;
        }
      }
      return c;
    });

// A mixture of experts: the rows of expert e are tokens[offsets[e]] .., fetched from x, multiplied
// by the expert's matrix, weighted and added to what other experts make of the same token.
inline auto moe_matmul =
    tw::kernel("moe_matmul", [](tw::Tensor x, tw::Tensor experts, tw::Tensor tokens,
                                tw::Tensor weights, tw::Tensor offsets) {
      auto [count, k, n] = tw::sizes<3>(experts);
      tw::Tensor y = tw::zeros_tensor({x.size(0), n}, tw::f32);
      for (auto [e, cols] : tw::tile({tw::each(count), n})) {
        for (auto rows : tw::tile(offsets[e], offsets[e + 1])) {
          tw::Tile token = tokens[rows], acc = tw::zeros({rows, cols}, tw::f32);
          for (auto ks : tw::tile(k)) {
            acc = tw::addmm(acc, x[token, ks], experts[e, ks, cols]);
          }
          tw::atomic_add(y[token, cols], acc * weights[rows][tw::all, tw::none]);
        }
      }
      return y;
    });

}  // namespace examples
