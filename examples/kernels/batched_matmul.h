// Products of many pairs of matrices: the grid walks the pairs one by one.
#pragma once

#include <tilewright/tilewright.h>

namespace examples {

namespace tw = tilewright;

inline auto batched_matmul = tw::kernel("batched_matmul", [](tw::Tensor a, tw::Tensor b) {
  auto [batch, m, k] = tw::sizes<3>(a);
  const tw::Size n = b.size(2);
  tw::Tensor c = tw::empty({batch, m, n}, a.dtype());
  for (auto [i, rows, cols] : tw::tile({tw::each(batch), m, n})) {
    tw::Tile acc = tw::zeros({rows, cols}, tw::f32);
    for (auto ks : tw::tile(k)) {
      acc = tw::addmm(acc, a[i, rows, ks], b[i, ks, cols]);
    }
    c[i, rows, cols] = acc;
  }
  return c;
});

}  // namespace examples
