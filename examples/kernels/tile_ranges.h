// What tiles are: these kernels write down the positions that each of their programs covers.
#pragma once

#include <tilewright/tilewright.h>

namespace examples {

namespace tw = tilewright;

// Row i of the result is begin and end of tile i of 0 .. n, in tiles of 4.
inline auto tile_ranges = tw::kernel("tile_ranges", [](int n) {
  tw::Tensor ranges = tw::empty({tw::cdiv(n, 4), 2}, tw::i64);
  for (auto rows : tw::tile(n, tw::block(4))) {
    ranges[rows.id(), 0] = rows.begin();
    ranges[rows.id(), 1] = rows.end();
  }
  return ranges;
});

// Element [i, j] of the result is the range of rows and the range of columns of that tile.
inline auto tile_pairs = tw::kernel("tile_pairs", [](int m, int n) {
  tw::Tensor ranges = tw::empty({tw::cdiv(m, 4), tw::cdiv(n, 4), 4}, tw::i64);
  for (auto [rows, cols] : tw::tile({m, n}, {tw::block(4), tw::block(4)})) {
    ranges[rows.id(), cols.id(), 0] = rows.begin();
    ranges[rows.id(), cols.id(), 1] = rows.end();
    ranges[rows.id(), cols.id(), 2] = cols.begin();
    ranges[rows.id(), cols.id(), 3] = cols.end();
  }
  return ranges;
});

}  // namespace examples
