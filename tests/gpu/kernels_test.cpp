// Every kind of kernel on a GPU, against the interpreter, over shapes, strides, dtypes and configs.
#include <gtest/gtest.h>

#include "examples/kernels/linear.h"
#include "examples/kernels/matmul.h"
#include "examples/kernels/row_minmax.h"
#include "examples/kernels/row_sum.h"
#include "examples/kernels/saxpy.h"
#include "examples/kernels/softmax.h"
#include "examples/kernels/vector_add.h"
#include "tests/gpu/kernel_case.h"
#include "tests/support/gpu.h"

namespace tilewright {
namespace {

using testing::expect_gpu_matches_interpreter;
using testing::GpuTest;
using testing::KernelCase;
using testing::Operand;

struct Product {
  int64_t m, k, n;
};

/// Strides of a matrix stored row-major, or column-major for a transposed view.
std::vector<int64_t> strides_of(int64_t rows, int64_t cols, bool transposed, int64_t pad = 0) {
  return transposed ? std::vector<int64_t>{1, rows + pad} : std::vector<int64_t>{cols + pad, 1};
}

KernelCase product_case(const Product& p, DType dtype, Config config, bool a_t = false,
                        bool b_t = false, int64_t pad = 0) {
  KernelCase test{examples::matmul.handle(), {}, {}, {}, std::move(config)};
  test.inputs = {{dtype, {p.m, p.k}, strides_of(p.m, p.k, a_t, pad)},
                 {dtype, {p.k, p.n}, strides_of(p.k, p.n, b_t, pad)}};
  test.outputs = {{dtype, {p.m, p.n}, strides_of(p.m, p.n, false, pad)}};
  return test;
}

constexpr Product kProducts[] = {{64, 64, 64},  {128, 96, 160}, {100, 99, 101}, {1, 1, 1},
                                 {5, 3, 7},     {0, 4, 3},      {4, 0, 3},      {129, 17, 1},
                                 {33, 130, 65}, {256, 36, 68}};

class GpuKernels : public GpuTest {};

// The fma unit adds in the interpreter's order, so f32 products agree bit for bit.
TEST_F(GpuKernels, ProductsOfAllShapesAndConfigs) {
  for (const Product& p : kProducts)
    for (const Config& config :
         {Config{.block = {64, 64, 16}, .group = 8}, Config{.block = {32, 64, 8}, .stages = 1},
          Config{.block = {128, 64, 16}, .warps = 8, .stages = 3},
          Config{.block = {96, 32, 12}, .warps = 2, .stages = 4},
          Config{.block = {16, 16, 16}, .warps = 1, .stages = 2, .copy = CopyKind::sync},
          Config{.block = {64, 32, 32}, .stages = 1, .copy = CopyKind::sync},
          Config{.block = {3, 5, 7}, .warps = 1}, Config{.block = {100, 48, 20}, .stages = 3}})
      expect_gpu_matches_interpreter(product_case(p, DType::f32, config));
}

TEST_F(GpuKernels, ProductsOfTransposedAndPaddedOperands) {
  for (const Product& p : {Product{64, 64, 64}, {100, 99, 101}, {68, 36, 132}})
    for (int which = 0; which < 4; ++which)
      for (const int64_t pad : {0, 3, 4})
        for (const Config& config : {Config{.block = {64, 64, 16}},
                                     Config{.block = {128, 128, 16}, .warps = 8, .stages = 3},
                                     Config{.block = {32, 32, 16}, .copy = CopyKind::sync}})
          expect_gpu_matches_interpreter(
              product_case(p, DType::f32, config, which & 1, which & 2, pad));
}

TEST_F(GpuKernels, ProductsOfAllDtypes) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2})
    for (const Product& p : {Product{64, 64, 64}, {100, 99, 101}, {68, 40, 136}})
      for (int which = 0; which < 4; ++which)
        for (const Config& config :
             {Config{.block = {64, 64, 16}}, Config{.block = {32, 64, 32}, .stages = 3},
              Config{.block = {32, 32, 16}, .copy = CopyKind::sync}})
          expect_gpu_matches_interpreter(product_case(p, dtype, config, which & 1, which & 2));
}

const auto double_product = kernel("double_product", [](Tensor a, Tensor b) {
  auto [m, k] = sizes<2>(a);
  Tensor c = empty({m, b.size(1)}, f64);
  for (auto [rows, cols] : tile({m, b.size(1)})) {
    Tile acc = zeros({rows, cols}, f64);
    for (auto ks : tile(k)) acc = addmm(acc, a[rows, ks], b[ks, cols]);
    c[rows, cols] = acc;
  }
  return c;
});

