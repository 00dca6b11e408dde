// A layer of a network: act(x . w + bias). The activation is any C++ callable from tile to tile; it
// is traced into the kernel, so it costs no pass over memory of its own.
#pragma once

#include <tilewright/tilewright.h>

namespace examples {

namespace tw = tilewright;

template <class Activation>
auto linear(const char* name, Activation activation) {
  return tw::kernel(name, [activation](tw::Tensor x, tw::Tensor w, tw::Tensor bias) {
    auto [m, k] = tw::sizes<2>(x);
    auto [k2, n] = tw::sizes<2>(w);
    tw::check(k == k2 && bias.size(0) == n, "x is {}x{}, w is {}x{}, bias has {}", m, k, k2, n,
              bias.size(0));
    tw::Tensor y = tw::empty({m, n}, x.dtype());
    for (auto [rows, cols] : tw::tile({m, n})) {
      tw::Tile acc = tw::zeros({rows, cols}, tw::f32);
      for (auto ks : tw::tile(k)) {
        acc = tw::addmm(acc, x[rows, ks], w[ks, cols]);
      }
      y[rows, cols] = activation(acc + tw::cast(bias[cols], tw::f32));
    }
    return y;
  });
}

inline auto linear_gelu = linear("linear_gelu", [](tw::Tile x) { return tw::gelu(x); });

}  // namespace examples
