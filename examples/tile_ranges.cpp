// Shows how a range is tiled: the last tile is clipped, nothing is covered twice.
#include "kernels/tile_ranges.h"

#include "check.h"

namespace {

std::string range(const tilewright::Array& array, int64_t at) {
  return fmt::format("{:.0f}:{:.0f}", array.value(at), array.value(at + 1));
}

}  // namespace

int main() {
  std::string tiles, pairs;
  const tilewright::Array ranges = examples::tile_ranges(10).to_host();
  for (int64_t i = 0; i < ranges.size(0); ++i) tiles += " " + range(ranges, 2 * i);
  const tilewright::Array corners = examples::tile_pairs(10, 6).to_host();
  for (int64_t i = 0; i < corners.size(0) * corners.size(1); ++i)
    pairs += fmt::format(" ({}, {})", range(corners, 4 * i), range(corners, 4 * i + 2));

  fmt::print("10 in tiles of 4:{}\n10 x 6 in tiles of 4 x 4:{}\n", tiles, pairs);
  const bool right =
      tiles == " 0:4 4:8 8:10" &&
      pairs == " (0:4, 0:4) (0:4, 4:6) (4:8, 0:4) (4:8, 4:6) (8:10, 0:4) (8:10, 4:6)";
  return right ? 0 : 1;
}
