// Rows of a table, chosen by a tensor of numbers.
#pragma once

#include <tilewright/tilewright.h>

namespace examples {

namespace tw = tilewright;

inline auto embedding = tw::kernel("embedding", [](tw::Tensor ids, tw::Tensor table) {
  tw::Tensor y = tw::empty({ids.size(0), table.size(1)}, table.dtype());
  for (auto [tokens, cols] : tw::tile({ids.size(0), table.size(1)})) {
    y[tokens, cols] = table[ids[tokens], cols];
  }
  return y;
});

}  // namespace examples
