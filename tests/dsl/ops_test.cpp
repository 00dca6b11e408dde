// Operators and functions: dtypes, broadcasting, the operations they make.
#include "tests/dsl/trace_kernel.h"

namespace tilewright::testing {
namespace {

namespace tw = tilewright;

/// The types of x, y and the result's of fn(x[64,32], y[32]) as tiles of the given dtype; also the
/// traced function.
template <class F>
std::string result_of(DType dtype, F fn) {
  std::string text;
  trace(
      [&](tw::Tensor a, tw::Tensor b) {
        for (auto [i, j] : tw::tile({64, 32})) {
          tw::Tile result = fn(a[i, j], b[j]);
          text = fmt::format("{}/{}", to_string(result.dtype()), result.rank());
          a[i, j] = tw::cast(result.rank() == 2 ? result : tw::Tile(a[i, j]), a.dtype());
        }
      },
      {tensor(dtype, {64, 32}), tensor(dtype, {32})});
  return text;
}

template <class F>
ir::Function traced(DType dtype, F fn) {
  return trace(
      [&](tw::Tensor a) {
        for (auto [i, j] : tw::tile({64, 32})) a[i, j] = tw::cast(fn(a[i, j]), a.dtype());
      },
      {tensor(dtype, {64, 32})});
}

TEST(Ops, NumbersTakeTheTilesDtype) {
  for (DType dtype : {f16, bf16, f32, f64})
    EXPECT_EQ(result_of(dtype, [](tw::Tile x, tw::Tile) { return 2 * x + 0.5 - x / 3.0f; }),
              fmt::format("{}/2", to_string(dtype)));
  for (DType dtype : {i8, u8, i16, i32, i64})
    EXPECT_EQ(result_of(dtype, [](tw::Tile x, tw::Tile) { return 2 * x % 7 + tw::Size(3); }),
              fmt::format("{}/2", to_string(dtype)));
}

TEST(Ops, ShapesAlignAtTheLastDimension) {
  EXPECT_EQ(result_of(f32, [](tw::Tile x, tw::Tile y) { return x + y; }), "f32/2");
  EXPECT_EQ(result_of(f32, [](tw::Tile x, tw::Tile y) { return y * x; }), "f32/2");
  EXPECT_EQ(result_of(f32, [](tw::Tile x, tw::Tile y) { return x < tw::sum(y); }), "bool/2");
  EXPECT_EQ(result_of(f32, [](tw::Tile, tw::Tile y) { return y[tw::none, tw::all]; }), "f32/2");
  EXPECT_EQ(result_of(f32, [](tw::Tile x,
                              tw::Tile) { return tw::max(x, tw::axis(1))[tw::all, tw::none] + x; }),
            "f32/2");
}

TEST(Ops, ComparisonsAndLogicGiveBool) {
  EXPECT_EQ(result_of(f32, [](tw::Tile x, tw::Tile y) { return (x == y || x != 1) && !(x >= y); }),
            "bool/2");
  EXPECT_EQ(result_of(i32, [](tw::Tile x, tw::Tile y) { return ((x > y) ^ (x <= y)) | true; }),
            "bool/2");
}

TEST(Ops, IntegersHaveBitOperations) {
  const auto fn = traced(i32, [](tw::Tile x) { return ((~x & 3) | (x << 2)) ^ (x >> 1); });
  EXPECT_EQ(count(fn, ir::OpKind::binary), 5);
  EXPECT_EQ(only(fn, ir::OpKind::unary).fn(), ir::Fn::bit_not);
}

TEST(Ops, FunctionsMapToTheirOperation) {
  const auto fn = traced(f32, [](tw::Tile x) {
    x = tw::abs(tw::exp(tw::exp2(tw::log(tw::log2(tw::sqrt(tw::rsqrt(-x)))))));
    x = tw::sin(tw::cos(tw::tanh(tw::erf(tw::floor(tw::ceil(x))))));
    x = tw::log10(tw::log1p(tw::expm1(tw::tan(tw::asin(tw::acos(tw::atan(x)))))));
    x = tw::sinh(tw::cosh(tw::round(tw::trunc(tw::atan2(x, 2)))));
    x = tw::pow(tw::minimum(x, 1), tw::maximum(2, tw::min(x, tw::max(x, 3))));
    return tw::fma(x, 2, tw::where(x > 0, x, 0));
  });
  std::vector<std::string> names;
  ir::for_each_op(fn.body(), [&](const ir::Op& op) {
    if (op.has(ir::AttrKey::fn)) names.emplace_back(ir::info(op.fn()).name);
  });
  EXPECT_EQ(
      fmt::format("{}", fmt::join(names, " ")),
      "neg rsqrt sqrt log2 log exp2 exp abs ceil floor erf tanh cos sin atan acos asin tan expm1 "
      "log1p log10 atan2 trunc round cosh sinh min max min max pow gt");
  EXPECT_EQ(count(fn, ir::OpKind::fma), 1);
  EXPECT_EQ(count(fn, ir::OpKind::select), 1);
}

TEST(Ops, ComposedFunctionsRoundHalvesOnce) {
  for (auto function : {tw::sigmoid, tw::silu, tw::softplus, tw::gelu, tw::gelu_tanh}) {
    const auto half = traced(f16, [&](tw::Tile x) { return function(x, Loc::current()); });
    EXPECT_EQ(count(half, ir::OpKind::cast), 2);
    const auto single = traced(f32, [&](tw::Tile x) { return function(x, Loc::current()); });
    EXPECT_EQ(count(single, ir::OpKind::cast), 0);
  }
  EXPECT_EQ(only(traced(f16, [](tw::Tile x) { return tw::relu(x); }), ir::OpKind::binary).fn(),
            ir::Fn::max);
  EXPECT_EQ(only(traced(i32, [](tw::Tile x) { return tw::relu(x); }), ir::OpKind::binary).fn(),
            ir::Fn::max);
}

TEST(Ops, TilesAreMadeAndReshaped) {
  const auto fn = traced(f32, [](tw::Tile x) {
    tw::Tile ones = tw::full({4, 6}, 1, tw::f32);
    tw::Tile r = tw::reshape(tw::permute(tw::reshape(ones, {2, 3, 4}), {2, 0, 1}), {24});
    tw::Tile s =
        tw::sum(r + tw::cast(tw::arange(24), tw::f32) + tw::zeros_like(r) + tw::full_like(r, 2));
    return x + s + tw::sum(tw::broadcast_to(s, {3, 2}).t(), tw::axis(0, 1));
  });
  EXPECT_EQ(count(fn, ir::OpKind::reshape), 2);
  EXPECT_EQ(count(fn, ir::OpKind::permute), 2);
  EXPECT_EQ(count(fn, ir::OpKind::iota), 1);
}

TEST(Reduce, AccumulatesWider) {
  const auto sum = [](tw::Tile x, tw::Tile) { return tw::sum(x, tw::axis(0), tw::keep_dims); };
  EXPECT_EQ(result_of(f16, sum), "f16/2");
  EXPECT_EQ(result_of(i8, sum), "i32/2");
  EXPECT_EQ(result_of(boolean, sum), "i32/2");
  EXPECT_EQ(result_of(i64, sum), "i64/2");
  const auto fn =
      traced(bf16, [](tw::Tile x) { return x + tw::prod(x, tw::axis(-1), tw::keep_dims); });
  EXPECT_EQ(only(fn, ir::OpKind::reduce).operand(0)->type.dtype, f32);
  EXPECT_EQ(only(fn, ir::OpKind::reduce).fn(), ir::Fn::mul);
  const auto max = traced(bf16, [](tw::Tile x) { return x - tw::max(x); });
  EXPECT_EQ(only(max, ir::OpKind::reduce).operand(0)->type.dtype, bf16);
}

TEST(Reduce, DropsOrKeepsAxes) {
  const auto rank = [](tw::Axes axes, tw::KeepDims keep) {
    return result_of(f32, [&](tw::Tile x, tw::Tile) { return tw::min(x, axes, keep); });
  };
  EXPECT_EQ(rank(tw::axis(0), tw::KeepDims::no), "f32/1");
  EXPECT_EQ(rank(tw::axis(-1, 0), tw::KeepDims::no), "f32/0");
  EXPECT_EQ(rank(tw::axis(-1, 0), tw::keep_dims), "f32/2");
  EXPECT_EQ(result_of(f32, [](tw::Tile x, tw::Tile) { return tw::max(x); }), "f32/0");
  EXPECT_EQ(result_of(f32, [](tw::Tile x, tw::Tile) { return tw::all(x > 0, tw::axis(1)); }),
            "bool/1");
  EXPECT_EQ(result_of(f32, [](tw::Tile x, tw::Tile) { return tw::any(x > 0) && tw::all(x < 9); }),
            "bool/0");
}

TEST(Dot, AccumulatesByDtype) {
  const auto product = [](DType dtype) {
    return result_of(dtype, [](tw::Tile x, tw::Tile) {
      const tw::Tile y = tw::dot(x, x.t());
      return tw::sum(tw::addmm(tw::dot(x, x.t(), y), x, x.t()));
    });
  };
  EXPECT_EQ(product(f16), "f32/0");
  EXPECT_EQ(product(bf16), "f32/0");
  EXPECT_EQ(product(f32), "f32/0");
  EXPECT_EQ(product(f64), "f64/0");
  EXPECT_EQ(product(i8), "i32/0");
  EXPECT_EQ(product(u8), "i32/0");
  EXPECT_EQ(product(f8e4m3), "f32/0");
  EXPECT_EQ(product(f8e5m2), "f32/0");
}

TEST(Dot, OperandsMayBeOfBothKindsOfF8) {
  const ir::Function fn = trace(
      [](tw::Tensor a, tw::Tensor b, tw::Tensor c) {
        for (auto [i, j] : tw::tile({8, 8})) c[i, j] = tw::dot(a[i, tw::all], b[tw::all, j]);
      },
      {tensor(f8e4m3, {8, 8}), tensor(f8e5m2, {8, 8}), tensor(f32, {8, 8})});
  EXPECT_EQ(only(fn, ir::OpKind::dot).result()->type.dtype, f32);
}

TEST(Dot, PrecisionIsRecordedWhereAsked) {
  const auto precision = [](DType dtype, DotPrecision asked) {
    const ir::Function fn = trace(
        [asked](tw::Tensor a, tw::Tensor c) {
          for (auto [i, j] : tw::tile({8, 8})) {
            tw::Tile acc = tw::dot(a[i, tw::all], a[tw::all, j], asked);
            acc = tw::dot(a[i, tw::all], a[tw::all, j], acc, asked);
            c[i, j] = tw::addmm(acc, a[i, tw::all], a[tw::all, j], asked);
          }
        },
        {tensor(dtype, {8, 8}), tensor(f32, {8, 8})});
    int dots = 0;
    ir::for_each_op(fn.body(), [&](const ir::Op& op) {
      if (op.kind != ir::OpKind::dot) return;
      EXPECT_EQ(ir::precision_of(op), asked);
      EXPECT_EQ(op.has(ir::AttrKey::precision), asked != tw::ieee);
      ++dots;
    });
    EXPECT_EQ(dots, 3);
  };
  precision(f32, tw::ieee);
  precision(f32, tw::tf32);
  precision(f32, tw::tf32x3);
  precision(f8e4m3, tw::two_level);
  precision(f8e5m2, tw::ieee);
}

TEST(Store, ConvertsToTheTensorsDtype) {
  const auto fn = trace(
      [](tw::Tensor a, tw::Tensor b) {
        for (auto i : tw::tile(8)) {
          a[i] = b[i];
          a[i] = 3;
          a[i] = b[i] > 1;
          b[i] = tw::cast(a[i], tw::i16);
          b[i] = tw::cast(a[i], tw::i64);
        }
      },
      {tensor(bf16, {8}), tensor(i16, {8})});
  EXPECT_EQ(count(fn, ir::OpKind::store), 5);
}

}  // namespace
}  // namespace tilewright::testing
