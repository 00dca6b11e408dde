// Rows that belong to groups, each with a matrix of its own. Group g has the rows offsets[g] to
// offsets[g + 1]. A large group is shared out among programs, each of which takes so many of its
// rows; as any group may have all rows, there are programs that find nothing to do.
#pragma once

#include <tilewright/tilewright.h>

namespace examples {

namespace tw = tilewright;

inline auto grouped_matmul =
    tw::kernel("grouped_matmul", [](tw::Tensor a, tw::Tensor b, tw::Tensor offsets) {
      auto [groups, k, n] = tw::sizes<3>(b);
      const tw::Size part = tw::tunable("part", {512, 128, 256, 1024, 4096});
      const tw::Size parts = tw::cdiv(a.size(0), part);
      tw::Tensor c = tw::empty({a.size(0), n}, a.dtype());
      for (auto [g, p, cols] : tw::tile({tw::each(groups), tw::each(parts), n})) {
        tw::Tile begin = offsets[g] + p * part;
        for (auto rows : tw::tile(begin, tw::min(begin + part, offsets[g + 1]))) {
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
      const tw::Size part = tw::tunable("part", {512, 128, 256, 1024, 4096});
      const tw::Size parts = tw::cdiv(tokens.size(0), part);
      tw::Tensor y = tw::zeros_tensor({x.size(0), n}, tw::f32);
      for (auto [e, p, cols] : tw::tile({tw::each(count), tw::each(parts), n})) {
        tw::Tile begin = offsets[e] + p * part;
        for (auto rows : tw::tile(begin, tw::min(begin + part, offsets[e + 1]))) {
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
