// Fragments of mma against the formulas of the PTX ISA, by enumeration.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tilewright/codegen/matrix_layouts.h"
#include "tilewright/codegen/mma_fragments.h"
#include "tilewright/codegen/shared_layout.h"

namespace tilewright::codegen {
namespace {

using Coordinates = std::vector<int64_t>;

TEST(MmaLayout, IsTheAccumulatorsFragment) {
  const Layout layout = mma_layout(16, 8, 1);
  ASSERT_EQ(layout.registers(0), 2);
  ASSERT_EQ(layout.registers(1), 2);
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i)  // c0 .. c3
      EXPECT_EQ(layout.coordinates({i / 2, i % 2}, lane, 0),
                Coordinates({lane / 4 + (i >= 2 ? 8 : 0), lane % 4 * 2 + i % 2}));
}

TEST(MmaLayout, CoversTilesWithNeighbouringPieces) {
  for (int warps : {1, 2, 3, 4, 6, 8, 16})
    for (int64_t m : {1, 8, 16, 24, 64, 100, 128, 256})
      for (int64_t n : {1, 8, 12, 40, 64, 128, 256}) {
        const Layout layout = mma_layout(m, n, warps);
        SCOPED_TRACE(fmt::format("{} x {}, {} warps: {}", m, n, warps, to_string(layout)));
        ASSERT_EQ(layout.threads(), 32 * warps);
        ASSERT_GE(layout.covered(0), m);
        ASSERT_GE(layout.covered(1), n);
        // Every element is held, by as many threads as any other.
        std::map<Coordinates, int> holders;
        for (int warp = 0; warp < warps; ++warp)
          for (int lane = 0; lane < 32; ++lane)
            for (int i = 0; i < layout.registers(0); ++i)
              for (int j = 0; j < layout.registers(1); ++j)
                ++holders[layout.coordinates({i, j}, lane, warp)];
        ASSERT_EQ(static_cast<int64_t>(holders.size()), layout.covered(0) * layout.covered(1));
        for (const auto& [at, times] : holders)
          ASSERT_EQ(times, layout.registers() * 32 * warps / static_cast<int>(holders.size()));
        // Register positions are rows and columns by eight, as the instructions' arguments are.
        for (int i = 0; i < layout.registers(0); ++i)
          EXPECT_EQ(layout.register_offset(0, i), 8 * i);
        for (int j = 0; j < layout.registers(1); ++j)
          EXPECT_EQ(layout.register_offset(1, j), j / 2 * 8 + j % 2);
      }
}

TEST(MmaLayout, WarpsHoldSquareParts) {
  const auto warp_tile = [](int64_t m, int64_t n, int warps) {
    const Layout layout = mma_layout(m, n, warps);
    return std::pair(layout.registers(0) * 8, layout.registers(1) * 4);
  };
  EXPECT_EQ(warp_tile(128, 256, 8), std::pair(64, 64));
  EXPECT_EQ(warp_tile(256, 128, 8), std::pair(64, 64));
  EXPECT_EQ(warp_tile(128, 128, 4), std::pair(64, 64));
  EXPECT_EQ(warp_tile(128, 128, 8), std::pair(32, 64));
  EXPECT_EQ(warp_tile(64, 64, 4), std::pair(32, 32));
  EXPECT_EQ(warp_tile(16, 256, 8), std::pair(16, 32));
  EXPECT_EQ(warp_tile(128, 192, 8), std::pair(64, 48));
}

/// Elements (outer, k) of one piece that the instruction wants lane `lane` to hold, in the order of
/// its registers: the tables of "Matrix fragments for mma.m16n8k8 / k16 / k32", all in one.
std::vector<Coordinates> wanted(bool left, int bytes, int lane) {
  const int word = 4 / bytes, half = 16 / bytes;
  std::vector<Coordinates> result;
  for (int w = 0; w < (left ? 4 : 2); ++w)
    for (int e = 0; e < word; ++e)
      result.push_back(
          {lane / 4 + (left ? w % 2 * 8 : 0), lane % 4 * word + e + (left ? w / 2 : w) * half});
  return result;
}

MmaOperand operand_of(const Layout& acc, bool left, MmaLoad load, int bytes, int64_t steps) {
  return mma_operand(acc, left, load, bytes, steps * 32 / bytes);
}

TEST(MmaFragments, ElementsAreThoseOfTheInstruction) {
  for (bool left : {true, false})
    for (int bytes : {1, 2, 4}) {
      const MmaOperand operand =
          operand_of(mma_layout(16, 8, 1), left, MmaLoad::elements, bytes, 1);
      const Layout layout = mma_operand_layout(mma_layout(16, 8, 1), operand);
      const int word = 4 / bytes;
      for (int lane = 0; lane < 32; ++lane) {
        const std::vector<Coordinates> expected = wanted(left, bytes, lane);
        ASSERT_EQ(static_cast<int>(expected.size()), operand.elements());
        for (int e = 0; e < operand.elements(); ++e) {
          const int w = e / word;
          const int outer = left ? w % 2 : 0, half = left ? w / 2 : w;
          EXPECT_EQ(layout.coordinates({outer, half * word + e % word}, lane, 0), expected[e]);
        }
      }
    }
}

/// What ldmatrix hands to `lane`: the elements of word after word.
std::vector<Coordinates> loaded(const Layout& layout, const MmaOperand& operand, int load,
                                int64_t step, int lane) {
  const bool transposed = operand.load == MmaLoad::transposed;
  const int run = 16 / operand.bytes, word = 4 / operand.bytes;
  // Element e of the row whose address lane 8 i + r gives.
  const auto element = [&](int i, int r, int e) {
    std::vector<int> reg(2);
    reg[transposed ? 0 : 1] = e + run * (transposed ? load : static_cast<int>(step));
    reg[transposed ? 1 : 0] = transposed ? static_cast<int>(step) : load;
    return layout.coordinates(reg, 8 * i + r, 0);
  };
  std::vector<Coordinates> result;
  for (int i = 0; i < (operand.left ? 4 : 2 * operand.together); ++i)
    for (int e = 0; e < word; ++e)
      result.push_back(transposed ? element(i, 2 * (lane % 4) + e, lane / 4)
                                  : element(i, lane / 4, lane % 4 * word + e));
  return result;
}

TEST(MmaFragments, MatricesBringWhatTheInstructionWants) {
  for (const auto& [m, n] : {std::pair{16, 8}, {64, 64}, {32, 24}})
    for (bool left : {true, false})
      for (int bytes : {1, 2, 4})
        for (MmaLoad load : {MmaLoad::matrices, MmaLoad::transposed}) {
          if (load == MmaLoad::transposed && bytes != 2) continue;
          const Layout acc = mma_layout(m, n, 1);
          const MmaOperand operand = operand_of(acc, left, load, bytes, 3);
          const Layout layout = mma_operand_layout(acc, operand);
          for (int piece = 0; piece < operand.pieces; piece += operand.together)
            for (int64_t step = 0; step < operand.steps; ++step)
              for (int lane = 0; lane < 32; ++lane) {
                std::vector<Coordinates> expected;
                for (int p = 0; p < operand.together; ++p)
                  for (Coordinates at : wanted(left, bytes, lane)) {
                    at[0] += (piece + p) * operand.piece();
                    at[1] += step * operand.depth();
                    expected.push_back(at);
                  }
                ASSERT_EQ(loaded(layout, operand, piece / operand.together, step, lane), expected)
                    << to_string(layout);
              }
        }
}

TEST(MmaFragments, SwizzledRowsAreReadWithoutConflicts) {
  for (int64_t outer : {16, 32, 64, 128, 256})
    for (int64_t depth : {16, 32, 64, 128})
      for (bool left : {true, false})
        for (MmaLoad load : {MmaLoad::matrices, MmaLoad::transposed}) {
          const Layout acc = left ? mma_layout(outer, 64, 4) : mma_layout(64, outer, 4);
          const MmaOperand operand = mma_operand(acc, left, load, 2, depth);
          const int fast = load == MmaLoad::matrices ? 1 : 0;
          const Coordinates extents = {outer, depth};
          const auto reads = warp_accesses(mma_operand_layout(acc, operand), extents, fast, 8, 2);
          const auto fill =
              warp_accesses(blocked_layout(extents, {fast, 1 - fast}, 8, 4), extents, fast, 8, 2);
          const std::vector<WeightedAccesses> groups = {{fill, 1}, {reads, 4}};
          const SharedLayout chosen =
              choose_shared_layout(extents, {1 - fast, fast}, 2, 8, groups, true);
          SCOPED_TRACE(fmt::format("{} x {} {} {}", outer, depth, left, fast));
          EXPECT_EQ(weighted_conflicts(chosen, 2, groups), 0);
          EXPECT_EQ(chosen.padding, 0);
        }
}

}  // namespace
}  // namespace tilewright::codegen
