// Losses, one for each row.
#pragma once

#include <tilewright/tilewright.h>

namespace examples {

namespace tw = tilewright;

// -log softmax(logits)[label]
inline auto cross_entropy = tw::kernel("cross_entropy", [](tw::Tensor logits, tw::Tensor labels) {
  tw::Tensor losses = tw::empty({logits.size(0)}, tw::f32);
  for (auto rows : tw::tile(logits.size(0))) {
    tw::Tile row = tw::cast(logits[rows, tw::all], tw::f32);
    tw::Tile top = tw::max(row, tw::axis(1));
    tw::Tile sum = tw::sum(tw::exp(row - top[tw::all, tw::none]), tw::axis(1));
    tw::Tile wanted = tw::cast(logits[rows.index(), labels[rows]], tw::f32);
    losses[rows] = tw::log(sum) + top - wanted;
  }
  return losses;
});

// The divergence of probabilities `target` from those whose logarithms are given.
inline auto kl_div = tw::kernel("kl_div", [](tw::Tensor log_input, tw::Tensor target) {
  tw::Tensor losses = tw::empty({target.size(0)}, tw::f32);
  for (auto rows : tw::tile(target.size(0))) {
    tw::Tile t = tw::cast(target[rows, tw::all], tw::f32);
    tw::Tile difference = tw::log(t) - tw::cast(log_input[rows, tw::all], tw::f32);
    losses[rows] = tw::sum(tw::where(t > 0, t * difference, 0), tw::axis(1));
  }
  return losses;
});

// The Jensen-Shannon divergence of probabilities given by their logarithms.
inline auto jsd = tw::kernel("jsd", [](tw::Tensor log_p, tw::Tensor log_q) {
  tw::Tensor losses = tw::empty({log_p.size(0)}, tw::f32);
  for (auto rows : tw::tile(log_p.size(0))) {
    tw::Tile lp = tw::cast(log_p[rows, tw::all], tw::f32),
             lq = tw::cast(log_q[rows, tw::all], tw::f32);
    tw::Tile p = tw::exp(lp), q = tw::exp(lq), middle = tw::log((p + q) / 2);
    losses[rows] = tw::sum(p * (lp - middle) + q * (lq - middle), tw::axis(1)) / 2;
  }
  return losses;
});

}  // namespace examples
