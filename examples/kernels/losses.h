// Losses, one for each row.
#pragma once

#include <tilewright/tilewright.h>

#include <limits>

namespace examples {

namespace tw = tilewright;

// -log softmax(logits)[label]. However long a row is, it is read once: the sum of exponentials is
// relative to the greatest logit so far. Each program does one row.
inline auto cross_entropy = tw::kernel("cross_entropy", [](tw::Tensor logits, tw::Tensor labels) {
  auto [m, n] = tw::sizes<2>(logits);
  const tw::Size part = tw::tunable("part", {4096, 1024, 2048, 8192});
  tw::Tensor losses = tw::empty({m}, tw::f32);
  for (auto rows : tw::tile(m, tw::block(1))) {
    tw::Tile top = tw::full({rows}, std::numeric_limits<float>::lowest(), tw::f32);
    tw::Tile sum = tw::zeros({rows}, tw::f32);
    for (auto cols : tw::tile(n, tw::block(tw::specialize(part)))) {
      tw::Tile logit = tw::cast(logits[rows, cols], tw::f32);
      tw::Tile next = tw::max(top, tw::max(logit, tw::axis(1)));
      tw::Tile more = tw::sum(tw::exp(logit - next[tw::all, tw::none]), tw::axis(1));
      sum = sum * tw::exp(top - next) + more;
      top = next;
    }
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
