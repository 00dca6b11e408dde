// Shared-memory layouts: that they place elements one to one, and what accesses to them cost.
#include "tilewright/codegen/shared_layout.h"

#include <gtest/gtest.h>

#include <set>

namespace tilewright::codegen {
namespace {

using Coordinates = std::vector<int64_t>;

/// Elements of a 2-d tile have different places within the buffer; with a swizzle, all elements of
/// an aligned chunk stay side by side.
void expect_bijection(const SharedLayout& layout) {
  std::set<int64_t> offsets;
  for (int64_t i = 0; i < layout.extents[0]; ++i)
    for (int64_t j = 0; j < layout.extents[1]; ++j) {
      const int64_t offset = layout.offset({i, j});
      EXPECT_TRUE(offset >= 0 && offset < layout.size());
      EXPECT_TRUE(offsets.insert(offset).second) << i << "," << j;
      const int64_t column = layout.order.back() == 1 ? j : i;
      if (layout.swizzle_unit > 0 && column % layout.swizzle_unit != 0) {
        const int64_t before =
            layout.order.back() == 1 ? layout.offset({i, j - 1}) : layout.offset({i - 1, j});
        EXPECT_EQ(offset, before + 1);
      }
    }
}

/// A warp whose lane l accesses element at(l); lanes from `lanes` on do not take part.
template <class At>
WarpAccess warp(int bytes, const At& at, int lanes = 32) {
  WarpAccess access{.rank = 2, .coordinates = {}, .bytes = bytes};
  for (int lane = 0; lane < 32; ++lane) {
    const Coordinates first = at(lane);
    access.coordinates.insert(access.coordinates.end(), first.begin(), first.end());
    if (lane < lanes) access.active |= 1u << lane;
  }
  return access;
}

TEST(SharedLayout, DeclaredSizeAndOffset) {
  const SharedLayout layout{.order = {1, 0}, .extents = {64, 16}, .padding = 4};
  EXPECT_EQ(layout.declared(), Coordinates({16, 68}));
  EXPECT_EQ(layout.size(), 16 * 68);
  EXPECT_EQ(layout.offset({5, 3}), 3 * 68 + 5);
  const SharedLayout swizzled{.order = {0, 1},
                              .extents = {8, 16},
                              .swizzle_unit = 4,
                              .swizzle_rows = 2,
                              .swizzle_period = 4};
  EXPECT_EQ(swizzled.offset({0, 6}), 6);
  EXPECT_EQ(swizzled.offset({2, 6}), 2 * 16 + 0 * 4 + 2);  // chunk 1 ^ 1
  EXPECT_EQ(swizzled.offset({7, 6}), 7 * 16 + 2 * 4 + 2);  // chunk 1 ^ 3
  const SharedLayout three{.order = {2, 0, 1}, .extents = {3, 4, 5}};
  EXPECT_EQ(three.offset({2, 1, 4}), 4 * 12 + 2 * 4 + 1);
  const SharedLayout scalar;
  EXPECT_EQ(scalar.size(), 1);
  EXPECT_EQ(scalar.offset({}), 0);
}

TEST(SharedLayout, SwizzlesAreOneToOne) {
  for (int64_t columns : {8, 16, 24, 32, 48, 64})
    for (int period : {2, 4, 8})
      for (int rows : {1, 2, 4, 8}) {
        const int unit = 4;
        if (columns / unit % period != 0) continue;
        expect_bijection({.order = {0, 1},
                          .extents = {32, columns},
                          .swizzle_unit = unit,
                          .swizzle_rows = rows,
                          .swizzle_period = period});
      }
}

TEST(BankConflicts, KnownPatterns) {
  const SharedLayout rows{.order = {0, 1}, .extents = {32, 32}};
  const SharedLayout padded{.order = {0, 1}, .extents = {32, 32}, .padding = 1};
  const auto row = [](int l) { return Coordinates{0, l}; };
  const auto column = [](int l) { return Coordinates{l, 0}; };
  const auto one = [](int) { return Coordinates{3, 7}; };
  EXPECT_EQ(bank_conflicts(rows, 4, warp(4, row)), 0);
  EXPECT_EQ(bank_conflicts(rows, 4, warp(4, column)), 31);
  EXPECT_EQ(bank_conflicts(rows, 4, warp(4, column, 5)), 4);
  EXPECT_EQ(bank_conflicts(padded, 4, warp(4, column)), 0);
  EXPECT_EQ(bank_conflicts(rows, 4, warp(4, one)), 0);
  EXPECT_EQ(bank_conflicts(rows, 4, warp(4, row, 0)), 0);
  // Two halves of one word are one word; a stride of two words hits every other bank.
  EXPECT_EQ(bank_conflicts(rows, 2, warp(2, row)), 0);
  EXPECT_EQ(bank_conflicts(rows, 4,
                           warp(4,
                                [](int l) {
                                  return Coordinates{l / 16, l % 16 * 2};
                                })),
            1);
}

TEST(BankConflicts, WideAccessesGoInPhases) {
  const SharedLayout rows{.order = {0, 1}, .extents = {64, 32}};
  // 8 lanes of 16 bytes, or 16 of 8, fill a row of banks; the next phase takes the next row.
  EXPECT_EQ(bank_conflicts(rows, 4,
                           warp(16,
                                [](int l) {
                                  return Coordinates{l / 8, l % 8 * 4};
                                })),
            0);
  EXPECT_EQ(bank_conflicts(rows, 4,
                           warp(8,
                                [](int l) {
                                  return Coordinates{l / 16, l % 16 * 2};
                                })),
            0);
  // All 8 lanes of each phase in the same 4 banks.
  EXPECT_EQ(bank_conflicts(rows, 4, warp(16, [](int l) { return Coordinates{l, 0}; })), 4 * 7);
  EXPECT_EQ(bank_conflicts(rows, 4, warp(8, [](int l) { return Coordinates{l, 0}; })), 2 * 15);
}

/// The accesses counted one by one, without merging those that differ by a shift.
int64_t conflicts_one_by_one(const SharedLayout& shared, const Layout& layout, int axis, int vector,
                             int element_bytes) {
  int64_t total = 0;
  std::vector<int> reg(2);
  for (int w = 0; w < layout.size(Holder::warp); ++w)
    for (reg[0] = 0; reg[0] < layout.registers(0); reg[0] += axis == 0 ? vector : 1)
      for (reg[1] = 0; reg[1] < layout.registers(1); reg[1] += axis == 1 ? vector : 1) {
        WarpAccess access = warp(vector * element_bytes,
                                 [&](int lane) { return layout.coordinates(reg, lane, w); });
        for (int lane = 0; lane < 32; ++lane)
          for (int a : {0, 1})
            if (access.coordinates[lane * 2 + a] >= shared.extents[a])
              access.active &= ~(1u << lane);
        total += bank_conflicts(shared, element_bytes, access);
      }
  return total;
}

TEST(WarpAccesses, MergingChangesNoCount) {
  for (int bytes : {2, 4}) {
    const Layout copy = blocked_layout({192, 32}, {1, 0}, 16 / bytes, 4);
    const Layout read = dot_operand_layout(dot_layout(192, 100, 4, 1, 4, bytes), true, 32);
    for (const SharedLayout& shared :
         {SharedLayout{.order = {0, 1}, .extents = {192, 32}},
          SharedLayout{.order = {0, 1}, .extents = {192, 32}, .padding = 16 / bytes},
          SharedLayout{.order = {0, 1},
          .extents = {192, 32},
          .swizzle_unit = 16 / bytes,
          .swizzle_rows = 2,
          .swizzle_period = 4},
          SharedLayout{.order = {1, 0}, .extents = {192, 32}}}) {
      const int v = shared.order[1] == 1 ? 16 / bytes : 1;
      EXPECT_EQ(
          weighted_conflicts(shared, bytes, {{warp_accesses(copy, {192, 32}, 1, v, bytes), 3}}),
          3 * conflicts_one_by_one(shared, copy, 1, v, bytes));
      EXPECT_EQ(
          weighted_conflicts(shared, bytes, {{warp_accesses(read, {192, 32}, 0, 1, bytes), 1}}),
          conflicts_one_by_one(shared, read, 0, 1, bytes));
    }
  }
}

TEST(WarpAccesses, LanesBeyondTheEdgeTakeNoPart) {
  const Layout layout = blocked_layout({1001}, {0}, 1, 4);
  int64_t lanes = 0;
  for (const WarpAccess& access : warp_accesses(layout, {1001}, 0, 1, 4))
    lanes += int64_t{access.count} * __builtin_popcount(access.active);
  EXPECT_EQ(lanes, 1001);
}

struct DotCase {
  int64_t m, n, k;
  int warps;
};

/// One staged operand of a dot: copied in as it lies in memory, 16 bytes at a time, and read as
/// fragments by the accumulator's threads. Returns the conflicts of the layout chosen for it.
int64_t conflicts_of_operand(const DotCase& dot, bool left, bool k_contiguous, int bytes,
                             int vector_m, int vector_n) {
  const int wide = 16 / bytes;
  const Layout acc = dot_layout(dot.m, dot.n, dot.warps, vector_m, vector_n, bytes);
  const Coordinates extents = left ? Coordinates{dot.m, dot.k} : Coordinates{dot.k, dot.n};
  const int k_axis = left ? 1 : 0, other = 1 - k_axis;
  const int contiguous = k_contiguous ? k_axis : other;
  const Layout copy = blocked_layout(extents, {contiguous, 1 - contiguous}, wide, dot.warps);
  EXPECT_EQ(copy.vector(contiguous), wide);
  const Layout read = dot_operand_layout(acc, left, dot.k);
  const int vector = k_contiguous ? 1 : read.vector(other);
  const std::vector<WeightedAccesses> groups = {
      {warp_accesses(copy, extents, contiguous, wide, bytes), 1},
      {warp_accesses(read, extents, other, vector, bytes), 1}};
  const SharedLayout shared =
      choose_shared_layout(extents, {1 - contiguous, contiguous}, bytes, wide, groups);
  expect_bijection(shared);
  EXPECT_EQ(shared.declared().back() % wide, 0);
  return weighted_conflicts(shared, bytes, groups);
}

TEST(ChooseSharedLayout, NoConflictsForAnyTransposition) {
  for (const DotCase& dot :
       {DotCase{64, 64, 16, 4}, DotCase{128, 128, 16, 8}, DotCase{128, 128, 32, 8},
        DotCase{96, 96, 16, 4}, DotCase{128, 64, 8, 4}})
    for (int bytes : {2, 4})
      for (bool a_transposed : {false, true})
        for (bool b_transposed : {false, true}) {
          SCOPED_TRACE(testing::Message()
                       << dot.m << "x" << dot.n << "x" << dot.k << " bytes " << bytes
                       << (a_transposed ? " T" : " N") << (b_transposed ? "T" : "N"));
          const int vector_m = a_transposed ? 16 / bytes : 1;
          const int vector_n = b_transposed ? 1 : 16 / bytes;
          EXPECT_EQ(conflicts_of_operand(dot, true, !a_transposed, bytes, vector_m, vector_n), 0);
          EXPECT_EQ(conflicts_of_operand(dot, false, b_transposed, bytes, vector_m, vector_n), 0);
        }
}

TEST(ChooseSharedLayout, PaddingComesBeforeSwizzle) {
  // Written by rows, read by columns: one word of padding is enough.
  const std::vector<WeightedAccesses> transposition = {{{warp(4,
                                                              [](int l) {
                                                                return Coordinates{0, l};
                                                              })},
                                                        1},
                                                       {{warp(4,
                                                              [](int l) {
                                                                return Coordinates{l, 0};
                                                              })},
                                                        1}};
  const SharedLayout chosen = choose_shared_layout({32, 32}, {0, 1}, 4, 1, transposition);
  EXPECT_EQ(chosen.padding, 1);
  EXPECT_EQ(chosen.swizzle_unit, 0);
  // Nothing to gain: plain. Rows that are no multiple of the access are padded to one.
  const std::vector<WeightedAccesses> rows = {{{transposition[0].accesses}, 1}};
  EXPECT_EQ(choose_shared_layout({32, 32}, {0, 1}, 4, 1, rows).padding, 0);
  EXPECT_EQ(choose_shared_layout({9, 9}, {0, 1}, 4, 4, {}).declared(), Coordinates({9, 12}));
  EXPECT_EQ(choose_shared_layout({}, {}, 4, 1, {}).size(), 1);
}

TEST(ChooseSharedLayout, WeightsDecideWhenNotBothCanWin) {
  // Reads of 32 rows at one element of 2 bytes where rows must start at 16 bytes: at most 8 banks
  // differ, so 3 extra wavefronts are the least.
  const WarpAccess column = warp(2, [](int l) { return Coordinates{l, 0}; });
  const SharedLayout chosen = choose_shared_layout({32, 64}, {0, 1}, 2, 8, {{{column}, 1}});
  EXPECT_EQ(bank_conflicts(chosen, 2, column), 3);
  expect_bijection(chosen);
}

}  // namespace
}  // namespace tilewright::codegen
