#include "tilewright/codegen/matrix_operand.h"

namespace tilewright::codegen {

std::optional<SharedLayout> matrix_operand_layout(const std::vector<int64_t>& extents,
                                                  const std::vector<int>& order, int element_bytes,
                                                  int64_t part) {
  if (order.size() != 2) return std::nullopt;
  const int64_t row = extents.at(order.back());
  const int64_t rows = extents.at(order.front());
  if (rows % 8 != 0) return std::nullopt;
  for (int bytes = 128; bytes >= 32; bytes /= 2) {
    if (row * element_bytes % bytes != 0 || part * element_bytes % bytes != 0) continue;
    SharedLayout layout{.order = order, .extents = extents};
    layout.panel = bytes / element_bytes;
    layout.swizzle_unit = 16 / element_bytes;
    layout.swizzle_period = bytes / 16;
    layout.swizzle_rows = 8 / layout.swizzle_period;
    return layout;
  }
  return std::nullopt;
}

int swizzle_bytes(const SharedLayout& layout, int element_bytes) {
  return static_cast<int>(layout.panel) * element_bytes;
}

int swizzle_alignment(const SharedLayout& layout, int element_bytes) {
  return 8 * swizzle_bytes(layout, element_bytes);
}

}  // namespace tilewright::codegen
