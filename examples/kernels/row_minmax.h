// Two results: the least and the greatest element of each row.
#pragma once

#include <tilewright/tilewright.h>

#include <tuple>

namespace examples {

namespace tw = tilewright;

inline auto row_minmax = tw::kernel("row_minmax", [](tw::Tensor x) {
  tw::Tensor lowest = tw::empty({x.size(0)}, x.dtype());
  tw::Tensor highest = tw::empty({x.size(0)}, x.dtype());
  for (auto rows : tw::tile(x.size(0))) {
    tw::Tile row = x[rows, tw::all];
    lowest[rows] = tw::min(row, tw::axis(1));
    highest[rows] = tw::max(row, tw::axis(1));
  }
  return std::tuple{lowest, highest};
});

}  // namespace examples