const auto byte_product = kernel("byte_product", [](Tensor a, Tensor b) {
  auto [m, k] = sizes<2>(a);
  Tensor c = empty({m, b.size(1)}, i32);
  for (auto [rows, cols] : tile({m, b.size(1)})) {
    Tile acc = zeros({rows, cols}, i32);
    for (auto ks : tile(k)) acc = addmm(acc, a[rows, ks], b[ks, cols]);
    c[rows, cols] = acc;
  }
  return c;
});

TEST_F(GpuKernels, ProductsInDoubleAndOfBytes) {
  for (const Product& p : {Product{64, 64, 64}, {100, 99, 101}, {68, 40, 136}})
    for (int which = 0; which < 4; ++which)
      for (const bool bytes : {false, true}) {
        const DType in = bytes ? DType::i8 : DType::f64;
        KernelCase test = product_case(p, in, Config{.block = {32, 64, 16}}, which & 1, which & 2);
        test.kernel = bytes ? byte_product.handle() : double_product.handle();
        test.outputs[0].dtype = bytes ? DType::i32 : DType::f64;
        expect_gpu_matches_interpreter(test);
      }
}

TEST_F(GpuKernels, ProductsIntoTransposedAndMisalignedResults) {
  for (const int64_t offset : {0, 1, 2}) {
    KernelCase test = product_case({100, 64, 96}, DType::f32, Config{.block = {64, 64, 16}});
    for (Operand& operand : test.inputs) operand.offset = offset;
    test.outputs[0].strides = {1, 100};
    test.outputs[0].offset = offset;
    expect_gpu_matches_interpreter(test);
  }
}

TEST_F(GpuKernels, BroadcastOperands) {
  KernelCase test = product_case({64, 32, 64}, DType::f32, Config{.block = {32, 32, 16}});
  test.inputs[0].strides = {0, 1};
  test.inputs[1].strides = {0, 0};
  expect_gpu_matches_interpreter(test);
}

TEST_F(GpuKernels, DefaultConfigs) {
  for (const Product& p : kProducts) {
    KernelCase test = product_case(p, DType::f32, {});
    test.use_default_config = true;
    expect_gpu_matches_interpreter(test);
  }
}

TEST_F(GpuKernels, FusedEpilogue) {
  for (const Product& p : {Product{64, 64, 64}, {100, 99, 101}})
    for (const DType dtype : {DType::f32, DType::bf16}) {
      KernelCase test{examples::linear_gelu.handle(), {}, {}, {}, Config{.block = {64, 32, 16}}};
      test.inputs = {{dtype, {p.m, p.k}}, {dtype, {p.k, p.n}}, {dtype, {p.n}}};
      test.outputs = {{dtype, {p.m, p.n}}};
      test.ulps = dtype == DType::f32 ? 16 : 1;  // erf and the products around it
      test.absolute = 1e-6;                      // gelu cancels to nearly 0 for negative values
      expect_gpu_matches_interpreter(test);
    }
}

TEST_F(GpuKernels, RowReductions) {
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{64, 64},
                                   {33, 1000},
                                   {7, 1},
                                   {1, 7},
                                   {5, 4097},
                                   {0, 8},
                                   {130, 96}})
    for (const int warps : {1, 4, 8})
      for (const DType dtype : {DType::f32, DType::bf16}) {
        KernelCase sum{examples::row_sum.handle(), {}, {}, {}, {}};
        sum.inputs = {{dtype, {rows, cols}}};
        sum.outputs = {{DType::f32, {rows}}};
        sum.config = Config{.block = {16, 64}, .warps = warps};
        sum.absolute = 4 * std::sqrt(static_cast<double>(cols)) * 0x1p-23 * 4;  // order of addition
        expect_gpu_matches_interpreter(sum);

        KernelCase softmax{examples::softmax.handle(), {}, {}, {}, {}};
        softmax.inputs = {{dtype, {rows, cols}}};
        softmax.outputs = {{dtype, {rows, cols}}};
        softmax.config = Config{.block = {cols > 1000 ? 1 : 2}, .warps = warps};
        softmax.ulps = dtype == DType::f32 ? 64 : 1;  // the sum's order, two exponentials' bounds
        expect_gpu_matches_interpreter(softmax);

        KernelCase minmax{examples::row_minmax.handle(), {}, {}, {}, {}};
        minmax.inputs = {{dtype, {rows, cols}}};
        minmax.outputs = {{dtype, {rows}}, {dtype, {rows}}};
        minmax.config = Config{.block = {4}, .warps = warps};
        expect_gpu_matches_interpreter(minmax);
      }
}

