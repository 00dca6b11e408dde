// Slices, memory accesses, elementwise operations and changes of shape.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/interpreter/kernel_builder.h"
#include "tilewright/ir/error.h"

namespace tilewright::testing {
namespace {

using ir::Dim;
using ir::Fn;

/// Runs `make(kernel, slice of all n positions)` for a one-dimensional tile and stores its result.
template <class Make>
std::vector<double> compute(DType dtype, int64_t n, const Make& make) {
  TestKernel kernel;
  const auto* out = kernel.tensor("out", dtype, 1);
  const auto* all = kernel.b.slice(kernel.b.index(0), kernel.b.index(n), Dim::constant(n));
  kernel.b.store(out, make(kernel, all), {all});
  TestTensor result(dtype, {n});
  interpret(kernel.fn, {result.host()});
  std::vector<double> values;
  result.for_each([&](const auto& at) { values.push_back(result.get(at)); });
  return values;
}

/// y[i] = x[i] over tiles of `block`.
struct CopyKernel : TestKernel {
  explicit CopyKernel(DType dtype, int64_t block = 0) {
    const auto* x = tensor("x", dtype, 1);
    const auto* y = tensor("y", dtype, 1);
    grid({axis(block)}, {b.dim(x, 0)},
         [&](const ir::LoopView& tile) { b.store(y, b.load(x, tile.slices), tile.slices); });
  }
};

void set_guard(const ir::Function& fn, ir::OpKind kind, std::vector<int64_t> guard) {
  ir::for_each_op(fn.body(), [&](const ir::Op& op) {
    if (op.kind == kind) const_cast<ir::Op&>(op).attributes.push_back({ir::AttrKey::guard, guard});
  });
}

TEST(Memory, EveryDTypeIsCopiedExactly) {
  for (int d = 0; d < kDTypeCount; ++d) {
    const DType dtype = static_cast<DType>(d);
    const CopyKernel kernel(dtype);
    for (int64_t n : {0, 1, 5, 64, 100}) {
      TestTensor x(dtype, {n}, {3}), y(dtype, {n}, {2});
      interpret(kernel.fn, {x.randomize(1).host(), y.host()}, {.block = {16}});
      y.for_each([&](const auto& at) { ASSERT_EQ(y.get(at), x.get(at)) << to_string(dtype); });
      EXPECT_TRUE(y.margins_intact());
    }
  }
}

// 10 tiled by 4 is 0:4, 4:8, 8:10.
TEST(Slices, EdgeTilesClip) {
  TestKernel kernel;
  ir::Builder& b = kernel.b;
  const auto* out = kernel.tensor("out", DType::i64, 2);
  const int rows = kernel.axis(4);
  kernel.grid({rows}, {b.index(10)}, [&](const ir::LoopView& tile) {
    const auto* slice = tile.slices[0];
    const auto* id = b.slice_id(slice);
    b.store(out, id, {id, b.index(0)});
    b.store(out, b.slice_begin(slice), {id, b.index(1)});
    b.store(out, b.slice_end(slice), {id, b.index(2)});
    // Positions are not clipped.
    const auto* last = b.reduce(Fn::max, b.slice_index(slice), {0});
    b.store(out, last, {id, b.index(3)});
  });
  TestTensor result(DType::i64, {3, 4});
  interpret(kernel.fn, {result.host()});
  const int64_t expected[3][4] = {{0, 0, 4, 3}, {1, 4, 8, 7}, {2, 8, 10, 9}};
  result.for_each(
      [&](const auto& at) { EXPECT_EQ(result.get(at), expected[at[0]][at[1]]) << at[0]; });
}

TEST(Slices, LoopsStartWhereTheyAreTold) {
  TestKernel kernel;
  ir::Builder& b = kernel.b;
  const auto* out = kernel.tensor("out", DType::i64, 1);
  const int rows = kernel.axis(4);
  ir::Op* loop = b.tile_loop({rows}, true, {b.index(3)}, {b.index(9)}, {});
  {
    const ir::Builder::Scope scope(b, ir::Builder::region_of(loop, 0));
    const auto* slice = ir::LoopView(*loop).slices[0];
    b.store(out, b.fill(b.slice_id(slice), {Dim::block(rows)}), {slice});
    b.yield({});
  }
  TestTensor result(DType::i64, {12});
  interpret(kernel.fn, {result.fill(-1).host()});
  const std::vector<double> expected = {-1, -1, -1, 0, 0, 0, 0, 1, 1, -1, -1, -1};
  result.for_each([&](const auto& at) { EXPECT_EQ(result.get(at), expected[at[0]]) << at[0]; });
}

TEST(Memory, LoadsPastAnEdgeGiveZero) {
  for (int64_t begin : {-3, 0, 2, 7, 9}) {
    TestKernel kernel;
    ir::Builder& b = kernel.b;
    const auto* x = kernel.tensor("x", DType::f32, 1);
    const auto* out = kernel.tensor("out", DType::f32, 1);
    const auto* from = b.slice(b.index(begin), b.index(100), Dim::constant(6));
    const auto* all = b.slice(b.index(0), b.index(6), Dim::constant(6));
    b.store(out, b.load(x, {from}), {all});
    TestTensor source(DType::f32, {8}), result(DType::f32, {6});
    interpret(kernel.fn, {source.fill(NAN).host(), result.host()});
    result.for_each([&](const auto& at) {
      const int64_t position = begin + at[0];
      const double found = result.get(at);
      EXPECT_TRUE(position >= 0 && position < 8 ? std::isnan(found) : found == 0) << position;
    });
  }
}

TEST(Memory, ScalarIndicesOutOfBounds) {
  for (int64_t index : {-1, 0, 3, 4}) {
    TestKernel kernel;
    ir::Builder& b = kernel.b;
    const auto* x = kernel.tensor("x", DType::i32, 1);
    const auto* y = kernel.tensor("y", DType::i32, 1);
    b.store(y, b.load(x, {b.index(index)}), {b.index(0)});
    b.store(x, b.constant(DType::i32, int64_t{9}), {b.index(index)});
    TestTensor source(DType::i32, {4}), result(DType::i32, {1});
    interpret(kernel.fn, {source.fill(5).host(), result.host()});
    const bool inside = index >= 0 && index < 4;
    EXPECT_EQ(result.get({0}), inside ? 5 : 0);
    for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(source.get({i}), i == index ? 9 : 5);
    EXPECT_TRUE(source.margins_intact());
    const auto run_unguarded = [&] { interpret(kernel.fn, {source.host(), result.host()}); };
    set_guard(kernel.fn, ir::OpKind::load, {});
    if (inside)
      EXPECT_NO_THROW(run_unguarded());
    else
      EXPECT_THROW(run_unguarded(), InternalError);
  }
}

TEST(Memory, ABrokenPromiseIsCaught) {
  for (const ir::OpKind kind : {ir::OpKind::load, ir::OpKind::store}) {
    const CopyKernel kernel(DType::f32, 4);
    set_guard(kernel.fn, kind, {});
    TestTensor whole(DType::f32, {8}), ragged(DType::f32, {10});
    EXPECT_NO_THROW(interpret(kernel.fn, {whole.fill(1).host(), whole.host()}));
    EXPECT_THROW(interpret(kernel.fn, {ragged.fill(1).host(), ragged.host()}), InternalError);
    const CopyKernel guarded(DType::f32, 4);
    set_guard(guarded.fn, kind, {0});
    EXPECT_NO_THROW(interpret(guarded.fn, {ragged.host(), ragged.host()}));
  }
}

TEST(Memory, ScalarIndicesDropTheirDimension) {
  TestKernel kernel;
  ir::Builder& b = kernel.b;
  const auto* x = kernel.tensor("x", DType::f32, 3);
  const auto* y = kernel.tensor("y", DType::f32, 2);
  const int rows = kernel.axis(3), cols = kernel.axis(2);
  kernel.grid({rows, cols}, {b.dim(x, 0), b.dim(x, 2)}, [&](const ir::LoopView& tile) {
    b.store(y, b.load(x, {tile.slices[0], b.index(1), tile.slices[1]}), tile.slices);
  });
  TestTensor source(DType::f32, {7, 2, 5}), result(DType::f32, {7, 5});
  interpret(kernel.fn, {source.randomize(3).host(), result.host()});
  result.for_each([&](const auto& at) {
    ASSERT_EQ(result.get(at), source.get({at[0], 1, at[1]}));
  });
}

TEST(Memory, ALoadAfterAStoreSeesIt) {
  TestKernel kernel;
  ir::Builder& b = kernel.b;
  const auto* x = kernel.tensor("x", DType::f32, 1);
  const int rows = kernel.axis(4);
  kernel.grid({rows}, {b.dim(x, 0)}, [&](const ir::LoopView& tile) {
    for (int i = 0; i < 3; ++i) {
      const auto* value = b.load(x, tile.slices);
      b.store(x, b.binary(Fn::add, value, value), tile.slices);
    }
  });
  TestTensor data(DType::f32, {10});
  interpret(kernel.fn, {data.fill(1).host()});
  data.for_each([&](const auto& at) { EXPECT_EQ(data.get(at), 8); });
}

TEST(Elementwise, OperationsAndScalarParameters) {
  TestKernel kernel;
  ir::Builder& b = kernel.b;
  const auto* x = kernel.tensor("x", DType::f32, 1);
  const auto* y = kernel.tensor("y", DType::f32, 1);
  const auto* scale = kernel.scalar("scale", DType::f32);
  const auto* low = kernel.scalar("low", DType::i32);
  const auto* negate = kernel.scalar("negate", DType::boolean);
  const int rows = kernel.axis();
  const ir::Shape shape{Dim::block(rows)};
  kernel.grid({rows}, {b.dim(x, 0)}, [&](const ir::LoopView& tile) {
    const auto* v = b.load(x, tile.slices);
    const auto* scaled = b.fma(v, b.fill(scale, shape), b.fill(b.constant(DType::f32, 1.0), shape));
    const auto* index = b.cast(b.slice_index(tile.slices[0]), DType::i32);
    const auto* late = b.compare(Fn::ge, index, b.fill(low, shape));
    const auto* flip = b.select(b.fill(negate, shape), b.unary(Fn::neg, scaled), scaled);
    b.store(y, b.select(late, flip, v), tile.slices);
  });
  TestTensor in(DType::f32, {21}), out(DType::f32, {21});
  interpret(kernel.fn, {in.randomize(4).host(), out.host(), 2.5, int64_t{8}, int64_t{1}});
  out.for_each([&](const auto& at) {
    const float v = static_cast<float>(in.get(at));
    EXPECT_EQ(out.get(at), at[0] >= 8 ? -std::fma(v, 2.5f, 1.0f) : v) << at[0];
  });
}

TEST(Elementwise, HalfRoundsAfterEachOperation) {
  const auto values = compute(DType::bf16, 1, [](TestKernel& k, const ir::Value*) {
    const auto* one = k.b.fill(k.b.constant(DType::bf16, 1.0), {Dim::constant(1)});
    const auto* small = k.b.fill(k.b.constant(DType::bf16, 0x1p-9), {Dim::constant(1)});
    const auto* sum = k.b.binary(Fn::add, one, small);
    return k.b.binary(Fn::sub, k.b.binary(Fn::add, sum, small), one);
  });
  EXPECT_EQ(values[0], 0);
}

TEST(Elementwise, ConstantsTakeTheirDType) {
  const auto values = compute(DType::bf16, 2, [](TestKernel& k, const ir::Value*) {
    return k.b.fill(k.b.cast(k.b.constant(DType::i32, int64_t{259}), DType::bf16),
                    {Dim::constant(2)});
  });
  EXPECT_EQ(values[1], 260);
  const auto thirds = compute(DType::f16, 1, [](TestKernel& k, const ir::Value*) {
    return k.b.fill(k.b.constant(DType::f16, 1.0 / 3), {Dim::constant(1)});
  });
  EXPECT_EQ(thirds[0], 0.333251953125);
}

TEST(Shapes, IotaReshapePermuteBroadcast) {
  // iota 0..23 as [2, 3, 4], permuted to [4, 2, 3].
  const auto permuted = compute(DType::i64, 24, [](TestKernel& k, const ir::Value*) {
    const auto c = [](int64_t n) { return Dim::constant(n); };
    const auto* cube = k.b.reshape(k.b.iota(c(24)), {c(2), c(3), c(4)});
    return k.b.reshape(k.b.convert(k.b.permute(cube, {2, 0, 1})), {c(24)});
  });
  for (int i = 0; i < 24; ++i) EXPECT_EQ(permuted[i], (i / 3 % 2) * 12 + (i % 3) * 4 + i / 6) << i;

  // [3, 1] stretched to [2, 3, 4].
  const auto spread = compute(DType::i64, 24, [](TestKernel& k, const ir::Value*) {
    const auto c = [](int64_t n) { return Dim::constant(n); };
    const auto* column = k.b.reshape(k.b.iota(c(3)), {c(3), c(1)});
    const auto* cube = k.b.broadcast(column, {c(2), c(3), c(4)}, {1, 2});
    return k.b.reshape(cube, {c(24)});
  });
  for (int i = 0; i < 24; ++i) EXPECT_EQ(spread[i], i / 4 % 3) << i;
}

TEST(Arguments, ThatDoNotFitAreRefused) {
  const CopyKernel kernel(DType::f32);
  TestTensor x(DType::f32, {4}), other(DType::i32, {4}), square(DType::f32, {2, 2});
  const auto run = [&](InterpreterArgs args) { interpret(kernel.fn, args); };
  EXPECT_THROW(run({x.host()}), InternalError);
  EXPECT_THROW(run({x.host(), other.host()}), InternalError);
  EXPECT_THROW(run({x.host(), square.host()}), InternalError);
  EXPECT_THROW(run({x.host(), int64_t{1}}), InternalError);
  EXPECT_THROW(run({x.host(), HostTensor{nullptr, x.spec()}}), InternalError);
  HostTensor backwards = x.host();
  backwards.spec.strides[0] = -1;
  EXPECT_THROW(run({x.host(), backwards}), InternalError);
  TestKernel scalar;
  scalar.scalar("n", DType::i32);
  EXPECT_THROW(interpret(scalar.fn, {1.5}), InternalError);
}

}  // namespace
}  // namespace tilewright::testing
