// The scan within chunks of a Mamba-2 layer. Of chunk c and head h, position i gets what the state
// before the chunk still gives, plus what the positions up to i give.
#pragma once

#include <tilewright/tilewright.h>

namespace examples {

namespace tw = tilewright;

inline auto chunk_scan = tw::kernel("chunk_scan", [](tw::Tensor cb, tw::Tensor x, tw::Tensor dt,
                                                     tw::Tensor decay, tw::Tensor c,
                                                     tw::Tensor states, tw::Tensor d) {
  auto [chunks, length, heads, features] = tw::sizes<4>(x);
  tw::Tensor y = tw::empty_like(x);
  for (auto [i, h, rows, cols] : tw::tile({tw::each(chunks), tw::each(heads), length, features})) {
    tw::Tile since = decay[i, h, rows][tw::all, tw::none];
    tw::Tile before = tw::cast(c[i, rows, tw::all], tw::f32) * tw::exp(since);
    tw::Tile acc = tw::dot(tw::cast(before, x.dtype()), states[i, h, cols, tw::all].t());
    for (auto ks : tw::tile(rows.end())) {
      tw::Tile fade = tw::exp(since - decay[i, h, ks]) * dt[i, h, ks];
      tw::Tile past = rows.index()[tw::all, tw::none] >= ks.index();
      tw::Tile weight = tw::where(past, tw::cast(cb[i, rows, ks], tw::f32) * fade, 0);
      acc = tw::addmm(acc, tw::cast(weight, x.dtype()), x[i, ks, h, cols]);
    }
    y[i, rows, h, cols] = acc + tw::cast(x[i, rows, h, cols], tw::f32) * d[h];
  }
  return y;
});

}  // namespace examples
