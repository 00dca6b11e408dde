#include "tilewright/runtime/emulator_tensor_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tilewright::runtime {
namespace {

constexpr int kChunk = 16;  // bytes that a swizzle moves as one
constexpr int kDestinationAlignment = 128;
constexpr size_t kMostDimensions = 5;

}  // namespace

int64_t box_bytes(const codegen::TensorMapSpec& map) {
  int64_t bytes = size_of(map.dtype);
  for (const int extent : map.box) bytes *= extent;
  return bytes;
}

std::string bulk_copy_problem(const codegen::TensorMapSpec& map, std::span<const int> at,
                              int64_t shared) {
  if (at.size() != map.sizes.size())
    return fmt::format("{} coordinates for a map of {} dimensions", at.size(), map.sizes.size());
  const int64_t row = int64_t{map.box.at(0)} * size_of(map.dtype);
  if (row % kChunk != 0)
    return fmt::format("rows of a box have {} bytes, no multiple of {}", row, kChunk);
  if (map.swizzle != 0 && row != map.swizzle)
    return fmt::format("rows of a box have {} bytes, its swizzle {}", row, map.swizzle);
  // An H200 calls it an illegal instruction.
  if (int64_t{at[0]} * size_of(map.dtype) % kChunk != 0)
    return fmt::format("coordinate {} of the fastest dimension is at no multiple of {} bytes",
                       at[0], kChunk);
  if (shared % kDestinationAlignment != 0)
    return fmt::format("byte {} of shared memory is no multiple of {}", shared,
                       kDestinationAlignment);
  return {};
}

void for_each_piece(const codegen::TensorMapSpec& map, std::span<const int> at, int64_t shared,
                    const std::function<void(const BoxPiece&)>& visit) {
  const int element = size_of(map.dtype);
  const int64_t row = int64_t{map.box[0]} * element;
  int64_t rows = 1;
  for (size_t d = 1; d < map.box.size(); ++d) rows *= map.box[d];
  std::array<int, kMostDimensions> index{};
  for (int64_t i = 0; i < rows; ++i) {
    bool inside = true;
    int64_t tensor = 0;
    for (size_t d = 1; d < map.box.size(); ++d) {
      const int64_t coordinate = int64_t{at[d]} + index[d];
      inside &= coordinate >= 0 && coordinate < map.sizes[d];
      tensor += coordinate * map.strides[d];
    }
    for (int64_t byte = 0; byte < row; byte += kChunk) {
      const int64_t first = at[0] + byte / element;  // elements of the fastest dimension
      BoxPiece piece{swizzled(shared + i * row + byte, map.swizzle), (tensor + first) * element,
                     kChunk, 0, 0};
      const int64_t elements = kChunk / element;
      const int64_t begin = std::clamp<int64_t>(-first, 0, elements);
      const int64_t end = std::clamp<int64_t>(map.sizes[0] - first, begin, elements);
      piece.before = static_cast<int>(begin) * element;
      if (inside) piece.inside = static_cast<int>(end - begin) * element;
      visit(piece);
    }
    for (size_t d = 1; d < map.box.size() && ++index[d] == map.box[d]; ++d) index[d] = 0;
  }
}

}  // namespace tilewright::runtime
