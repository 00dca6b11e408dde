// Reductions: order of operands, ragged tiles, identities, NaN.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/interpreter/kernel_builder.h"
#include "tilewright/ir/error.h"

namespace tilewright::testing {
namespace {

using ir::Dim;
using ir::Fn;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// out[i] = fn over j of x[i, j], tile by tile, merged by fn.
struct RowReduction : TestKernel {
  RowReduction(Fn fn, DType dtype) {
    const auto* x = tensor("x", dtype, 2);
    const auto* out = tensor("out", dtype, 1);
    const int rows = axis(), cols = axis();
    grid({rows}, {b.dim(x, 0)}, [&](const ir::LoopView& tile) {
      const auto* start = is_float(dtype)
                              ? b.constant(dtype, ir::identity_of(fn))
                              : b.constant(dtype, std::get<int64_t>(numeric::identity(fn, dtype)));
      const auto* init = b.fill(start, {Dim::block(rows)});
      const auto* inner = loop({cols}, false, {b.dim(x, 1)}, {init}, [&](const auto& step) {
        const auto* part = b.reduce(fn, b.load(x, {tile.slices[0], step.slices[0]}), {1});
        b.yield({b.binary(fn, step.carried[0], part)});
      });
      b.store(out, inner->results[0], {tile.slices[0]});
    });
  }
};

TEST(Reduce, AllNegativeMaxOnRaggedTiles) {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32}) {
    const RowReduction kernel(Fn::max, dtype);
    for (int64_t n : {1, 3, 31, 32, 33, 60, 100}) {
      TestTensor x(dtype, {5, n}), out(dtype, {5});
      x.fill(-99);
      for (int64_t i = 0; i < 5; ++i) x.set({i, n - 1}, -7 - i);
      interpret(kernel.fn, {x.host(), out.host()}, {.block = {4, 32}});
      for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(out.get({i}), -7 - i) << to_string(dtype) << n;
      EXPECT_TRUE(out.margins_intact());
    }
  }
}

TEST(Reduce, ProductsMinimaAndSums) {
  TestTensor x(DType::f64, {3, 10}), out(DType::f64, {3});
  x.fill(2);
  const auto run = [&](Fn fn) {
    interpret(RowReduction(fn, DType::f64).fn, {x.host(), out.host()}, {.block = {2, 4}});
    return out.get({2});
  };
  EXPECT_EQ(run(Fn::mul), 1024);
  EXPECT_EQ(run(Fn::min), 2);
  EXPECT_EQ(run(Fn::add), 20);
}

TEST(Reduce, FortyEightLanes) {
  const RowReduction kernel(Fn::add, DType::i32);
  for (int64_t block : {1, 7, 16, 48, 64}) {
    TestTensor x(DType::i32, {1, 48}), out(DType::i32, {1});
    for (int64_t i = 0; i < 48; ++i) x.set({0, i}, i + 1);
    interpret(kernel.fn, {x.host(), out.host()}, {.block = {1, block}});
    EXPECT_EQ(out.get({0}), 1176);
  }
}

TEST(Reduce, NaNPropagatesFromEveryPlace) {
  for (const Fn fn : {Fn::max, Fn::min, Fn::add}) {
    const RowReduction kernel(fn, DType::f32);
    for (int64_t at = 0; at < 37; ++at) {
      TestTensor x(DType::f32, {2, 37}), out(DType::f32, {2});
      x.fill(-1).set({0, at}, NAN);
      interpret(kernel.fn, {x.host(), out.host()}, {.block = {2, 16}});
      ASSERT_TRUE(std::isnan(out.get({0}))) << info(fn).name << at;
      ASSERT_FALSE(std::isnan(out.get({1})));
    }
  }
}

TEST(Reduce, OverNothingIsTheIdentity) {
  TestTensor x(DType::f32, {3, 0}), out(DType::f32, {3});
  const auto run = [&](Fn fn) {
    interpret(RowReduction(fn, DType::f32).fn, {x.host(), out.host()});
    return out.get({1});
  };
  EXPECT_EQ(run(Fn::add), 0);
  EXPECT_EQ(run(Fn::mul), 1);
  EXPECT_EQ(run(Fn::max), -kInfinity);
}

TEST(Reduce, HalfSumsAccumulateInF32) {
  TestTensor x(DType::bf16, {1, 1000}), out(DType::bf16, {1});
  interpret(RowReduction(Fn::add, DType::bf16).fn, {x.fill(1).host(), out.host()},
            {.block = {1, 1024}});
  EXPECT_EQ(out.get({0}), 1000);  // in bf16 the sum would stop at 256
}

