// Rotary position embedding: the two halves of each head's features are turned by an angle.
#pragma once

#include <tilewright/tilewright.h>

namespace examples {

namespace tw = tilewright;

inline auto rope = tw::kernel("rope", [](tw::Tensor x, tw::Tensor cos, tw::Tensor sin) {
  auto [tokens, heads, features] = tw::sizes<3>(x);
  const tw::Size half = features / 2;
  tw::Tensor y = tw::empty_like(x);
  for (auto [t, h] : tw::tile({tokens, heads})) {
    tw::Tile a = tw::cast(x.slice(2, 0, half)[t, h, tw::all], tw::f32);
    tw::Tile b = tw::cast(x.slice(2, half, features)[t, h, tw::all], tw::f32);
    tw::Tile c = cos[t, tw::all][tw::all, tw::none, tw::all];
    tw::Tile s = sin[t, tw::all][tw::all, tw::none, tw::all];
    y.slice(2, 0, half)[t, h, tw::all] = a * c - b * s;
    y.slice(2, half, features)[t, h, tw::all] = b * c + a * s;
  }
  return y;
});

}  // namespace examples