TEST_F(GpuKernels, Elementwise) {
  for (const int64_t n : {1, 31, 1000, 4096, 100001})
    for (const int64_t offset : {0, 1, 4}) {
      KernelCase add{examples::vector_add.handle(), {}, {}, {}, Config{.block = {1024}}};
      add.inputs = {{DType::f32, {n}, {}, offset}, {DType::f32, {n}}};
      add.outputs = {{DType::f32, {n}, {}, offset}};
      expect_gpu_matches_interpreter(add);

      KernelCase saxpy{examples::saxpy.handle(), {}, {}, {1.5f}, Config{.block = {512}}};
      saxpy.inputs = {{DType::f32, {n}, {2}}, {DType::f32, {n}, {}, offset}};
      expect_gpu_matches_interpreter(saxpy);
    }
}

// Kernels that exist to exercise one mechanism each.

const auto transposed_copy = kernel("transposed_copy", [](Tensor x) {
  auto [m, n] = sizes<2>(x);
  Tensor y = empty({n, m}, x.dtype());
  for (auto [rows, cols] : tile({m, n})) {
    y[cols, rows] = Tile(x[rows, cols]).t();
  }
  return y;
});

TEST_F(GpuKernels, TransposedCopy) {
  for (const auto& [m, n] : {std::pair<int64_t, int64_t>{64, 64}, {100, 33}, {1, 5}, {257, 130}})
    for (const DType dtype : {DType::f32, DType::bf16, DType::i8, DType::f64})
      for (const Config& config : {Config{.block = {64, 64}}, Config{.block = {32, 8}, .warps = 2},
                                   Config{.block = {3, 5}, .warps = 1}}) {
        KernelCase test{transposed_copy.handle(), {{dtype, {m, n}}}, {{dtype, {n, m}}}, {}, config};
        expect_gpu_matches_interpreter(test);
      }
}

const auto reshaped = kernel("reshaped", [](Tensor x) {
  Tensor y = empty({x.size(0), 12, 10}, x.dtype());
  for (auto i : grid(x.size(0))) {
    Tile twelve = reshape(x[i, all, all], {12, 10});
    y[i, all, all] = twelve + twelve;
  }
  return y;
});

TEST_F(GpuKernels, Reshape) {
  KernelCase test{
      reshaped.handle(), {{DType::f32, {5, 6, 20}}}, {{DType::f32, {5, 12, 10}}}, {}, {}};
  test.config.block = {};
  expect_gpu_matches_interpreter(test);
}

const auto exp_product = kernel("exp_product", [](Tensor a, Tensor b) {
  auto [m, k] = sizes<2>(a);
  auto [k2, n] = sizes<2>(b);
  check(k == k2, "inner sizes differ");
  Tensor c = empty({m, n}, f32);
  for (auto [rows, cols] : tile({m, n})) {
    Tile acc = zeros({rows, cols}, f32);
    for (auto ks : tile(k)) acc = addmm(acc, exp(a[rows, ks]), b[ks, cols] * 0.5f);
    c[rows, cols] = acc;
  }
  return c;
});

TEST_F(GpuKernels, ProductOfComputedOperands) {
  for (const Product& p : {Product{64, 64, 64}, {50, 33, 41}}) {
    KernelCase test{exp_product.handle(), {}, {}, {}, Config{.block = {32, 32, 16}}};
    test.inputs = {{DType::f32, {p.m, p.k}}, {DType::f32, {p.k, p.n}}};
    test.outputs = {{DType::f32, {p.m, p.n}}};
    test.absolute = 1e-3;  // sums of about 64 terms up to e^4, each within 2 ulp
    expect_gpu_matches_interpreter(test);
  }
}

const auto chained_products = kernel("chained_products", [](Tensor a, Tensor b, Tensor c) {
  auto [m, k] = sizes<2>(a);
  Tensor y = empty({m, c.size(1)}, f32);
  for (auto rows : tile(m)) {
    Tile acc = zeros({rows, c.size(1)}, f32);
    for (auto inner : tile(b.size(1))) {
      Tile part = dot(a[rows, all], b[all, inner]);
      acc = addmm(acc, part, c[inner, all]);
    }
    y[rows, all] = acc;
  }
  return y;
});

