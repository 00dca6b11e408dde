#include "tilewright/codegen/matrix_layouts.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

constexpr int kRows = 16, kColumns = 8;  // of a piece

int ceil_div(int64_t x, int64_t y) {
  return static_cast<int>(std::max<int64_t>(1, (x + y - 1) / y));
}

/// How pieces are dealt to warps.
struct Deal {
  int warps_m = 1, warps_n = 1;    // that hold different pieces
  int pieces_m = 1, pieces_n = 1;  // of one warp
};

/// Less is better: products, then words of operands that a warp reads for them, then single pieces
/// of b, which are read one at a time, then pieces past the tile's end, then narrow rows.
auto cost(const Deal& deal) {
  return std::tuple(deal.pieces_m * deal.pieces_n, 2 * deal.pieces_m + deal.pieces_n,
                    deal.pieces_n % 2, deal.warps_m * deal.warps_n, deal.pieces_m);
}

Deal deal_pieces(int rows, int columns, int warps) {
  std::optional<Deal> best;
  for (int m = 1; m <= warps; ++m)
    for (int n = 1; m * n <= warps; ++n) {
      if (warps % (m * n) != 0) continue;
      const Deal deal{m, n, ceil_div(rows, m), ceil_div(columns, n)};
      if (!best || cost(deal) < cost(*best)) best = deal;
    }
  return *best;
}

void add(Layout& layout, Holder holder, int radix, int axis, int64_t stride) {
  if (radix > 1) layout.digits.push_back({holder, radix, axis, stride});
}

}  // namespace

Layout mma_layout(int64_t m, int64_t n, int warps) {
  const Deal deal = deal_pieces(ceil_div(m, kRows), ceil_div(n, kColumns), warps);
  Layout layout{2, {}};
  add(layout, Holder::reg, 2, 1, 1);
  add(layout, Holder::reg, 2, 0, 8);
  add(layout, Holder::reg, deal.pieces_n, 1, kColumns);
  add(layout, Holder::reg, deal.pieces_m, 0, kRows);
  add(layout, Holder::lane, 4, 1, 2);
  add(layout, Holder::lane, 8, 0, 1);
  add(layout, Holder::warp, deal.warps_n, 1, int64_t{kColumns} * deal.pieces_n);
  add(layout, Holder::warp, deal.warps_m, 0, int64_t{kRows} * deal.pieces_m);
  add(layout, Holder::warp, warps / (deal.warps_m * deal.warps_n), -1, 0);
  return layout;
}

int64_t wgmma_groups_along_rows(int64_t m, int warps) {
  int64_t groups = warps / 4;
  while (groups > 1 && (m % (64 * groups) != 0 || warps / 4 % groups != 0)) --groups;
  return groups;
}

Layout wgmma_layout(int64_t m, int64_t n, int warps, bool neighbours) {
  const auto rows = static_cast<int>(wgmma_groups_along_rows(m, warps));
  const int columns = warps / 4 / rows;
  internal_check(warps % 4 == 0 && m % (64 * rows) == 0 && n % (8 * columns) == 0,
                 "wgmma takes whole warpgroups, rows by 64 and columns by eight");
  const auto pieces = static_cast<int>(m / (64 * rows));
  const int64_t n_each = n / columns;
  return {2,
          {{Holder::reg, 2, 1, 1},
           {Holder::reg, 2, 0, neighbours ? 1 : 8},
           {Holder::reg, static_cast<int>(n_each / 8), 1, 8},
           {Holder::reg, pieces, 0, 64},
           {Holder::lane, 4, 1, 2},
           {Holder::lane, 8, 0, neighbours ? 2 : 1},
           {Holder::warp, 4, 0, 16},
           {Holder::warp, rows, 0, int64_t{64} * pieces},
           {Holder::warp, columns, 1, n_each}}};
}

Layout wgmma_operand_layout(int64_t m, int64_t k, int element_bytes, int warps, bool neighbours) {
  const auto rows = static_cast<int>(wgmma_groups_along_rows(m, warps));
  const int word = 4 / element_bytes;  // elements
  const int depth = 8 * word;          // of one product
  internal_check(warps % 4 == 0 && m % (64 * rows) == 0 && k % depth == 0,
                 "wgmma takes whole warpgroups, rows by 64 and 32 bytes of k");
  const auto pieces = static_cast<int>(m / (64 * rows));
  Layout layout{2, {}};
  add(layout, Holder::reg, word, 1, 1);
  add(layout, Holder::reg, 2, 0, neighbours ? 1 : 8);
  add(layout, Holder::reg, 2, 1, 4 * word);
  add(layout, Holder::reg, static_cast<int>(k / depth), 1, depth);
  add(layout, Holder::reg, pieces, 0, 64);
  add(layout, Holder::lane, 4, 1, word);
  add(layout, Holder::lane, 8, 0, neighbours ? 2 : 1);
  add(layout, Holder::warp, 4, 0, 16);
  add(layout, Holder::warp, rows, 0, int64_t{64} * pieces);
  add(layout, Holder::warp, warps / 4 / rows, -1, 0);
  return layout;
}

bool has_neighbouring_rows(const Layout& accumulator) { return accumulator.vector(0) == 2; }

}  // namespace tilewright::codegen
