// The forms of loops, and what their indices give.
#include "tests/dsl/trace_kernel.h"

namespace tilewright::testing {
namespace {

namespace tw = tilewright;

template <class F>
ir::Function traced(F fn) {
  return trace(fn, {tensor(f32, {64, 32}), tensor(f32, {64, 32})});
}

TEST(Loops, TheOutermostIsTheGrid) {
  const auto fn = traced([](tw::Tensor a, tw::Tensor c) {
    for (auto [i, j] : tw::tile({64, 32})) c[i, j] = a[i, j];
  });
  const ir::Op& loop = only(fn, ir::OpKind::tile_loop);
  EXPECT_EQ(loop.integer(ir::AttrKey::parallel), 1);
  EXPECT_EQ(loop.integers(ir::AttrKey::axes), (std::vector<int64_t>{0, 1}));
}

TEST(Loops, SeveralDimensionsInsideAreANest) {
  const auto fn = traced([](tw::Tensor a, tw::Tensor c) {
    for ([[maybe_unused]] auto g : tw::tile({1}))
      for (auto [i, j] : tw::tile({64, 32})) c[i, j] = a[i, j];
  });
  const auto loops = sequential_loops(fn);
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loops[1]->parent->parent, loops[0]);
  EXPECT_EQ(loops[0]->integers(ir::AttrKey::axes), (std::vector<int64_t>{1}));
  EXPECT_EQ(loops[1]->integers(ir::AttrKey::axes), (std::vector<int64_t>{2}));
}

TEST(Loops, BlocksCanBePinned) {
  const auto fn = traced([](tw::Tensor a, tw::Tensor c) {
    for (auto [i, j] : tw::tile({64, 32}, {tw::block(16), {}}))
      for (auto k : tw::tile(32, tw::block(8)))
        for (auto l : tw::tile(k.begin(), k.end(), tw::block(4)))
          c[i, l] = a[i, l] + a[i, k.begin()][tw::all, tw::none];
  });
  std::vector<std::pair<int64_t, bool>> blocks;
  for (const ir::Axis& axis : fn.axes) blocks.emplace_back(axis.block, axis.pinned);
  EXPECT_EQ(blocks,
            (std::vector<std::pair<int64_t, bool>>{{16, true}, {0, false}, {8, true}, {4, true}}));
}

TEST(Loops, BoundsMayBeScalars) {
  const auto fn = trace(
      [](tw::Tensor a, tw::Scalar<int32_t> n) {
        for (auto i : tw::tile(2, n)) {
          tw::Tile s = tw::zeros({i}, tw::f32);
          for (auto k : tw::tile(i.begin(), i.end() + 1)) s = s + tw::sum(a[i, k], tw::axis(1));
          a[i, 0] = s;
        }
      },
      {tensor(f32, {64, 32}), KernelArg::scalar(i32)});
  const ir::Op& grid = *fn.body().ops.back();
  EXPECT_EQ(grid.operand(0)->def->integer(ir::AttrKey::value), 2);
  EXPECT_EQ(grid.operand(1)->def->kind, ir::OpKind::cast);
  EXPECT_EQ(grid.operand(1)->def->operand(0), fn.params[1].value);
  const ir::Op& loop = *sequential_loops(fn).at(0);
  EXPECT_EQ(loop.operand(0)->def->kind, ir::OpKind::slice_begin);
  EXPECT_EQ(loop.operand(1)->def->kind, ir::OpKind::binary);
}

TEST(Loops, EachAndGridWalkOneByOne) {
  const auto fn = traced([](tw::Tensor a, tw::Tensor c) {
    for (auto [i, j] : tw::tile({tw::each(64), 32}))
      for (auto k : tw::grid(2, 5))
        for (auto [p, q] : tw::grid({2, 3})) c[i, j] = a[i, j] + a[k, p + q + i];
  });
  for (const ir::Axis& axis : fn.axes) EXPECT_EQ(axis.block, axis.pinned ? 1 : 0);
  EXPECT_FALSE(fn.axes[1].pinned);
  const ir::Op& store = only(fn, ir::OpKind::store);
  EXPECT_EQ(store.operand(2)->type, ir::Type::scalar(i64));
  EXPECT_EQ(store.operand(3)->type.kind, ir::Type::Kind::slice);
}

TEST(Loops, AStaticRangeUnrolls) {
  const auto fn = traced([](tw::Tensor a, tw::Tensor c) {
    for (auto i : tw::tile(64))
      for (int64_t k : tw::static_range(2, 5)) c[i, k] = a[i, k + 1];
  });
  EXPECT_EQ(count(fn, ir::OpKind::tile_loop), 1);
  EXPECT_EQ(count(fn, ir::OpKind::store), 3);
}

TEST(Loops, IndicesGiveTheirPositions) {
  const auto fn = trace(
      [](tw::Tensor a) {
        for (auto i : tw::tile(64)) a[i] = i.index() * 2 + i.begin() + i.end() + i.id() + i.size();
      },
      {tensor(i64, {64})});
  EXPECT_EQ(count(fn, ir::OpKind::slice_index), 1);
  EXPECT_EQ(count(fn, ir::OpKind::slice_id), 1);
  EXPECT_EQ(count(fn, ir::OpKind::slice_begin), 2);
  EXPECT_EQ(count(fn, ir::OpKind::slice_end), 2);
}

TEST(Loops, ParenthesesIndexAsBracketsDo) {
  const auto brackets = traced([](tw::Tensor a, tw::Tensor c) {
    for (auto [i, j] : tw::tile({64, 32}))
      c[i, j] = a[i, j] + tw::sum(a[i, j], tw::axis(1))[tw::all, tw::none];
  });
  const auto parentheses = traced([](tw::Tensor a, tw::Tensor c) {
    for (auto [i, j] : tw::tile({64, 32}))
      c(i, j) = a(i, j) + tw::sum(a(i, j), tw::axis(1))(tw::all, tw::none);
  });
  EXPECT_EQ(body_of(brackets), body_of(parentheses));
}

TEST(Loops, AFullSliceTakesADimension) {
  const auto fn = traced([](tw::Tensor a, tw::Tensor c) {
    for (auto i : tw::tile(64)) c[i, tw::all] = a[i, tw::all];
  });
  EXPECT_EQ(only(fn, ir::OpKind::load).result()->type,
            ir::Type::value(f32, {ir::Dim::block(0), ir::Dim::constant(32)}));
}

}  // namespace
}  // namespace tilewright::testing