TEST_F(GpuKernels, ChainedProducts) {
  for (const int64_t inner : {64, 50})
    for (const int stages : {1, 2, 3}) {
      KernelCase test{
          chained_products.handle(), {}, {}, {}, Config{.block = {32, 16}, .stages = stages}};
      test.inputs = {{DType::f32, {70, 24}}, {DType::f32, {24, inner}}, {DType::f32, {inner, 40}}};
      test.outputs = {{DType::f32, {70, 40}}};
      expect_gpu_matches_interpreter(test);
    }
}

const auto online_softmax = kernel("online_softmax", [](Tensor x) {
  auto [m, n] = sizes<2>(x);
  Tensor y = empty({m, n}, x.dtype());
  for (auto rows : tile(m)) {
    Tile top = full({rows}, -std::numeric_limits<float>::infinity(), f32);
    Tile total = zeros({rows}, f32);
    for (auto cols : tile(n)) {
      Tile values = cast(x[rows, cols], f32);
      Tile next = max(top, max(values, axis(1)));
      total = total * exp(top - next) + sum(exp(values - next[all, none]), axis(1));
      top = next;
    }
    for (auto cols : tile(n))
      y[rows, cols] = exp(cast(x[rows, cols], f32) - top[all, none]) / total[all, none];
  }
  return y;
});

TEST_F(GpuKernels, CarriedTilesAndTwoLoops) {
  for (const auto& [m, n] : {std::pair<int64_t, int64_t>{64, 256}, {33, 100}, {5, 1}})
    for (const int warps : {1, 4}) {
      KernelCase test{online_softmax.handle(),
                      {{DType::f32, {m, n}}},
                      {{DType::f32, {m, n}}},
                      {},
                      Config{.block = {8, 32, 64}, .warps = warps}};
      test.ulps = 64;
      expect_gpu_matches_interpreter(test);
    }
}

const auto increment_rows = kernel("increment_rows", [](Tensor x, Tensor y) {
  for (auto rows : tile(x.size(0))) {
    x[rows, all] = x[rows, all] + 1.0f;
    y[rows, all] = x[rows, all] * 2.0f;  // sees the store
  }
});

TEST_F(GpuKernels, LoadsSeeEarlierStores) {
  KernelCase test{increment_rows.handle(),
                  {{DType::f32, {37, 50}}, {DType::f32, {37, 50}}},
                  {},
                  {},
                  Config{.block = {4}}};
  expect_gpu_matches_interpreter(test);
}

const auto integers = kernel("integers", [](Tensor x, Tensor y) {
  Tensor z = empty_like(x);
  for (auto i : tile(x.size(0))) {
    Tile a = x[i], b = y[i];
    z[i] = (a / b) ^ (a % b) ^ (a << b) ^ (a >> b) ^ (a * b - b) ^ max(a, b) ^ abs(b);
  }
  return z;
});

// Through every narrow type: conversions in both directions, saturation, arithmetic in f8.
const auto through_f8 = kernel("through_f8", [](Tensor x) {
  Tensor y = empty({x.size(0)}, f8e4m3), z = empty({x.size(0)}, f8e5m2), w = empty_like(x);
  for (auto i : tile(x.size(0))) {
    Tile value = cast(x[i], f32) * 500;
    y[i] = value;
    z[i] = value * 100;
    w[i] = cast(cast(value, f8e5m2) * cast(value, f8e5m2) + 1, x.dtype()) - 1.5;
  }
  return std::tuple{y, z, w};
});

TEST_F(GpuKernels, Float8) {
  for (const DType dtype : {DType::f32, DType::f8e4m3, DType::f8e5m2, DType::bf16}) {
    KernelCase test{through_f8.handle(),
                    {{dtype, {5000}}},
                    {{DType::f8e4m3, {5000}}, {DType::f8e5m2, {5000}}, {dtype, {5000}}},
                    {},
                    Config{.block = {512}}};
    expect_gpu_matches_interpreter(test);
  }
}

TEST_F(GpuKernels, IntegerArithmetic) {
  for (const DType dtype : {DType::i8, DType::u8, DType::i16, DType::i32, DType::i64}) {
    KernelCase test{integers.handle(),
                    {{dtype, {5000}}, {dtype, {5000}}},
                    {{dtype, {5000}}},
                    {},
                    Config{.block = {512}}};
    expect_gpu_matches_interpreter(test);
  }
}

}  // namespace
}  // namespace tilewright