TEST(Reduce, BitsOfBoolAndBytes) {
  TestTensor flags(DType::boolean, {1, 9}), any(DType::boolean, {1}), all(DType::boolean, {1});
  flags.fill(1).set({0, 8}, 0);
  interpret(RowReduction(Fn::bit_or, DType::boolean).fn, {flags.host(), any.host()},
            {.block = {1, 4}});
  interpret(RowReduction(Fn::min, DType::boolean).fn, {flags.host(), all.host()},
            {.block = {1, 4}});
  EXPECT_EQ(any.get({0}), 1);
  EXPECT_EQ(all.get({0}), 0);
}

// Every choice of axes of a cube, against sums by hand.
TEST(Reduce, AnyAxes) {
  const std::vector<std::vector<int64_t>> choices = {{0},    {1},    {2},       {0, 1},
                                                     {0, 2}, {1, 2}, {0, 1, 2}, {}};
  for (const auto& axes : choices) {
    TestKernel kernel;
    ir::Builder& b = kernel.b;
    const auto* x = kernel.tensor("x", DType::i64, 3);
    const int64_t sizes[3] = {3, 4, 5};
    std::vector<const ir::Value*> slices, kept;
    std::vector<int64_t> kept_sizes;
    for (int d = 0; d < 3; ++d)
      slices.push_back(b.slice(b.index(0), b.index(sizes[d]), Dim::constant(sizes[d])));
    for (int64_t d = 0; d < 3; ++d) {
      if (std::find(axes.begin(), axes.end(), d) != axes.end()) continue;
      kept.push_back(slices[d]);
      kept_sizes.push_back(sizes[d]);
    }
    const auto* out = kernel.tensor("out", DType::i64, static_cast<int>(kept.size()));
    b.store(out, b.reduce(Fn::add, b.load(x, slices), axes), kept);
    TestTensor cube(DType::i64, {3, 4, 5}), result(DType::i64, kept_sizes);
    TestTensor expected(DType::i64, kept_sizes);
    cube.randomize(5);
    expected.fill(0);
    cube.for_each([&](const std::vector<int64_t>& at) {
      std::vector<int64_t> to;
      for (int64_t d = 0; d < 3; ++d)
        if (std::find(axes.begin(), axes.end(), d) == axes.end()) to.push_back(at[d]);
      expected.set(to, expected.get(to) + cube.get(at));
    });
    interpret(kernel.fn, {cube.host(), result.host()});
    EXPECT_TRUE(result.same_bits(expected)) << axes.size();
  }
}

/// out[] = max over x[0 : limit], loaded up to the tensor's edge and masked by hand when asked.
struct GuardedMax : TestKernel {
  explicit GuardedMax(bool masked) {
    const auto* x = tensor("x", DType::f32, 1);
    const auto* limit = scalar("limit", DType::i64);
    const auto* out = tensor("out", DType::f32, 1);
    const int cols = axis(8);
    grid({cols}, {limit}, [&](const ir::LoopView& tile) {
      const ir::Value* v = b.load(x, tile.slices);
      if (masked) {
        const ir::Shape shape{Dim::block(cols)};
        const auto* end = b.fill(b.slice_end(tile.slices[0]), shape);
        const auto* inside = b.compare(Fn::lt, b.slice_index(tile.slices[0]), end);
        v = b.select(inside, v, b.fill(b.constant(DType::f32, -kInfinity), shape));
      }
      const auto* result = b.reduce(Fn::max, v, {0});
      const_cast<ir::Op*>(result->def)
          ->attributes.push_back({ir::AttrKey::guard, std::vector<int64_t>{}});
      b.store(out, result, {b.slice_id(tile.slices[0])});
    });
  }
};

TEST(Reduce, WithoutAGuardPaddingMustBeTheIdentity) {
  TestTensor x(DType::f32, {16}), out(DType::f32, {2});
  x.fill(-5);
  EXPECT_NO_THROW(interpret(GuardedMax(false).fn, {x.host(), int64_t{16}, out.host()}));
  EXPECT_THROW(interpret(GuardedMax(false).fn, {x.host(), int64_t{13}, out.host()}), InternalError);
  EXPECT_NO_THROW(interpret(GuardedMax(true).fn, {x.host(), int64_t{13}, out.host()}));
  EXPECT_EQ(out.get({1}), -5);
}

}  // namespace
}  // namespace tilewright::testing
