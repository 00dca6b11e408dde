// The layout algebra and the blocked layouts, checked by enumerating every element.
#include "tilewright/codegen/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace tilewright::codegen {
namespace {

using Coordinates = std::vector<int64_t>;

struct Place {
  std::vector<int> reg;
  int lane, warp;
};

/// Calls visit(place) for every register of every thread.
template <class Visit>
void for_each_place(const Layout& layout, const Visit& visit) {
  const int registers = layout.registers();
  for (int warp = 0; warp < layout.size(Holder::warp); ++warp)
    for (int lane = 0; lane < layout.size(Holder::lane); ++lane)
      for (int r = 0; r < registers; ++r) {
        std::vector<int> reg(layout.rank);
        int rest = r;
        for (int axis = layout.rank - 1; axis >= 0; --axis) {
          reg[axis] = rest % layout.registers(axis);
          rest /= layout.registers(axis);
        }
        visit(Place{reg, lane, warp});
      }
}

/// Every element of the tile is held equally often, and none twice by one thread.
void expect_partition(const Layout& layout, const Coordinates& extents, int warps) {
  SCOPED_TRACE(to_string(layout));
  ASSERT_EQ(layout.size(Holder::lane), 32);
  ASSERT_EQ(layout.size(Holder::warp), warps);
  int64_t elements = 1, covered = 1;
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    elements *= extents[axis];
    covered *= layout.covered(static_cast<int>(axis));
    ASSERT_GE(layout.covered(static_cast<int>(axis)), extents[axis]);
  }
  EXPECT_EQ(layout.overhangs(extents), covered > elements);
  std::vector<int> times(covered), last_holder(covered, -1);
  int wrong = 0;
  for_each_place(layout, [&](const Place& place) {
    const int thread = place.warp * 32 + place.lane;
    const Coordinates at = layout.coordinates(place.reg, place.lane, place.warp);
    int64_t element = 0;
    for (int axis = 0; axis < layout.rank; ++axis) {
      wrong += at[axis] < 0 || at[axis] >= layout.covered(axis);
      wrong += at[axis] !=
               layout.register_offset(axis, place.reg[axis]) + layout.thread_offset(axis, thread);
      element = element * layout.covered(axis) + at[axis];
    }
    wrong += last_holder.at(element) == thread;
    last_holder[element] = thread;
    ++times[element];
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(std::count(times.begin(), times.end(), times[0]), covered);
  EXPECT_GE(times[0], 1);
  EXPECT_EQ(layout.replicated(), times[0] > 1);
}

TEST(BlockedLayout, HoldsEveryElementOnce) {
  for (int warps : {1, 2, 3, 4, 8})
    for (int vector : {1, 2, 4, 8}) {
      for (int64_t n : {1, 3, 9, 96, 100, 192, 1000, 1001})
        expect_partition(blocked_layout({n}, {0}, vector, warps), {n}, warps);
      for (const Coordinates& extents : std::vector<Coordinates>{
               {3, 3}, {9, 9}, {96, 100}, {192, 3}, {64, 16}, {100, 7}, {1, 1000}, {1000, 1}})
        for (const std::vector<int>& order : {std::vector<int>{1, 0}, {0, 1}})
          expect_partition(blocked_layout(extents, order, vector, warps), extents, warps);
      expect_partition(blocked_layout({3, 9, 10}, {2, 1, 0}, vector, warps), {3, 9, 10}, warps);
      expect_partition(blocked_layout({4, 16, 8}, {0, 2, 1}, vector, warps), {4, 16, 8}, warps);
    }
}

TEST(BlockedLayout, KnownShapes) {
  const auto text = [](const Coordinates& extents, int vector, int warps) {
    std::vector<int> order(extents.size());
    std::iota(order.rbegin(), order.rend(), 0);
    return to_string(blocked_layout(extents, order, vector, warps));
  };
  EXPECT_EQ(text({3, 3}, 1, 1), "r3:1@1 r3:1@0 l32");
  EXPECT_EQ(text({1, 4096}, 8, 4), "r8:1@1 l32:8@1 w4:256@1 r4:1024@1");
  EXPECT_EQ(text({64, 16}, 4, 4), "r4:1@1 l4:4@1 l8:1@0 w4:8@0 r2:32@0");
  EXPECT_EQ(text({}, 4, 4), "l32 w4");
  EXPECT_EQ(text({1}, 4, 3), "l32 w3");
  EXPECT_EQ(text({96}, 4, 3), "r4:1@0 l8:4@0 w3:32@0 l4");
  // Too few powers of two for an exact layout of few registers: 1000 = 8 * 125.
  EXPECT_EQ(text({1, 1000}, 8, 4), "r8:1@1 l32:8@1 w4:256@1");
  // A vector that does not divide the extent would straddle its end.
  EXPECT_EQ(text({2, 6}, 4, 1), "r2:1@1 r3:2@1 l2:1@0 l16");
}

TEST(BlockedLayout, ExactWhenThatIsCheap) {
  for (int64_t n : {3, 9, 15, 16, 48, 96, 480})
    for (int warps : {1, 2, 3, 4, 8}) {
      const Layout layout = blocked_layout({n}, {0}, 1, warps);
      EXPECT_TRUE(n > 16 || !layout.overhangs({n})) << n;
      EXPECT_LE(layout.registers(), 16) << n;
    }
  EXPECT_TRUE(blocked_layout({1001}, {0}, 1, 4).overhangs({1001}));
  EXPECT_EQ(blocked_layout({1001}, {0}, 1, 4).registers(), 8);
}

TEST(BlockedLayout, VectorIsTheLeadingRun) {
  const Layout layout = blocked_layout({64, 16}, {1, 0}, 4, 4);
  EXPECT_EQ(layout.vector(1), 4);
  EXPECT_EQ(layout.vector(0), 1);
  EXPECT_EQ(layout.registers(0), 2);
  EXPECT_EQ(layout.registers(1), 4);
  EXPECT_EQ(layout.registers(), 8);
  EXPECT_EQ(layout.threads(), 128);
}

std::vector<Layout> samples() {
  return {blocked_layout({64, 16}, {1, 0}, 4, 4), blocked_layout({9, 100}, {1, 0}, 1, 3),
          blocked_layout({3, 3}, {0, 1}, 1, 2), dot_layout(96, 100, 4, 4, 4),
          dot_layout(128, 64, 8, 1, 4)};
}

/// The register of `layout` at the positions of `reg` that the axes in `kept` name.
std::vector<int> project(const std::vector<int>& reg, const std::vector<int>& kept) {
  std::vector<int> result;
  for (int axis : kept) result.push_back(axis < 0 ? 0 : reg[axis]);
  return result;
}

TEST(LayoutAlgebra, DropAxes) {
  for (const Layout& layout : samples())
    for (int dropped : {0, 1}) {
      const Layout result = drop_axes(layout, {dropped});
      ASSERT_EQ(result.rank, 1);
      EXPECT_EQ(result.registers(), layout.registers(1 - dropped));
      EXPECT_EQ(result.threads(), layout.threads());
      for_each_place(layout, [&](const Place& at) {
        const Coordinates full = layout.coordinates(at.reg, at.lane, at.warp);
        const Coordinates rest =
            result.coordinates(project(at.reg, {1 - dropped}), at.lane, at.warp);
        EXPECT_EQ(rest, Coordinates({full[1 - dropped]}));
      });
    }
  const Layout scalar = drop_axes(samples()[0], {0, 1});
  EXPECT_TRUE(same_distribution(scalar, scalar_layout(4)));
}

TEST(LayoutAlgebra, OperandOfBroadcast) {
  for (const Layout& layout : samples()) {
    // [N] to [M, N], [M] to [M, N], [1, N] to [M, N] and a scalar to [M, N].
    const Layout row = operand_of_broadcast(layout, {1}, {false});
    const Layout column = operand_of_broadcast(layout, {0}, {false});
    const Layout one_row = operand_of_broadcast(layout, {0, 1}, {true, false});
    const Layout scalar = operand_of_broadcast(layout, {}, {});
    EXPECT_TRUE(same_distribution(scalar, scalar_layout(layout.size(Holder::warp))));
    EXPECT_EQ(one_row.covered(0), 1);
    for_each_place(layout, [&](const Place& at) {
      const Coordinates full = layout.coordinates(at.reg, at.lane, at.warp);
      const auto get = [&](const Layout& operand, const std::vector<int>& kept) {
        return operand.coordinates(project(at.reg, kept), at.lane, at.warp);
      };
      EXPECT_EQ(get(row, {1}), Coordinates({full[1]}));
      EXPECT_EQ(get(column, {0}), Coordinates({full[0]}));
      EXPECT_EQ(get(one_row, {-1, 1}), Coordinates({0, full[1]}));
    });
  }
}

TEST(LayoutAlgebra, Permute) {
  const Layout layout = blocked_layout({4, 9, 16}, {2, 1, 0}, 4, 4);
  const std::vector<int64_t> dims = {2, 0, 1};
  const Layout result = permute(layout, dims);
  for_each_place(layout, [&](const Place& at) {
    const Coordinates from = layout.coordinates(at.reg, at.lane, at.warp);
    const Coordinates to = result.coordinates(project(at.reg, {2, 0, 1}), at.lane, at.warp);
    for (size_t i = 0; i < dims.size(); ++i) EXPECT_EQ(to[i], from[dims[i]]);
  });
  EXPECT_TRUE(same_distribution(permute(result, {1, 2, 0}), layout));
}

TEST(LayoutAlgebra, SameDistribution) {
  const Layout whole{1, {{Holder::reg, 8, 0, 1}, {Holder::lane, 32, 0, 8}}};
  const Layout split{1,
                     {{Holder::lane, 4, 0, 8},
                      {Holder::reg, 2, 0, 1},
                      {Holder::lane, 8, 0, 32},
                      {Holder::reg, 4, 0, 2},
                      {Holder::warp, 1, -1, 0}}};
  EXPECT_TRUE(same_distribution(whole, split));
  EXPECT_FALSE(whole == split);
  Layout other_registers = whole, other_lanes = whole, more_warps = whole;
  other_registers.digits[0] = {Holder::reg, 8, 0, 32};
  other_registers.digits[1] = {Holder::lane, 32, 0, 1};
  EXPECT_FALSE(same_distribution(whole, other_registers));
  other_lanes.digits[1] = {Holder::lane, 32, -1, 0};
  EXPECT_FALSE(same_distribution(whole, other_lanes));
  more_warps.digits.push_back({Holder::warp, 2, -1, 0});
  EXPECT_FALSE(same_distribution(whole, more_warps));
  EXPECT_FALSE(same_distribution(whole, scalar_layout(1)));
}

TEST(DotLayout, HoldsEveryElementOnce) {
  for (int warps : {1, 2, 3, 4, 8})
    for (const auto& [vm, vn] : {std::pair{4, 4}, {1, 4}, {4, 1}, {1, 1}, {8, 8}})
      for (const Coordinates& e : std::vector<Coordinates>{{128, 128},
                                                           {64, 64},
                                                           {96, 96},
                                                           {192, 96},
                                                           {100, 100},
                                                           {3, 3},
                                                           {9, 9},
                                                           {1, 128},
                                                           {1, 1},
                                                           {3, 192},
                                                           {1000, 9}})
        expect_partition(dot_layout(e[0], e[1], warps, vm, vn), e, warps);
}

TEST(DotLayout, SquareThreadTiles) {
  const Layout wide = dot_layout(128, 128, 8, 4, 4);
  EXPECT_EQ(to_string(wide), "r4:1@1 r4:1@0 l2:4@0 l8:4@1 l2:8@0 r2:32@1 r2:16@0 w2:64@1 w4:32@0");
  const Layout scalar_rows = dot_layout(128, 128, 8, 1, 4);
  EXPECT_EQ(to_string(scalar_rows), "r4:1@1 l2:1@0 l8:4@1 l2:2@0 r2:32@1 r8:4@0 w2:64@1 w4:32@0");
  for (const Layout& layout : {wide, scalar_rows, dot_layout(128, 64, 4, 4, 4)}) {
    EXPECT_EQ(layout.registers(0), 8);
    EXPECT_EQ(layout.registers(1), 8);
  }
  EXPECT_EQ(to_string(dot_layout(3, 3, 1, 4, 4)), "r3:1@1 r3:1@0 l32");
  const Layout odd = dot_layout(96, 96, 4, 4, 4);
  EXPECT_FALSE(odd.overhangs({96, 96}));
  EXPECT_EQ(odd.registers(), 96 * 96 / 128);
}

TEST(DotLayout, OperandsFollowTheAccumulator) {
  for (const Layout& acc : {dot_layout(128, 64, 8, 1, 4), dot_layout(9, 100, 3, 4, 4)}) {
    const Layout a = dot_operand_layout(acc, true, 5), b = dot_operand_layout(acc, false, 5);
    for_each_place(acc, [&](const Place& at) {
      const Coordinates full = acc.coordinates(at.reg, at.lane, at.warp);
      for (int k = 0; k < 5; ++k) {
        EXPECT_EQ(a.coordinates({at.reg[0], k}, at.lane, at.warp), Coordinates({full[0], k}));
        EXPECT_EQ(b.coordinates({k, at.reg[1]}, at.lane, at.warp), Coordinates({k, full[1]}));
      }
    });
  }
}

}  // namespace
}  // namespace tilewright::codegen
