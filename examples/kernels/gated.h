// Gated activations: one half of a layer's output decides how much of the other passes.
#pragma once

#include <tilewright/tilewright.h>

namespace examples {

namespace tw = tilewright;

inline auto geglu = tw::kernel("geglu", [](tw::Tensor a, tw::Tensor b) {
  tw::Tensor y = tw::empty_like(a);
  for (auto [rows, cols] : tw::tile({a.size(0), a.size(1)})) {
    y[rows, cols] =
        tw::gelu_tanh(tw::cast(a[rows, cols], tw::f32)) * tw::cast(b[rows, cols], tw::f32);
  }
  return y;
});

inline auto swiglu = tw::kernel("swiglu", [](tw::Tensor a, tw::Tensor b) {
  tw::Tensor y = tw::empty_like(a);
  for (auto [rows, cols] : tw::tile({a.size(0), a.size(1)})) {
    y[rows, cols] = tw::silu(tw::cast(a[rows, cols], tw::f32)) * tw::cast(b[rows, cols], tw::f32);
  }
  return y;
});

}  // namespace examples
