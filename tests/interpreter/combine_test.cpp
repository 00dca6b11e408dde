// Reductions and scans by functions, sorting and joining, against plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "tests/codegen/kernels_combine.h"
#include "tests/interpreter/kernel_builder.h"
#include "tilewright/ir/combine.h"
#include "tilewright/ir/error.h"

namespace tilewright::testing {
namespace {

namespace tw = tilewright;

constexpr int64_t kRows = 5, kColumns = 37;

/// Runs a kernel of x, f32[kRows, kColumns], that makes `outputs`, with blocks of 2 by 16.
void run(const KernelCase& kernel, TestTensor& x, std::vector<TestTensor*> outputs) {
  InterpreterArgs args = {x.host()};
  for (TestTensor* output : outputs) args.push_back(output->host());
  std::vector<int64_t> blocks;
  for (const ir::Axis& axis : kernel.fn.axes)
    if (!axis.pinned) blocks.push_back(blocks.empty() ? 2 : 16);
  interpret(kernel.fn, args, {.block = blocks});
  for (TestTensor* output : outputs) EXPECT_TRUE(output->margins_intact());
}

TEST(Combine, WelfordOfClippedTiles) {
  TestTensor x(f32, {kRows, kColumns}), mean(f32, {kRows}), variance(f32, {kRows});
  x.randomize(1);
  run(welford(f32, kRows, kColumns), x, {&mean, &variance});
  for (int64_t i = 0; i < kRows; ++i) {
    double sum = 0, squares = 0;
    for (int64_t j = 0; j < kColumns; ++j) sum += x.get({i, j});
    for (int64_t j = 0; j < kColumns; ++j) squares += std::pow(x.get({i, j}) - sum / kColumns, 2);
    EXPECT_NEAR(mean.get({i}), 8 + sum / kColumns, 1e-5);
    EXPECT_NEAR(variance.get({i}), squares / kColumns, 1e-5);
  }
}

// NaN wins, then the first of the largest; what is past the end of a clipped tile never does.
TEST(Combine, PlacesOfExtrema) {
  const KernelCase kernel = make_case("places",
                                      [](Tensor x) {
                                        const Size m = x.size(0);
                                        Tensor top = empty({m}, f32), at = empty({m}, i64);
                                        for (auto rows : tw::tile(m)) {
                                          auto [value, index] =
                                              tw::max_with_index(x[rows, tw::all], tw::axis(1));
                                          top[rows] = value;
                                          at[rows] = index;
                                        }
                                        return std::pair{top, at};
                                      },
                                      {dense(f32, {kRows, kColumns})});
  TestTensor x(f32, {kRows, kColumns}), top(f32, {kRows}), at(i64, {kRows});
  x.fill(-5);
  x.set({0, 7}, 3);
  x.set({0, 9}, 3);
  x.set({1, 20}, NAN);
  x.set({1, 30}, NAN);
  x.set({1, 3}, INFINITY);
  x.set({3, 36}, -4);
  InterpreterArgs args = {x.host(), top.host(), at.host()};
  interpret(kernel.fn, args, {.block = {2}});
  EXPECT_EQ(at.get({0}), 7);
  EXPECT_EQ(at.get({1}), 20);
  EXPECT_TRUE(std::isnan(top.get({1})));
  EXPECT_EQ(at.get({2}), 0);
  EXPECT_EQ(at.get({3}), 36);
  EXPECT_EQ(top.get({3}), -4);
}

TEST(Combine, ScansOfRows) {
  TestTensor x(f32, {kRows, kColumns}), sums(f32, {kRows, kColumns}), later(f32, {kRows, kColumns}),
      signs(f32, {kRows, kColumns});
  x.randomize(2);
  run(row_scans(f32, kRows, kColumns), x, {&sums, &later, &signs});
  for (int64_t i = 0; i < kRows; ++i) {
    double sum = 0, rest = 0, sign = 1;
    for (int64_t j = 0; j < kColumns; ++j) {
      const double value = x.get({i, j}), back = x.get({i, kColumns - 1 - j});
      sum += value;
      EXPECT_NEAR(sums.get({i, j}), sum, 1e-5);
      EXPECT_NEAR(later.get({i, kColumns - 1 - j}), rest, 1e-5);
      rest += back;
      EXPECT_EQ(signs.get({i, j}), sign);
      sign *= value > 0 ? 1 : -1;
    }
  }
}

// Tiles of 16 rows, the last of 5: backwards, each starts at its clipped end.
TEST(Combine, ScansOfClippedTiles) {
  TestTensor x(f32, {37, 5}), sums(f32, {37, 5}), rest(f32, {37, 5});
  x.randomize(3);
  run(column_scans(f32, 37, 5), x, {&sums, &rest});
  for (int64_t j = 0; j < 5; ++j) {
    double sum = 0;
    for (int64_t i = 0; i < 37; ++i) EXPECT_NEAR(sums.get({i, j}), sum += x.get({i, j}), 1e-5);
    for (int64_t i = 36; i >= 0; --i) {
      const double before = i == 36 || i % 16 == 15 ? 0 : rest.get({i + 1, j});
      EXPECT_NEAR(rest.get({i, j}), before + x.get({i, j}), 1e-5);
    }
  }
}

TEST(Combine, SortsStablyWithNanLast) {
  TestTensor x(f32, {kRows, kColumns}), sorted(f32, {kRows, kColumns}),
      order(i64, {kRows, kColumns}), best(f32, {kRows, 3}), places(i64, {kRows, 3});
  std::mt19937 random(4);
  x.for_each([&](const auto& at) { x.set(at, static_cast<double>(random() % 7) - 3); });
  x.set({1, 4}, NAN);
  x.set({1, 30}, NAN);
  x.set({2, 0}, INFINITY);
  x.set({2, 1}, -INFINITY);
  run(sorted_rows(f32, kRows, kColumns), x, {&sorted, &order, &best, &places});
  for (int64_t i = 0; i < kRows; ++i) {
    std::vector<int64_t> up(kColumns);
    std::iota(up.begin(), up.end(), 0);
    std::vector<int64_t> down = up;
    const auto nan = [&](int64_t j) { return std::isnan(x.get({i, j})); };
    std::stable_sort(up.begin(), up.end(), [&](int64_t a, int64_t b) {
      return nan(a) ? false : nan(b) || x.get({i, a}) < x.get({i, b});
    });
    std::stable_sort(down.begin(), down.end(), [&](int64_t a, int64_t b) {
      return nan(a) ? false : nan(b) || x.get({i, a}) > x.get({i, b});
    });
    for (int64_t j = 0; j < kColumns; ++j) {
      const double expected = x.get({i, up[j]});
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(sorted.get({i, j})));
      else
        EXPECT_EQ(sorted.get({i, j}), expected);
      EXPECT_EQ(order.get({i, j}), down[j]) << i << " " << j;
    }
    for (int64_t j = 0; j < 3; ++j) {
      EXPECT_EQ(best.get({i, j}), x.get({i, down[j]}));
      EXPECT_EQ(places.get({i, j}), down[j]);
    }
  }
}

TEST(Combine, JoinsAndSplits) {
  TestTensor x(f32, {6, 5, 2}), y(f32, {6, 5, 2}), z(f32, {6, 3, 5}), flat(f32, {6, 10});
  x.randomize(5);
  run(joined_pairs(f32, 6, 5), x, {&y, &z, &flat});
  for (int64_t i = 0; i < 6; ++i)
    for (int64_t j = 0; j < 5; ++j) {
      const float even = x.get({i, j, 0}), odd = x.get({i, j, 1});
      EXPECT_EQ(y.get({i, j, 0}), odd);
      EXPECT_EQ(y.get({i, j, 1}), even + odd);
      for (int64_t k = 0; k < 3; ++k) EXPECT_EQ(z.get({i, k, j}), k == 1 ? odd : even);
      EXPECT_EQ(flat.get({i, 2 * j}), even);
      EXPECT_EQ(flat.get({i, 2 * j + 1}), odd);
    }
}

// A guard that is not there is a promise about what is past the limit.
TEST(Combine, ValuesPastALimitWithoutGuardAreABug) {
  TestKernel kernel;
  const auto* x = kernel.tensor("x", f32, 1);
  const auto* out = kernel.tensor("out", f32, 1);
  const int axis = kernel.axis(4, true);
  kernel.grid({axis}, {kernel.b.dim(x, 0)}, [&](const ir::LoopView& tile) {
    const auto* ones = kernel.b.fill(kernel.b.constant(f32, 1.0), {ir::Dim::block(axis)});
    ir::Op* op = ir::make_combine(kernel.b, {ones}, {kernel.b.constant(f32, 0.0)}, {0});
    op->set(ir::AttrKey::guard, std::vector<int64_t>{});
    {
      const ir::CombineView view(*op);
      const ir::Builder::Scope scope(kernel.b, ir::Builder::region_of(op, 0));
      kernel.b.yield({kernel.b.binary(ir::Fn::add, view.lefts[0], view.rights[0])});
    }
    kernel.b.store(out, op->results[0], {kernel.b.slice_begin(tile.slices[0])});
  });
  TestTensor in(f32, {8}), result(f32, {8});
  in.fill(0);
  interpret(kernel.fn, {in.host(), result.host()}, {});
  TestTensor clipped(f32, {6}), other(f32, {8});
  clipped.fill(0);
  EXPECT_THROW(interpret(kernel.fn, {clipped.host(), other.host()}, {}), InternalError);
}

}  // namespace
}  // namespace tilewright::testing
