// Sequences of different lengths, one after the other: sequence b has the rows offsets[b] to
// offsets[b + 1].
#pragma once

#include <tilewright/tilewright.h>

#include <limits>

namespace examples {

namespace tw = tilewright;

// Softmax along each sequence, for every feature.
inline auto jagged_softmax = tw::kernel("jagged_softmax", [](tw::Tensor x, tw::Tensor offsets) {
  const tw::Size sequences = offsets.size(0) - 1;
  tw::Tensor y = tw::empty_like(x);
  for (auto [b, cols] : tw::tile({tw::each(sequences), x.size(1)})) {
    tw::Tile begin = offsets[b], end = offsets[b + 1];
    tw::Tile top = tw::full({cols}, std::numeric_limits<float>::lowest(), tw::f32),
             sum = tw::zeros({cols}, tw::f32);
    for (auto rows : tw::tile(begin, end)) {
      tw::Tile part = tw::cast(x[rows, cols], tw::f32);
      tw::Tile next = tw::max(top, tw::max(part, tw::axis(0)));
      sum = sum * tw::exp(top - next) + tw::sum(tw::exp(part - next), tw::axis(0));
      top = next;
    }
    for (auto rows : tw::tile(begin, end)) {
      y[rows, cols] = tw::exp(tw::cast(x[rows, cols], tw::f32) - top) / sum;
    }
  }
  return y;
});

// Each sequence times a matrix of its own, plus a bias.
inline auto jagged_dense = tw::kernel(
    "jagged_dense", [](tw::Tensor x, tw::Tensor offsets, tw::Tensor dense, tw::Tensor bias) {
      auto [sequences, k, n] = tw::sizes<3>(dense);
      tw::Tensor y = tw::empty({x.size(0), n}, x.dtype());
      for (auto [b, cols] : tw::tile({tw::each(sequences), n})) {
        for (auto rows : tw::tile(offsets[b], offsets[b + 1])) {
          tw::Tile acc = tw::zeros({rows, cols}, tw::f32);
          for (auto ks : tw::tile(k)) {
            acc = tw::addmm(acc, x[rows, ks], dense[b, ks, cols]);
          }
          y[rows, cols] = acc + tw::cast(bias[b, cols], tw::f32);
        }
      }
      return y;
    });

}  // namespace examples
