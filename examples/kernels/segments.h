// Sums of the rows of each segment; the segments' numbers are in ascending order.
#pragma once

#include <tilewright/tilewright.h>

#include <tuple>

namespace examples {

namespace tw = tilewright;

inline auto segment_sum =
    tw::kernel("segment_sum", [](tw::Tensor x, tw::Tensor segments, int64_t count) {
      auto [m, n] = tw::sizes<2>(x);
      tw::Tensor sums = tw::zeros_tensor({count, n}, tw::f32);
      for (auto [rows, cols] : tw::tile({m, n})) {
        tw::Tile value = tw::cast(x[rows, cols], tw::f32);
        tw::Tile segment = tw::broadcast_to(segments[rows][tw::all, tw::none], {rows, cols});
        auto [sum, last] = tw::associative_scan(
            tw::axis(0), std::tuple{value, segment}, std::tuple{0, -1},
            [](const auto& left, const auto& right) {
              auto [sum_a, segment_a] = left;
              auto [sum_b, segment_b] = right;
              return std::tuple{tw::where(segment_a == segment_b, sum_a + sum_b, sum_b), segment_b};
            });
        // Of each segment, the last row in this tile has the sum.
        tw::Tile next = rows.index() + 1,
                 ends = next == rows.end() || segments[next] != segments[rows];
        tw::atomic_add(sums[segments[rows], cols], sum, {.mask = ends[tw::all, tw::none]});
      }
      return sums;
    });

}  // namespace examples
