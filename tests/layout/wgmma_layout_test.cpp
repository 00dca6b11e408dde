// Accumulators and operands of wgmma against the formulas of the PTX ISA, by enumeration.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tilewright/codegen/fetch_matrices.h"
#include "tilewright/codegen/matrix_layouts.h"
#include "tilewright/codegen/matrix_operand.h"

namespace tilewright::codegen {
namespace {

using Coordinates = std::vector<int64_t>;

// "Register fragment layout for accumulator matrix D": element i of a lane, i counting pairs of
// columns, then rows by eight, then columns by eight.
TEST(WgmmaLayout, IsTheAccumulatorsFragment) {
  for (const int64_t n : {8, 16, 96, 160, 192, 256}) {
    const Layout layout = wgmma_layout(64, n, 4);
    ASSERT_EQ(layout.registers(0), 2);
    ASSERT_EQ(layout.registers(1), n / 4);
    for (int warp = 0; warp < 4; ++warp)
      for (int lane = 0; lane < 32; ++lane)
        for (int i = 0; i < n / 2; ++i)
          ASSERT_EQ(
              layout.coordinates({i / 2 % 2, i / 4 * 2 + i % 2}, lane, warp),
              Coordinates({16 * warp + lane / 4 + i / 2 % 2 * 8, i / 4 * 8 + lane % 4 * 2 + i % 2}))
              << n << " " << warp << " " << lane << " " << i;
  }
}

TEST(WgmmaLayout, DealsEveryElementOnce) {
  for (const int warps : {4, 8, 12, 16})
    for (const int64_t m : {64, 128, 192, 256, 384})
      for (const int64_t n : {8, 24, 96, 160, 192, 256}) {
        const int64_t along_rows = wgmma_groups_along_rows(m, warps);
        const int64_t along_columns = warps / 4 / along_rows;
        ASSERT_EQ(along_rows * along_columns * 4, warps);
        ASSERT_EQ(m % (64 * along_rows), 0);
        if (n % (8 * along_columns) != 0) continue;
        const Layout layout = wgmma_layout(m, n, warps);
        SCOPED_TRACE(fmt::format("{} x {}, {} warps: {}", m, n, warps, to_string(layout)));
        ASSERT_EQ(layout.threads(), 32 * warps);
        std::vector<int> held(static_cast<size_t>(m * n), 0);
        for (int warp = 0; warp < warps; ++warp)
          for (int lane = 0; lane < 32; ++lane)
            for (int i = 0; i < layout.registers(0); ++i)
              for (int j = 0; j < layout.registers(1); ++j) {
                const Coordinates at = layout.coordinates({i, j}, lane, warp);
                ++held.at(static_cast<size_t>(at[0] * n + at[1]));
              }
        ASSERT_EQ(std::ranges::count(held, 1), m * n);
        ASSERT_EQ(layout.covered(0), m);
        ASSERT_EQ(layout.covered(1), n);
        // A warpgroup holds pieces of 64 rows that follow one another, and whole rows of its
        // columns.
        for (int group = 0; group < warps / 4; ++group) {
          std::set<int64_t> rows, columns;
          for (int warp = 4 * group; warp < 4 * group + 4; ++warp)
            for (int lane = 0; lane < 32; ++lane)
              for (int i = 0; i < layout.registers(0); ++i)
                for (int j = 0; j < layout.registers(1); ++j) {
                  const Coordinates at = layout.coordinates({i, j}, lane, warp);
                  rows.insert(at[0]);
                  columns.insert(at[1]);
                }
          EXPECT_EQ(static_cast<int64_t>(rows.size()), m / along_rows);
          EXPECT_EQ(*rows.rbegin() - *rows.begin() + 1, m / along_rows);
          EXPECT_EQ(static_cast<int64_t>(columns.size()), n / along_columns);
          EXPECT_EQ(*columns.rbegin() - *columns.begin() + 1, n / along_columns);
        }
      }
}

TEST(WgmmaLayout, WarpgroupsLieAlongTheRowsWhereThereAreEnough) {
  EXPECT_EQ(wgmma_groups_along_rows(64, 4), 1);
  EXPECT_EQ(wgmma_groups_along_rows(128, 8), 2);
  EXPECT_EQ(wgmma_groups_along_rows(64, 8), 1);
  EXPECT_EQ(wgmma_groups_along_rows(192, 12), 3);
  EXPECT_EQ(wgmma_groups_along_rows(128, 12), 1);  // two would leave one over
  EXPECT_EQ(wgmma_groups_along_rows(128, 16), 2);
  EXPECT_EQ(wgmma_groups_along_rows(256, 8), 2);
}

// A from registers, "Register fragments for matrix A": the words of each step of k.
TEST(WgmmaLayout, OperandInRegistersIsTheFragment) {
  for (const int bytes : {1, 2, 4}) {
    const int word = 4 / bytes, steps = 3;
    const Layout layout = wgmma_operand_layout(64, steps * 32 / bytes, bytes, 4);
    ASSERT_EQ(layout.registers(0), 2);
    ASSERT_EQ(layout.registers(1), 2 * word * steps);
    for (int warp = 0; warp < 4; ++warp)
      for (int lane = 0; lane < 32; ++lane)
        for (int step = 0; step < steps; ++step)
          for (int w = 0; w < 4; ++w)
            for (int e = 0; e < word; ++e)
              ASSERT_EQ(
                  layout.coordinates({w % 2, step * 2 * word + w / 2 * word + e}, lane, warp),
                  Coordinates({16 * warp + lane / 4 + w % 2 * 8,
                               step * 32 / bytes + w / 2 * 16 / bytes + lane % 4 * word + e}));
  }
}

// Neighbouring rows are those of the instruction in another order, the operand's and the results'
// alike.
TEST(WgmmaLayout, NeighbouringRowsAreAnOrderOfTheRows) {
  const auto moved = [](int64_t row) { return row / 16 * 16 + row % 8 * 2 + row / 8 % 2; };
  const auto expect_moved = [&](const Layout& plain, const Layout& neighbours) {
    ASSERT_EQ(plain.registers(0), neighbours.registers(0));
    EXPECT_EQ(neighbours.vector(0), 2);
    for (int warp = 0; warp < 8; ++warp)
      for (int lane = 0; lane < 32; ++lane)
        for (int i = 0; i < plain.registers(0); ++i)
          for (int j = 0; j < plain.registers(1); ++j) {
            Coordinates at = plain.coordinates({i, j}, lane, warp);
            at[0] = moved(at[0]);
            ASSERT_EQ(neighbours.coordinates({i, j}, lane, warp), at);
          }
  };
  expect_moved(wgmma_layout(256, 24, 8), wgmma_layout(256, 24, 8, true));
  expect_moved(wgmma_operand_layout(256, 64, 2, 8), wgmma_operand_layout(256, 64, 2, 8, true));
  EXPECT_TRUE(has_neighbouring_rows(wgmma_layout(64, 16, 4, true)));
  EXPECT_FALSE(has_neighbouring_rows(wgmma_layout(64, 16, 4)));
}

// What ldmatrix, transposing, gives a lane are bytes that lie in its registers as they should: of
// matrix i, elements (pairs of bytes) lane / 4 of rows 2 (lane % 4) and the next.
TEST(MatrixFetch, GivesEachLaneItsBytes) {
  for (const int bytes : {1, 2})
    for (const int64_t k : {32, 128}) {
      const Layout layout = permute(wgmma_operand_layout(64, k, bytes, 4, true), {1, 0});
      const SharedLayout shared{.order = {0, 1}, .extents = {k, 64}};
      const auto fetch = matrix_fetch(layout, {k, 64}, shared);
      ASSERT_TRUE(fetch.has_value());
      const int together = fetch->together;
      for (int warp = 0; warp < 4; ++warp)
        for (int lane = 0; lane < 32; ++lane)
          for (int i = 0; i < layout.registers(0); ++i)
            for (int j = 0; j < 2; ++j) {
              const int word = i / 2, row = 2 * (lane % 4) + i % 2;
              const Coordinates begin = fetch->addresses.coordinates(
                  {word / together, 0}, 8 * (word % together) + row, warp);
              ASSERT_EQ(layout.coordinates({i, j}, lane, warp),
                        Coordinates({begin[0], begin[1] + 2 * (lane / 4) + j}));
            }
    }
  const SharedLayout padded{.order = {0, 1}, .extents = {128, 64}, .padding = 4};
  EXPECT_FALSE(
      matrix_fetch(permute(wgmma_operand_layout(64, 128, 2, 4, true), {1, 0}), {128, 64}, padded));
  EXPECT_FALSE(matrix_fetch(permute(wgmma_operand_layout(64, 128, 2, 4), {1, 0}), {128, 64},
                            SharedLayout{.order = {0, 1}, .extents = {128, 64}}));
}

/// Where 16-byte chunk `chunk` of row `row` of a panel goes with a swizzle: address bits 4 to 6 are
/// combined with bits 7 to 9 (128 bytes), 4 and 5 with 7 and 8 (64), 4 with 7 (32).
int64_t swizzled(int64_t byte, int swizzle) {
  const int64_t bits = swizzle == 128 ? 7 : swizzle == 64 ? 3 : 1;
  return byte ^ ((byte >> 7 & bits) << 4);
}

TEST(MatrixOperandLayout, IsWhatTheHardwareReadsAndWrites) {
  for (const int bytes : {1, 2, 4})
    for (const int64_t rows : {8, 64, 96})
      for (const int64_t row : {16, 32, 48, 64, 96, 128, 160, 192, 256})
        for (const std::vector<int>& order : {std::vector<int>{0, 1}, {1, 0}}) {
          const std::vector<int64_t> extents =
              order[0] == 0 ? std::vector<int64_t>{rows, row} : std::vector<int64_t>{row, rows};
          const auto layout = matrix_operand_layout(extents, order, bytes);
          SCOPED_TRACE(fmt::format("{} rows of {} x {} bytes", rows, row, bytes));
          if (row * bytes % 32 != 0) {
            EXPECT_FALSE(layout.has_value());
            continue;
          }
          ASSERT_TRUE(layout.has_value());
          const int swizzle = swizzle_bytes(*layout, bytes);
          EXPECT_EQ(swizzle, row * bytes % 128 == 0 ? 128 : row * bytes % 64 == 0 ? 64 : 32);
          EXPECT_EQ(swizzle_alignment(*layout, bytes), 8 * swizzle);
          EXPECT_EQ(layout->size(), rows * row);
          const int64_t panel = swizzle / bytes;
          for (int64_t r = 0; r < rows; ++r)
            for (int64_t c = 0; c < row; ++c) {
              const Coordinates at = order[0] == 0 ? Coordinates{r, c} : Coordinates{c, r};
              const int64_t plain = r * swizzle + c % panel * bytes;
              ASSERT_EQ(layout->offset(at) * bytes,
                        c / panel * rows * swizzle + swizzled(plain, swizzle))
                  << r << " " << c;
            }
        }
}

TEST(MatrixOperandLayout, PanelsDivideTheParts) {
  const auto swizzle = [](int64_t row, int64_t part) -> int {
    const auto layout = matrix_operand_layout({64, row}, {0, 1}, 2, part);
    return layout ? swizzle_bytes(*layout, 2) : 0;
  };
  EXPECT_EQ(swizzle(256, 128), 128);
  EXPECT_EQ(swizzle(192, 96), 64);
  EXPECT_EQ(swizzle(160, 80), 32);
  EXPECT_EQ(swizzle(48, 24), 0);
  EXPECT_EQ(swizzle(16, 8), 0);
}

TEST(MatrixOperandLayout, NeedsTwoDimensionsAndGroupsOfEightRows) {
  EXPECT_FALSE(matrix_operand_layout({12, 64}, {0, 1}, 2).has_value());
  EXPECT_FALSE(matrix_operand_layout({64}, {0}, 2).has_value());
  EXPECT_FALSE(matrix_operand_layout({2, 8, 64}, {0, 1, 2}, 2).has_value());
}

// Panels are declared as a dimension of their own, before the rows.
TEST(SharedLayoutPanels, Declared) {
  const auto declared = [](std::vector<int64_t> extents, std::vector<int> order) {
    return matrix_operand_layout(extents, order, 2)->declared();
  };
  EXPECT_EQ(declared({128, 64}, {0, 1}), Coordinates({128, 64}));
  EXPECT_EQ(declared({64, 256}, {0, 1}), Coordinates({4, 64, 64}));
  EXPECT_EQ(declared({96, 64}, {1, 0}), Coordinates({3, 64, 32}));
  EXPECT_EQ(declared({64, 48}, {0, 1}), Coordinates({3, 64, 16}));
}

// Rows that threads read or write at one time never meet in a bank: eight rows of one chunk, which
// is what ldmatrix and stmatrix take at a time.
TEST(MatrixOperandLayout, HasNoBankConflicts) {
  for (const int64_t row : {16, 32, 64, 256}) {
    const auto layout = matrix_operand_layout({64, row}, {0, 1}, 2);
    for (int64_t first = 0; first < 64; first += 8)
      for (int64_t c = 0; c < row; c += 8) {
        std::set<int64_t> chunks;
        for (int64_t r = 0; r < 8; ++r) chunks.insert(layout->offset({first + r, c}) / 8 % 8);
        EXPECT_EQ(chunks.size(), 8u) << row << " " << first << " " << c;
      }
  }
}

}  // namespace
}  // namespace tilewright::codegen
