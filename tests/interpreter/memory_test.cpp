// Index tiles, masks, views and atomics as the interpreter runs them, against loops written here.
#include <gtest/gtest.h>

#include "tests/codegen/kernels_memory.h"
#include "tests/interpreter/kernel_builder.h"
#include "tests/support/expect_error.h"
#include "tilewright/ir/error.h"

namespace tilewright::testing {
namespace {

/// Numbers 1, 2, ..
TestTensor counted(DType dtype, std::vector<int64_t> sizes) {
  TestTensor tensor(dtype, std::move(sizes));
  double next = 1;
  tensor.for_each([&](const auto& at) { tensor.set(at, next++); });
  return tensor;
}

TestTensor positions(std::vector<double> values) {
  TestTensor tensor(i32, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) tensor.set({static_cast<int64_t>(i)}, values[i]);
  return tensor;
}

TEST(Gather, PositionsOutsideOfTheTensorReadZero) {
  const KernelCase kernel = gather_rows(f32, 5, 6);
  TestTensor table = counted(f32, {3, 6}), ids = positions({2, -1, 0, 3, 1}), y(f32, {5, 6});
  for (const int64_t block : {1, 2, 4, 8}) {
    interpret(kernel.fn, {table.host(), ids.host(), y.host()}, {.block = {block, 4}});
    y.for_each([&](const auto& at) {
      const double row = ids.get({at[0]});
      EXPECT_EQ(y.get(at), row < 0 || row > 2 ? 0 : row * 6 + at[1] + 1);
    });
    EXPECT_TRUE(y.margins_intact());
  }
}

TEST(Gather, IndexTilesBroadcast) {
  const KernelCase kernel = gather_crossed(3, 2);
  TestTensor table = counted(f32, {4, 5, 4}), rows = positions({3, 0, 4}), columns(i8, {2});
  columns.set({0}, 2);
  columns.set({1}, -1);
  TestTensor y(f32, {3, 2, 5});
  interpret(kernel.fn, {table.host(), rows.host(), columns.host(), y.host()}, {.block = {2, 2}});
  y.for_each([&](const auto& at) {
    const double r = rows.get({at[0]}), c = columns.get({at[1]});
    const bool inside = r < 4 && c >= 0;
    EXPECT_EQ(y.get(at), inside ? (r * 5 + at[2]) * 4 + c + 1 : 0);
  });
}

// A tile's surplus lanes have position 0 or any other, and must not touch it.
TEST(Scatter, SurplusLanesWriteNothing) {
  const KernelCase kernel = make_case("scatter",
                                      [](Tensor ids, Tensor x, Tensor y) {
                                        for (auto i : tile(x.size(0))) y[ids[i]] = x[i];
                                      },
                                      {dense(i32, {5}), dense(f32, {5}), dense(f32, {5})});
  TestTensor ids = positions({4, 2, -1, 5, 3}), x = counted(f32, {5}), y(f32, {5});
  y.for_each([&](const auto& at) { y.set(at, -7); });
  interpret(kernel.fn, {ids.host(), x.host(), y.host()}, {.block = {8}});
  const double expected[] = {-7, -7, 2, 5, 1};
  y.for_each([&](const auto& at) { EXPECT_EQ(y.get(at), expected[at[0]]) << at[0]; });
}

TEST(Scatter, AnElementWrittenTwiceIsAnError) {
  int line = 0;
  const KernelCase kernel = make_case("scatter",
                                      [&](Tensor ids, Tensor y) {
                                        line = __LINE__ + 1;
                                        for (auto i : tile(ids.size(0))) y[ids[i]] = i.index();
                                      },
                                      {dense(i32, {4}), dense(f32, {3})});
  TestTensor ids = positions({1, 0, 5, 1}), y(f32, {3});
  expect_error(ErrorId::scatter_twice, line, "twice, and which value stays is not defined", [&] {
    interpret(kernel.fn, {ids.host(), y.host()}, {.block = {4}});
  });
  // In two programs it is what any two stores are.
  expect_error(ErrorId::overlapping_store, line, "both store to element [1] of", [&] {
    interpret(kernel.fn, {ids.host(), y.host()}, {.block = {2}});
  });
}

TEST(Masks, OtherStandsForWhatIsMaskedOutOnly) {
  const KernelCase kernel = make_case("masked",
                                      [](Tensor x) {
                                        Tensor y = empty({8}, f32);
                                        for (auto i : tile(8))
                                          y[i] = x.load({i}, {.mask = i.index() != 1, .other = 9});
                                        return y;
                                      },
                                      {dense(f32, {5})});
  TestTensor x = counted(f32, {5}), y(f32, {8});
  interpret(kernel.fn, {x.host(), y.host()}, {.block = {4}});
  const double expected[] = {1, 9, 3, 4, 5, 0, 0, 0};
  y.for_each([&](const auto& at) { EXPECT_EQ(y.get(at), expected[at[0]]) << at[0]; });
}

TEST(Atomics, LanesAndProgramsMayNameOneElement) {
  for (const int64_t block : {1, 3, 16}) {
    const KernelCase kernel = histogram(i32, 9);
    TestTensor ids = positions({-3, 0, 0, 2, -3, 0, 3, 1, 0}), counts(i32, {6});
    interpret(kernel.fn, {ids.host(), counts.host()}, {.block = {block}});
    const double expected[] = {2, 0, 0, 4, 1, 1};  // 3 + 3 is past the end
    counts.for_each([&](const auto& at) { EXPECT_EQ(counts.get(at), expected[at[0]]) << at[0]; });
  }
}

TEST(Atomics, GiveWhatWasThereBefore) {
  const KernelCase kernel = every_atomic(i32, 4);
  TestTensor x = positions({3, -2, 7, 0}), y = positions({1, -1, 10, 0});
  std::vector<TestTensor> old;
  for (int i = 0; i < 8; ++i) old.emplace_back(i32, std::vector<int64_t>{4});
  InterpreterArgs args = {x.host(), y.host()};
  for (TestTensor& tensor : old) args.emplace_back(tensor.host());
  interpret(kernel.fn, args, {.block = {4}});
  const int expected[8][4] = {
      {1, -1, 10, 0},  // then the sums 4, -3, 17, 0
      {4, -3, 17, 0},  // the maxima 4, -2, 17, 0
      {4, 0, 17, 0},   // under a mask the minima 3, -2, 7, 0
      {3, -2, 7, 0},   // all equal to x: 0, 1, 2, 3
      {0, 1, 2, 3},    // and 5: 0, 1, 0, 1
      {0, 1, 0, 1},    // or 2: 2, 3, 2, 3
      {2, 3, 2, 3},    // xor 3: 1, 0, 1, 0
      {1, 0, 1, 0},    // x + 1
  };
  for (int k = 0; k < 8; ++k)
    for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(old[k].get({i}), expected[k][i]) << k << " " << i;
  x.for_each([&](const auto& at) { EXPECT_EQ(y.get(at), x.get(at) + 1); });
}

// Comparing is by bits: -0 is not 0, a NaN is itself.
TEST(Atomics, CompareBits) {
  const KernelCase kernel = make_case("cas",
                                      [](Tensor x, Tensor y) {
                                        for (auto i : tile(2)) atomic_cas(x[i], y[i], 5.0f);
                                      },
                                      {dense(f32, {2}), dense(f32, {2})});
  TestTensor x(f32, {2}), y(f32, {2});
  x.set({0}, -0.0);
  y.set({0}, 0.0);
  x.set({1}, NAN);
  y.set({1}, NAN);
  interpret(kernel.fn, {x.host(), y.host()}, {.block = {2}});
  EXPECT_EQ(x.get({0}), 0);
  EXPECT_EQ(x.get({1}), 5);
}

TEST(Atomics, AndStoresOfDifferentProgramsAreAnError) {
  int line = 0;
  const KernelCase kernel = make_case("mixed",
                                      [&](Tensor x, Tensor y) {
                                        for (auto i : grid(x.size(0))) {
                                          if_(
                                              i == 1, [&] { y[0] = 3.0f; },
                                              [&] {
                                                line = __LINE__ + 1;
                                                atomic_add(y[0], x[i]);
                                              });
                                        }
                                      },
                                      {dense(f32, {4}), dense(f32, {1})});
  TestTensor x = counted(f32, {4}), y(f32, {1});
  y.set({0}, 0);
  expect_error(ErrorId::atomic_and_store, 0, "one stores to element [0] of", [&] {
    interpret(kernel.fn, {x.host(), y.host()});
  });
  // One program may do both.
  const KernelCase alone = make_case("alone",
                                     [](Tensor x, Tensor y) {
                                       for (auto i : grid(x.size(0))) {
                                         y[i] = x[i];
                                         atomic_add(y[i], 1);
                                         y[i] = Tile(y[i]) + 1;
                                       }
                                     },
                                     {dense(f32, {4}), dense(f32, {4})});
  TestTensor z(f32, {4});
  interpret(alone.fn, {x.host(), z.host()});
  z.for_each([&](const auto& at) { EXPECT_EQ(z.get(at), x.get(at) + 2); });
}

TEST(FirstValues, AreThereBeforeTheKernel) {
  const KernelCase kernel = make_case(
      "filled",
      [](Tensor x) {
        Tensor y = full_tensor({2, 3}, 2.5, bf16), z = full_tensor({4}, true, DType::boolean);
        for (auto i : tile(x.size(0))) x[i] = 0;
        return std::tuple{y, z};
      },
      {dense(f32, {4})});
  TestTensor x(f32, {4}), y(bf16, {2, 3}), z(DType::boolean, {4});
  interpret(kernel.fn, {x.host(), y.host(), z.host()}, {.block = {4}});
  y.for_each([&](const auto& at) { EXPECT_EQ(y.get(at), 2.5); });
  z.for_each([&](const auto& at) { EXPECT_EQ(z.get(at), 1); });
}

TEST(Jagged, RowsEndAtTheirLengths) {
  const KernelCase kernel = jagged_rows(i32, 5);
  TestTensor x = counted(i32, {30}), lengths = positions({0, -3, 3, -1, 1});
  TestTensor sums(i32, {5}), most(i32, {5}), table(i32, {5, 6});
  for (const int64_t rows : {1, 2, 8})
    for (const int64_t columns : {1, 4, 8}) {
      interpret(kernel.fn, {x.host(), lengths.host(), sums.host(), most.host(), table.host()},
                {.block = {rows, columns}});
      for (int64_t i = 0; i < 5; ++i) {
        const int64_t length = static_cast<int64_t>(lengths.get({i})) + 3;
        double sum = 0, largest = -5;
        for (int64_t j = 0; j < 6; ++j) {
          const double more = x.get({6 * i + j}) + 1;
          EXPECT_EQ(table.get({i, j}), j < length ? more : 9) << i << " " << j;
          if (j >= length) continue;
          sum += more;
          largest = std::max(largest, more);
        }
        EXPECT_EQ(sums.get({i}), sum) << i;
        EXPECT_EQ(most.get({i}), largest) << i;
      }
    }
}

TEST(Jagged, ProductsLeaveOutWhatIsPastARow) {
  const KernelCase kernel = jagged_product(4, 3);
  TestTensor a = counted(f32, {4, 6}), b = counted(f32, {6, 3}), c(f32, {4, 3});
  TestTensor lengths = positions({3, -3, 0, -2});
  interpret(kernel.fn, {a.host(), b.host(), lengths.host(), c.host()}, {.block = {4, 2, 4}});
  c.for_each([&](const auto& at) {
    double sum = 0;
    for (int64_t k = 0; k < lengths.get({at[0]}) + 3; ++k)
      sum += (a.get({at[0], k}) + 1) * b.get({k, at[1]});
    EXPECT_EQ(c.get(at), sum);
  });
}

TEST(Views, ShowPartsOfATensor) {
  const KernelCase kernel = nested_views(5, 8);
  TestTensor x = counted(f32, {5, 8}), y(f32, {5, 4}), z(f32, {4}), w(f32, {5, 4});
  for (const int64_t block : {1, 3, 8}) {
    interpret(kernel.fn, {x.host(), y.host(), z.host(), w.host()}, {.block = {block, 2}});
    y.for_each([&](const auto& at) {
      EXPECT_EQ(y.get(at), x.get({at[1] + 1, at[0] + 2}));
      EXPECT_EQ(w.get(at), at[0] == 0 ? 0 : x.get({at[1] + 1, at[0] + 1}));
    });
    z.for_each([&](const auto& at) {
      EXPECT_EQ(z.get(at), x.get({at[0] + 1, 3}) + x.get({at[0] + 1, 2}));
    });
  }
}

TEST(Views, AtRunTimePositionsStayWithinWhatTheyAreOf) {
  for (const int64_t begin : {-2, -1, 0, 3, 6, 30}) {
    const KernelCase kernel = moving_views(12, begin);
    TestTensor x = counted(f32, {12}), y(f32, {8}), z(f32, {8}), w(f32, {8});
    interpret(kernel.fn, {x.host(), begin, y.host(), z.host(), w.host()}, {.block = {4}});
    const auto within = [&](int64_t at, int64_t low, int64_t high) {
      return at >= low && at < high ? x.get({at}) : 0;
    };
    for (int64_t i = 0; i < 8; ++i) {
      EXPECT_EQ(y.get({i}), within(begin + i, 0, 12)) << begin << " " << i;
      EXPECT_EQ(z.get({i}), i < 5 ? within(2 + begin + i, 2, 9) : 0) << begin << " " << i;
      EXPECT_EQ(w.get({i}), i < 3 ? within(begin + i, 0, 12) : 0) << begin << " " << i;
    }
  }
}

}  // namespace
}  // namespace tilewright::testing
