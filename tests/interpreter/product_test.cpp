// Products of matrices of every size, layout and dtype, against a double-precision reference.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/interpreter/kernel_builder.h"
#include "tilewright/ir/error.h"

namespace tilewright::testing {
namespace {

using ir::Dim;

/// c = a b over a grid of tiles, accumulated over tiles of k.
struct Product : TestKernel {
  Product(DType in, DType acc, DType out, std::vector<int64_t> blocks = {0, 0, 0},
          DotPrecision precision = DotPrecision::ieee) {
    const auto* a = tensor("a", in, 2);
    const auto* bt = tensor("b", in, 2);
    const auto* c = tensor("c", out, 2);
    const int rows = axis(blocks[0]), cols = axis(blocks[1]), ks = axis(blocks[2]);
    const auto *m = b.dim(a, 0), *n = b.dim(bt, 1), *k = b.dim(a, 1);
    grid({rows, cols}, {m, n}, [&](const ir::LoopView& tile) {
      const auto* zero = zeros(acc, {Dim::block(rows), Dim::block(cols)});
      const auto* inner = loop({ks}, false, {k}, {zero}, [&](const ir::LoopView& step) {
        const auto* x = b.load(a, {tile.slices[0], step.slices[0]});
        const auto* y = b.load(bt, {step.slices[0], tile.slices[1]});
        b.yield({b.dot(x, y, step.carried[0], precision)});
      });
      b.store(c, b.cast(inner->results[0], out), {tile.slices[0], tile.slices[1]});
    });
  }
};

/// The tolerance for random data: rounding of the result, and of the accumulation.
void expect_product(const TestTensor& a, const TestTensor& b, const TestTensor& c, DType acc) {
  const int64_t depth = a.spec().sizes[1];
  c.for_each([&](const std::vector<int64_t>& at) {
    double sum = 0, size = 0;
    for (int64_t k = 0; k < depth; ++k) {
      const double term = a.get({at[0], k}) * b.get({k, at[1]});
      sum += term;
      size += std::abs(term);
    }
    double bound = 0;
    if (is_float(acc)) {
      const double ulp = std::ldexp(1.0, 1 - float_digits(c.spec().dtype));
      const double eps = std::ldexp(1.0, 1 - float_digits(acc));
      bound = ulp * std::abs(sum) + 4 * std::sqrt(depth) * eps * size;
    }
    ASSERT_LE(std::abs(c.get(at) - sum), bound) << at[0] << "," << at[1];
  });
  EXPECT_TRUE(c.margins_intact());
}

void run(const ir::Function& fn, TestTensor& a, TestTensor& b, TestTensor& c,
         std::vector<int64_t> block) {
  interpret(fn, {a.host(), b.host(), c.host()}, {.block = std::move(block), .threads = 2});
}

TEST(Product, SizesAgainstTiles) {
  const Product kernel(DType::f32, DType::f32, DType::f32);
  struct Row {
    std::vector<int64_t> mnk, block;
  };
  const Row rows[] = {
      {{64, 32, 48}, {16, 16, 16}}, {{10, 10, 10}, {4, 4, 4}}, {{9, 9, 9}, {3, 3, 3}},
      {{1, 1, 1}, {1, 1, 1}},       {{1, 1, 1}, {16, 8, 32}},  {{5, 7, 3}, {64, 64, 64}},
      {{33, 65, 17}, {32, 64, 16}}, {{31, 1, 100}, {7, 5, 3}}, {{4, 6, 0}, {4, 4, 4}},
      {{0, 6, 5}, {4, 4, 4}},       {{6, 0, 5}, {4, 4, 4}},    {{100, 99, 101}, {}}};
  for (const Row& row : rows) {
    const auto [m, n, k] = std::tuple(row.mnk[0], row.mnk[1], row.mnk[2]);
    SCOPED_TRACE(fmt::format("{}x{}x{}", m, n, k));
    TestTensor a(DType::f32, {m, k}), b(DType::f32, {k, n}), c(DType::f32, {m, n});
    run(kernel.fn, a.randomize(1), b.randomize(2), c, row.block);
    expect_product(a, b, c, DType::f32);
  }
}

TEST(Product, DTypes) {
  struct Row {
    DType in, acc, out;
  };
  const Row rows[] = {
      {DType::f16, DType::f32, DType::f16},    {DType::bf16, DType::f32, DType::bf16},
      {DType::f16, DType::f32, DType::f32},    {DType::f64, DType::f64, DType::f64},
      {DType::i8, DType::i32, DType::i32},     {DType::u8, DType::i32, DType::i64},
      {DType::i64, DType::i64, DType::i64},    {DType::f32, DType::f32, DType::bf16},
      {DType::f8e4m3, DType::f32, DType::f32}, {DType::f8e5m2, DType::f32, DType::bf16}};
  for (const Row& row : rows) {
    SCOPED_TRACE(
        fmt::format("{} {} {}", to_string(row.in), to_string(row.acc), to_string(row.out)));
    const Product kernel(row.in, row.acc, row.out);
    TestTensor a(row.in, {37, 50}), b(row.in, {50, 41}), c(row.out, {37, 41});
    run(kernel.fn, a.randomize(3), b.randomize(4), c, {16, 8, 12});
    expect_product(a, b, c, row.acc);
  }
}

/// The nearest number of 11 significant bits, ties away from zero.
double as_tf32(double x) {
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  return std::ldexp(std::round(std::ldexp(fraction, 11)), exponent - 11);
}

TEST(Product, Tf32RoundsItsOperands) {
  const Product kernel(DType::f32, DType::f32, DType::f32, {0, 0, 0}, DotPrecision::tf32);
  TestTensor a(DType::f32, {13, 50}), b(DType::f32, {50, 11}), c(DType::f32, {13, 11});
  run(kernel.fn, a.randomize(1), b.randomize(2), c, {8, 4, 16});
  for (TestTensor* operand : {&a, &b})
    operand->for_each([&](const auto& at) { operand->set(at, as_tf32(operand->get(at))); });
  TestTensor exact(DType::f32, {13, 11});
  run(Product(DType::f32, DType::f32, DType::f32).fn, a, b, exact, {8, 4, 16});
  EXPECT_TRUE(c.same_bits(exact)) << "as IEEE on rounded operands";
  expect_product(a, b, c, DType::f32);
  // Half way between two, and a little less.
  a.fill(1), a.set({0, 0}, 1 + 0x1p-11), a.set({1, 0}, -1 - 0x1p-11),
      a.set({2, 0}, 1 + 0x1.ffep-12);
  b.fill(0), b.set({0, 0}, 1);
  run(kernel.fn, a, b, c, {8, 4, 16});
  EXPECT_EQ(c.get({0, 0}), 1 + 0x1p-10);
  EXPECT_EQ(c.get({1, 0}), -1 - 0x1p-10);
  EXPECT_EQ(c.get({2, 0}), 1);
}

TEST(Product, Tf32x3IsNearlyAsGoodAsF32) {
  TestTensor a(DType::f32, {20, 64}), b(DType::f32, {64, 24}), c(DType::f32, {20, 24});
  a.randomize(3), b.randomize(4);
  const auto largest_error = [&](DotPrecision precision) {
    const Product kernel(DType::f32, DType::f32, DType::f32, {0, 0, 0}, precision);
    run(kernel.fn, a, b, c, {8, 8, 16});
    double largest = 0;
    c.for_each([&](const std::vector<int64_t>& at) {
      double sum = 0;
      for (int64_t k = 0; k < 64; ++k) sum += a.get({at[0], k}) * b.get({k, at[1]});
      largest = std::max(largest, std::abs(c.get(at) - sum));
    });
    return largest;
  };
  const double ieee = largest_error(DotPrecision::ieee);
  EXPECT_LE(largest_error(DotPrecision::tf32x3), 4 * ieee);
  EXPECT_GE(largest_error(DotPrecision::tf32), 100 * ieee) << "one product must show its rounding";
}

// The low part of b times an infinity may be one of the other sign.
TEST(Product, Tf32KeepsNaNAndInfinityInTheirRows) {
  for (const DotPrecision precision : {DotPrecision::tf32, DotPrecision::tf32x3}) {
    const Product kernel(DType::f32, DType::f32, DType::f32, {0, 0, 0}, precision);
    TestTensor a(DType::f32, {3, 5}), b(DType::f32, {5, 2}), c(DType::f32, {3, 2});
    a.fill(1), b.fill(0.1);
    a.set({0, 4}, NAN), a.set({1, 4}, INFINITY);
    run(kernel.fn, a, b, c, {2, 2, 4});
    EXPECT_TRUE(std::isnan(c.get({0, 0})) && std::isnan(c.get({0, 1})));
    EXPECT_FALSE(std::isfinite(c.get({1, 0})));
    EXPECT_NEAR(c.get({2, 1}), 0.5, 1e-3);
  }
}

// Sums are made in f32, so terms far below the sum's last place in an f8 type count.
TEST(Product, F8AccumulatesInF32) {
  for (const DotPrecision precision : {DotPrecision::ieee, DotPrecision::two_level}) {
    const Product kernel(DType::f8e4m3, DType::f32, DType::f32, {0, 0, 0}, precision);
    TestTensor a(DType::f8e4m3, {2, 300}), b(DType::f8e4m3, {300, 2}), c(DType::f32, {2, 2});
    a.fill(0x1p-9), b.fill(0x1p-9);
    a.set({0, 0}, 1), b.set({0, 0}, 1);
    run(kernel.fn, a, b, c, {2, 2, 32});
    EXPECT_EQ(c.get({0, 0}), 1 + 299 * 0x1p-18);
    EXPECT_EQ(c.get({1, 1}), 300 * 0x1p-18);
  }
}

TEST(Product, LayoutsOfOperands) {
  const Product kernel(DType::f32, DType::f32, DType::f32);
  struct Row {
    std::vector<int64_t> a, b, c;
  };
  const Row rows[] = {
      {{1, 20}, {30, 1}, {30, 1}},  // a transposed
      {{17, 1}, {1, 17}, {30, 1}},  // b transposed
      {{1, 20}, {1, 17}, {1, 20}},  // all three
      {{40, 2}, {90, 3}, {64, 2}},  // gaps between elements
      {{0, 1}, {30, 1}, {30, 1}},   // every row of a the same
      {{17, 1}, {0, 0}, {30, 1}},   // one element for the whole of b
  };
  for (const Row& row : rows) {
    TestTensor a(DType::f32, {20, 17}, row.a), b(DType::f32, {17, 30}, row.b);
    TestTensor c(DType::f32, {20, 30}, row.c);
    run(kernel.fn, a.randomize(5), b.randomize(6), c, {8, 16, 4});
    expect_product(a, b, c, DType::f32);
  }
}

TEST(Product, StridesOfSizeOneDimensionsAreIgnored) {
  const Product kernel(DType::f32, DType::f32, DType::f32);
  TestTensor a(DType::f32, {1, 9}), b(DType::f32, {9, 1}), c(DType::f32, {1, 1});
  a.randomize(7), b.randomize(8);
  HostTensor strange_a = a.host(), strange_b = b.host(), strange_c = c.host();
  strange_a.spec.strides[0] = 262144;
  strange_b.spec.strides[1] = 0;
  strange_c.spec.strides = {int64_t{1} << 40, int64_t{1} << 40};
  interpret(kernel.fn, {strange_a, strange_b, strange_c},
            {.block = {4, 4, 4}, .threads = 1, .check_overlap = false});
  expect_product(a, b, c, DType::f32);
}

// Every element is one chain of fused operations in increasing k, however it is tiled.
TEST(Product, BitsDoNotDependOnTilesOrThreads) {
  const Product kernel(DType::f32, DType::f32, DType::f32);
  TestTensor a(DType::f32, {50, 70}), b(DType::f32, {70, 40}), expected(DType::f32, {50, 40});
  a.randomize(9), b.randomize(10);
  expected.for_each([&](const std::vector<int64_t>& at) {
    float acc = 0;
    for (int64_t k = 0; k < 70; ++k)
      acc = std::fma(static_cast<float>(a.get({at[0], k})), static_cast<float>(b.get({k, at[1]})),
                     acc);
    expected.set(at, acc);
  });
  for (const std::vector<int64_t>& block :
       {std::vector<int64_t>{}, {1, 1, 1}, {50, 40, 70}, {64, 64, 128}, {3, 11, 6}}) {
    for (int threads : {1, 2, 5}) {
      TestTensor c(DType::f32, {50, 40});
      interpret(kernel.fn, {a.host(), b.host(), c.host()}, {.block = block, .threads = threads});
      EXPECT_TRUE(c.same_bits(expected));
    }
  }
}

// A row of NaN must not reach the others through the padding of k.
TEST(Product, NaNStaysInItsRow) {
  const Product kernel(DType::bf16, DType::f32, DType::f32);
  TestTensor a(DType::bf16, {32, 33}), b(DType::bf16, {33, 64}), c(DType::f32, {32, 64});
  a.fill(NAN), b.fill(1);
  for (int64_t k = 0; k < 33; ++k) a.set({0, k}, 1);
  run(kernel.fn, a, b, c, {32, 64, 16});
  for (int64_t j = 0; j < 64; ++j) {
    EXPECT_EQ(c.get({0, j}), 33);
    EXPECT_TRUE(std::isnan(c.get({1, j})));
  }
}

// k is limited by the loop, not only by the tensors: 5 of 8 columns count.
TEST(Product, LoopLimitBelowTheTensorsEdge) {
  TestKernel kernel;
  ir::Builder& b = kernel.b;
  const auto* a = kernel.tensor("a", DType::f32, 2);
  const auto* bt = kernel.tensor("b", DType::f32, 2);
  const auto* c = kernel.tensor("c", DType::f32, 2);
  const int ks = kernel.axis(4);
  const auto* all = b.slice(b.index(0), b.index(4), Dim::constant(4));
  const auto* zero = kernel.zeros(DType::f32, {Dim::constant(4), Dim::constant(4)});
  const auto* inner = kernel.loop({ks}, false, {b.index(5)}, {zero}, [&](const auto& step) {
    // Computed, so not 0 past the limit by itself.
    const auto* x = b.unary(ir::Fn::exp, b.load(a, {all, step.slices[0]}));
    const auto* y = b.unary(ir::Fn::exp, b.load(bt, {step.slices[0], all}));
    b.yield({b.dot(x, y, step.carried[0])});
  });
  b.store(c, inner->results[0], {all, all});
  TestTensor x(DType::f32, {4, 8}), y(DType::f32, {8, 4}), z(DType::f32, {4, 4});
  interpret(kernel.fn, {x.fill(0).host(), y.fill(0).host(), z.host()});
  z.for_each([&](const auto& at) { EXPECT_EQ(z.get(at), 5); });
}

TEST(Product, WrapsInI32) {
  const Product kernel(DType::i64, DType::i32, DType::i32);
  TestTensor a(DType::i64, {1, 3}), b(DType::i64, {3, 1}), c(DType::i32, {1, 1});
  run(kernel.fn, a.fill(1 << 20), b.fill(1 << 11), c, {1, 1, 2});
  EXPECT_EQ(c.get({0, 0}), -2147483648.0);  // 3 * 2^31 modulo 2^32
}

TEST(Product, UnguardedDotNeedsZeroTails) {
  Product kernel(DType::f32, DType::f32, DType::f32, {4, 4, 4});
  ir::for_each_op(kernel.fn.body(), [](const ir::Op& op) {
    if (op.kind == ir::OpKind::dot)
      const_cast<ir::Op&>(op).attributes.push_back({ir::AttrKey::guard, std::vector<int64_t>{}});
  });
  TestTensor a(DType::f32, {4, 5}), b(DType::f32, {5, 4}), c(DType::f32, {4, 4});
  run(kernel.fn, a.randomize(1), b.randomize(2), c, {});  // loads made the tail 0
  expect_product(a, b, c, DType::f32);
}

TEST(Product, OperandsOfAnotherStorageAreRefused) {
  const Product kernel(DType::i8, DType::f32, DType::f32);
  TestTensor a(DType::i8, {4, 4}), b(DType::i8, {4, 4}), c(DType::f32, {4, 4});
  EXPECT_THROW(run(kernel.fn, a.fill(1), b.fill(1), c, {4, 4, 4}), InternalError);
}

}  // namespace
}  // namespace tilewright::testing
