// The product of two matrices of any size, row-major, transposed or a slice of something larger.
#pragma once

#include <tilewright/tilewright.h>

namespace examples {

namespace tw = tilewright;

inline auto matmul = tw::kernel("matmul", [](tw::Tensor a, tw::Tensor b) {
  auto [m, k] = tw::sizes<2>(a);
  auto [k2, n] = tw::sizes<2>(b);
  tw::check(k == k2, "inner sizes differ: {} and {}", k, k2);
  tw::Tensor c = tw::empty({m, n}, a.dtype());
  for (auto [rows, cols] : tw::tile({m, n})) {        // the grid: one program per output tile
    tw::Tile acc = tw::zeros({rows, cols}, tw::f32);  // stays in registers
    for (auto ks : tw::tile(k)) {                     // a sequential loop, pipelined
      acc = tw::addmm(acc, a[rows, ks], b[ks, cols]);
    }
    c[rows, cols] = acc;  // converted to c's dtype, edge-masked
  }
  return c;
});

}  // namespace examples
