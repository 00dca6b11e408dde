// Loops, conditionals, grids, the choice of block sizes, and overlapping stores.
#include <gtest/gtest.h>

#include "tests/interpreter/kernel_builder.h"
#include "tests/support/expect_error.h"
#include "tilewright/ir/error.h"

namespace tilewright::testing {
namespace {

using ir::Dim;
using ir::Fn;

TEST(Loop, CarriedValuesMaySwap) {
  TestKernel kernel;
  ir::Builder& b = kernel.b;
  const auto* n = kernel.scalar("n", DType::i64);
  const auto* out = kernel.tensor("out", DType::i64, 1);
  const int steps = kernel.axis(1, true);
  const auto* loop =
      kernel.loop({steps}, false, {n}, {b.index(0), b.index(1)}, [&](const ir::LoopView& step) {
        b.yield({step.carried[1], b.binary(Fn::add, step.carried[0], step.carried[1])});
      });
  b.store(out, loop->results[0], {b.index(0)});
  b.store(out, loop->results[1], {b.index(1)});
  const std::pair<int64_t, int64_t> rows[] = {{0, 0}, {1, 1}, {2, 1}, {10, 55}, {-4, 0}};
  for (const auto& [count, fibonacci] : rows) {
    TestTensor result(DType::i64, {2});
    interpret(kernel.fn, {count, result.host()});
    EXPECT_EQ(result.get({0}), fibonacci) << count;
  }
}

TEST(Loop, NestsWalkTheLastAxisFastest) {
  TestKernel kernel;
  ir::Builder& b = kernel.b;
  const auto* out = kernel.tensor("out", DType::i64, 1);
  const int rows = kernel.axis(2), cols = kernel.axis(3);
  const auto* loop = kernel.loop({rows, cols}, false, {b.index(5), b.index(7)}, {b.index(0)},
                                 [&](const ir::LoopView& step) {
                                   const auto* at = step.carried[0];
                                   const auto* row = b.slice_begin(step.slices[0]);
                                   const auto* col = b.slice_begin(step.slices[1]);
                                   const auto* ten = b.binary(Fn::mul, row, b.index(10));
                                   b.store(out, b.binary(Fn::add, ten, col), {at});
                                   b.yield({b.binary(Fn::add, at, b.index(1))});
                                 });
  b.store(out, loop->results[0], {b.index(9)});
  TestTensor result(DType::i64, {10});
  interpret(kernel.fn, {result.host()});
  const double expected[] = {0, 3, 6, 20, 23, 26, 40, 43, 46, 9};
  result.for_each([&](const auto& at) { EXPECT_EQ(result.get(at), expected[at[0]]); });
}

TEST(If, TakesOneBranch) {
  TestKernel kernel;
  ir::Builder& b = kernel.b;
  const auto* out = kernel.tensor("out", DType::i64, 1);
  kernel.grid({kernel.axis(1, true)}, {b.dim(out, 0)}, [&](const ir::LoopView& tile) {
    const auto* i = b.slice_begin(tile.slices[0]);
    const auto* odd = b.compare(Fn::eq, b.binary(Fn::rem, i, b.index(2)), b.index(1));
    ir::Op* choice = b.if_else(odd, {ir::Type::scalar(DType::i64)});
    {
      const ir::Builder::Scope scope(b, ir::Builder::region_of(choice, 0));
      b.yield({b.unary(Fn::neg, i)});
    }
    {
      const ir::Builder::Scope scope(b, ir::Builder::region_of(choice, 1));
      b.yield({i});
    }
    b.store(out, choice->results[0], {i});
  });
  TestTensor result(DType::i64, {9});
  interpret(kernel.fn, {result.host()});
  result.for_each(
      [&](const auto& at) { EXPECT_EQ(result.get(at), at[0] % 2 == 1 ? -at[0] : at[0]); });
}

TEST(Grid, GridsRunOneAfterTheOther) {
  TestKernel kernel;
  ir::Builder& b = kernel.b;
  const auto* x = kernel.tensor("x", DType::i64, 1);
  const auto* y = kernel.tensor("y", DType::i64, 1);
  const auto* n = b.dim(x, 0);
  kernel.grid({kernel.axis(4)}, {n}, [&](const ir::LoopView& tile) {
    b.store(x, b.slice_index(tile.slices[0]), tile.slices);
  });
  kernel.grid({kernel.axis(1, true)}, {n}, [&](const ir::LoopView& tile) {
    const auto* i = b.slice_begin(tile.slices[0]);
    const auto* mirror = b.binary(Fn::sub, b.binary(Fn::sub, n, b.index(1)), i);
    b.store(y, b.load(x, {mirror}), {i});
  });
  TestTensor first(DType::i64, {101}), second(DType::i64, {101});
  interpret(kernel.fn, {first.host(), second.host()}, {.threads = 4});
  second.for_each([&](const auto& at) { ASSERT_EQ(second.get(at), 100 - at[0]); });
}

/// Program (i, j) of a 3 by 4 grid of 2 by 2 tiles stores to out[row tile], so that programs of one
/// row of the grid meet.
struct Overlapping : TestKernel {
  explicit Overlapping(bool same_program) {
    const auto* out = tensor("result", DType::f32, 1);
    const int rows = axis(2), cols = axis(2);
    const auto* width = b.index(same_program ? 2 : 8);
    grid({rows, cols}, {b.index(6), width}, [&](const ir::LoopView& tile) {
      const auto* value = zeros(DType::f32, {Dim::block(rows)});
      b.loc = {"user.cpp", 42};
      b.store(out, value, {tile.slices[0]});
      b.store(out, value, {tile.slices[0]});
      b.loc = {};
    });
  }
};

TEST(Overlap, TwoProgramsStoringToOneElement) {
  const Overlapping kernel(false);
  TestTensor out(DType::f32, {6});
  for (int threads : {1, 2, 8}) {
    const auto run = [&] { interpret(kernel.fn, {out.host()}, {.threads = threads}); };
    expect_error(ErrorId::overlapping_store, 42, "'result'", run);
  }
  const auto run = [&] { interpret(kernel.fn, {out.host()}, {.threads = 1}); };
  expect_error(ErrorId::overlapping_store, 42,
               "programs (0,0) and (0,1) of one grid both store to element [0] of 'result'", run);
}

TEST(Overlap, ElementsAreNamedByTheirPosition) {
  TestKernel kernel;
  ir::Builder& b = kernel.b;
  const auto* out = kernel.tensor("out", DType::f32, 2);
  kernel.grid({kernel.axis(1, true)}, {b.index(2)}, [&](const ir::LoopView&) {
    b.store(out, b.constant(DType::f32, 1.0), {b.index(2), b.index(3)});
  });
  TestTensor transposed(DType::f32, {4, 5}, {1, 7});
  expect_error(ErrorId::overlapping_store, 0, "(0) and (1) of one grid both store to element [2,3]",
               [&] { interpret(kernel.fn, {transposed.host()}); });
}

TEST(Overlap, OneProgramMayStoreTwice) {
  TestTensor out(DType::f32, {6});
  EXPECT_NO_THROW(interpret(Overlapping(true).fn, {out.host()}));
}

TEST(Overlap, CheckCanBeLeftOut) {
  TestTensor out(DType::f32, {6});
  EXPECT_NO_THROW(
      interpret(Overlapping(false).fn, {out.host()}, {.threads = 1, .check_overlap = false}));
  out.for_each([&](const auto& at) { EXPECT_EQ(out.get(at), 0); });
}

/// A grid over a [rows, cols] tensor, with a pinned axis between the free ones.
struct ThreeAxes : TestKernel {
  ThreeAxes() {
    fn.loc = {"user.cpp", 7};
    const auto* x = tensor("x", DType::f32, 3);
    const int rows = axis(), each = axis(1, true), cols = axis();
    grid({rows, each, cols}, {b.dim(x, 0), b.dim(x, 1), b.dim(x, 2)},
         [&](const ir::LoopView& tile) { b.store(x, b.load(x, tile.slices), tile.slices); });
  }
};

TEST(Blocks, FillTheFreeAxesInOrder) {
  const ThreeAxes kernel;
  TestTensor x(DType::f32, {5, 3, 1000});
  x.fill(1);
  EXPECT_EQ(choose_blocks(kernel.fn, {x.host()}, {.block = {3, 96}}),
            (std::vector<int64_t>{3, 1, 96}));
  // By default no larger than the extent asks for.
  EXPECT_EQ(choose_blocks(kernel.fn, {x.host()}, {}), (std::vector<int64_t>{8, 1, 16}));
  for (const std::vector<int64_t>& wrong : {std::vector<int64_t>{3}, {3, 96, 1}, {3, 0}, {-1, 4}}) {
    expect_error(ErrorId::interpreter_blocks, 7, "2 free block sizes",
                 [&] { interpret(kernel.fn, {x.host()}, {.block = wrong}); });
  }
}

TEST(Blocks, AnAxisThatNoLoopWalksIsSpannedWhole) {
  TestKernel kernel;
  ir::Builder& b = kernel.b;
  const auto* x = kernel.tensor("x", DType::i64, 1);
  const auto* out = kernel.tensor("out", DType::i64, 0);
  const int whole = kernel.axis();
  const auto* all = b.slice(b.index(0), b.dim(x, 0), Dim::block(whole));
  b.store(out, b.reduce(Fn::max, b.load(x, {all}), {0}), {});
  TestTensor data(DType::i64, {1000}), result(DType::i64, {});
  data.fill(-4).set({999}, -3);
  EXPECT_EQ(choose_blocks(kernel.fn, {data.host(), result.host()}, {})[0], 1024);
  interpret(kernel.fn, {data.host(), result.host()});
  EXPECT_EQ(result.get({}), -3);
}

}  // namespace
}  // namespace tilewright::testing
