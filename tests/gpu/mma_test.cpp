// Products by the matrix instructions of a warp on a GPU, against the interpreter: shapes,
// transpositions, dtypes, stages, epilogues, operands that are computed.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "examples/kernels/linear.h"
#include "examples/kernels/matmul.h"
#include "tests/gpu/kernel_case.h"
#include "tests/support/gpu.h"

namespace tilewright {
namespace {

using testing::expect_gpu_matches_interpreter;
using testing::GpuTest;
using testing::KernelCase;
using testing::Operand;

struct Product {
  int64_t m, n, k;
};

constexpr Product kProducts[] = {{64, 64, 64},  {128, 256, 96}, {100, 101, 99},  {1, 1, 1},
                                 {5, 7, 3},     {0, 4, 3},      {4, 3, 0},       {129, 1, 17},
                                 {33, 65, 130}, {256, 72, 40},  {200, 300, 1000}};

std::vector<int64_t> strides_of(int64_t rows, int64_t cols, bool transposed, int64_t pad) {
  return transposed ? std::vector<int64_t>{1, rows + pad} : std::vector<int64_t>{cols + pad, 1};
}

/// What another order of addition may change: 4 sqrt(k) eps sum |a| |b|, numbers being normal.
double order_of_addition(int64_t k, double eps = 0x1p-23) {
  return 4 * std::sqrt(static_cast<double>(k)) * eps * static_cast<double>(k);
}

KernelCase product_case(const KernelHandle& kernel, const Product& p, DType in, DType out,
                        Config config, bool a_t = false, bool b_t = false, int64_t pad = 0) {
  config.matrix = MatrixUnit::mma;
  KernelCase test{kernel, {}, {}, {}, std::move(config)};
  test.inputs = {{in, {p.m, p.k}, strides_of(p.m, p.k, a_t, pad)},
                 {in, {p.k, p.n}, strides_of(p.k, p.n, b_t, pad)}};
  test.outputs = {{out, {p.m, p.n}}};
  test.ulps = is_half(out) ? 1 : 0;
  test.absolute = is_float(out) ? order_of_addition(p.k) : 0;
  return test;
}

KernelCase half_case(const Product& p, DType dtype, Config config, bool a_t = false,
                     bool b_t = false, int64_t pad = 0) {
  return product_case(examples::matmul.handle(), p, dtype, dtype, std::move(config), a_t, b_t, pad);
}

class GpuMma : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    if (runtime::device_target(0).sm < 80) GTEST_SKIP() << "mma needs sm_80";
  }
  static bool has_f8() { return runtime::device_target(0).sm >= 89; }
};

TEST_F(GpuMma, ProductsOfAllShapesAndConfigs) {
  for (const Product& p : kProducts)
    for (const DType dtype : {DType::f16, DType::bf16})
      for (const Config& config :
           {Config{.block = {128, 256, 64}, .group = 8, .warps = 8, .stages = 3},
            Config{.block = {128, 128, 32}, .stages = 4},
            Config{.block = {64, 64, 64}, .stages = 2},
            Config{.block = {32, 64, 16}, .warps = 2, .stages = 8},
            Config{.block = {48, 40, 32}, .warps = 3, .stages = 1},
            Config{.block = {16, 8, 128}, .warps = 8, .stages = 2},
            Config{.block = {20, 12, 24}, .warps = 2, .stages = 3},
            Config{.block = {64, 32, 32}, .stages = 2, .copy = CopyKind::sync}})
        expect_gpu_matches_interpreter(half_case(p, dtype, config));
}

TEST_F(GpuMma, TransposedAndPaddedOperands) {
  for (const Product& p : {Product{64, 64, 64}, {100, 101, 99}, {72, 136, 40}})
    for (int which = 0; which < 4; ++which)
      for (const int64_t pad : {0, 3, 8})
        for (const DType dtype : {DType::f16, DType::bf16})
          for (const int stages : {2, 3, 4})
            expect_gpu_matches_interpreter(
                half_case(p, dtype, Config{.block = {64, 64, 32}, .stages = stages}, which & 1,
                          which & 2, pad));
}

TEST_F(GpuMma, DefaultConfigs) {
  for (const Product& p : kProducts)
    for (const DType dtype : {DType::f16, DType::bf16}) {
      KernelCase test = half_case(p, dtype, {});
      test.use_default_config = true;
      expect_gpu_matches_interpreter(test);
    }
}

// Numbers past the end of k and of other rows must not leak: infinities there would give NaN.
TEST_F(GpuMma, ResultsTransposedAndMisaligned) {
  for (const int64_t offset : {0, 1, 2, 8}) {
    KernelCase test = half_case({100, 96, 72}, DType::bf16, Config{.block = {64, 64, 32}});
    for (Operand& operand : test.inputs) operand.offset = offset;
    test.outputs[0].strides = {1, 100};
    test.outputs[0].offset = offset;
    expect_gpu_matches_interpreter(test);
  }
}

TEST_F(GpuMma, FusedEpilogue) {
  for (const Product& p : {Product{64, 64, 64}, {100, 101, 99}})
    for (const DType dtype : {DType::f16, DType::bf16}) {
      KernelCase test{examples::linear_gelu.handle(), {}, {}, {}, Config{.block = {64, 64, 32}}};
      test.config.matrix = MatrixUnit::mma;
      test.inputs = {{dtype, {p.m, p.k}}, {dtype, {p.k, p.n}}, {dtype, {p.n}}};
      test.outputs = {{dtype, {p.m, p.n}}};
      test.ulps = 1;
      test.absolute = order_of_addition(p.k);
      expect_gpu_matches_interpreter(test);
    }
}

/// a b with an accumulator of `acc`, and the precision asked for.
template <DType acc_type, DotPrecision precision>
Tensor accumulated(Tensor a, Tensor b) {
  auto [m, k] = sizes<2>(a);
  Tensor c = empty({m, b.size(1)}, acc_type);
  for (auto [rows, cols] : tile({m, b.size(1)})) {
    Tile acc = zeros({rows, cols}, acc_type);
    for (auto ks : tile(k)) acc = addmm(acc, a[rows, ks], b[ks, cols], precision);
    c[rows, cols] = acc;
  }
  return c;
}

const auto byte_product =
    kernel("byte_product_by_mma", accumulated<DType::i32, DotPrecision::ieee>);
const auto float_product =
    kernel("float_product_by_mma", accumulated<DType::f32, DotPrecision::ieee>);
const auto tf32_product = kernel("tf32_product", accumulated<DType::f32, DotPrecision::tf32>);
const auto tf32x3_product = kernel("tf32x3_product", accumulated<DType::f32, DotPrecision::tf32x3>);
const auto two_level_product =
    kernel("two_level_product", accumulated<DType::f32, DotPrecision::two_level>);

constexpr Product kFew[] = {{64, 64, 128}, {100, 101, 99}, {72, 136, 160}, {16, 8, 33}};

TEST_F(GpuMma, ProductsOfBytes) {
  for (const Product& p : kFew)
    for (int which = 0; which < 4; ++which)
      for (const Config& config :
           {Config{.block = {64, 64, 64}, .stages = 3}, Config{.block = {32, 24, 32}, .warps = 2}})
        expect_gpu_matches_interpreter(product_case(byte_product.handle(), p, DType::i8, DType::i32,
                                                    config, which & 1, which & 2));
}

TEST_F(GpuMma, ProductsInTf32) {
  for (const Product& p : kFew)
    for (int which = 0; which < 4; ++which)
      for (const KernelHandle& kernel : {tf32_product.handle(), tf32x3_product.handle()})
        expect_gpu_matches_interpreter(product_case(kernel, p, DType::f32, DType::f32,
                                                    Config{.block = {64, 64, 16}, .stages = 3},
                                                    which & 1, which & 2));
}

// The unit's own sums of 8-bit products keep about 13 bits on some architectures.
TEST_F(GpuMma, ProductsOf8BitFloats) {
  if (!has_f8()) GTEST_SKIP() << "mma of 8-bit floats needs sm_89";
  for (const Product& p : kFew)
    for (int which = 0; which < 4; ++which)
      for (const DType dtype : {DType::f8e4m3, DType::f8e5m2})
        for (const KernelHandle& kernel : {float_product.handle(), two_level_product.handle()}) {
          KernelCase test =
              product_case(kernel, p, dtype, DType::f32, Config{.block = {64, 64, 64}, .stages = 3},
                           which & 1, which & 2);
          test.absolute = order_of_addition(p.k, 0x1p-13);
          expect_gpu_matches_interpreter(test);
        }
}

const auto scaled_product = kernel("scaled_product_by_mma", [](Tensor a, Tensor b) {
  auto [m, k] = sizes<2>(a);
  Tensor c = empty({m, b.size(1)}, f32);
  for (auto [rows, cols] : tile({m, b.size(1)})) {
    Tile acc = zeros({rows, cols}, f32);
    for (auto ks : tile(k)) acc = addmm(acc, a[rows, ks] * 0.5f, cast(b[ks, cols], a.dtype()));
    c[rows, cols] = acc;
  }
  return c;
});

TEST_F(GpuMma, ComputedAndConvertedOperands) {
  for (const Product& p : kFew)
    for (const DType weights : {DType::i8, DType::f32}) {
      KernelCase test = product_case(scaled_product.handle(), p, DType::bf16, DType::f32,
                                     Config{.block = {64, 64, 32}, .stages = 2});
      test.inputs[1].dtype = weights;
      test.absolute *= weights == DType::i8 ? 8 : 1;  // bytes are eight times as large
      expect_gpu_matches_interpreter(test);
    }
}

const auto chained = kernel("chained_by_mma", [](Tensor a, Tensor b, Tensor c) {
  auto [m, k] = sizes<2>(a);
  Tensor y = empty({m, c.size(1)}, f32);
  for (auto rows : tile(m)) {
    Tile acc = zeros({rows, c.size(1)}, f32);
    for (auto inner : tile(b.size(1))) {
      Tile part = dot(a[rows, all], b[all, inner]);
      acc = addmm(acc, cast(part * 0.125f, a.dtype()), c[inner, all]);
    }
    y[rows, all] = acc;
  }
  return y;
});

TEST_F(GpuMma, ChainedProducts) {
  for (const int64_t inner : {64, 50})
    for (const int stages : {1, 2, 3}) {
      KernelCase test{chained.handle(), {}, {}, {}, Config{.block = {32, 16}, .stages = stages}};
      test.config.matrix = MatrixUnit::mma;
      test.inputs = {{DType::f16, {70, 32}}, {DType::f16, {32, inner}}, {DType::f16, {inner, 40}}};
      test.outputs = {{DType::f32, {70, 40}}};
      // A part near the middle between two halves may be rounded either way.
      test.absolute = order_of_addition(inner) + 0x1p-11 * 8;
      expect_gpu_matches_interpreter(test);
    }
}

TEST_F(GpuMma, RandomProducts) {
  std::mt19937 random(4711);
  const auto between = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  const auto pick = [&]<class T>(std::initializer_list<T> of) {
    return of.begin()[between(0, static_cast<int64_t>(of.size()) - 1)];
  };
  int done = 0;
  for (int tries = 0; done < 40 && tries < 400; ++tries) {
    const Product p{between(1, 700), between(1, 700), between(1, 700)};
    const int kind = static_cast<int>(between(0, 3));
    Config config{.block = {pick({16, 24, 32, 64, 96, 128}), pick({8, 16, 40, 64, 128, 256}),
                            pick({16, 24, 32, 64, 128})}};
    config.warps = pick({1, 2, 4, 8});
    config.stages = pick({1, 2, 3, 4, 5});
    config.group = pick({1, 4, 8});
    config.vector = pick({4, 8, 16});
    config.copy = pick({CopyKind::sync, CopyKind::cp_async, CopyKind::cp_async});
    const bool a_t = between(0, 1) != 0, b_t = between(0, 1) != 0;
    const int64_t pad = pick({0, 0, 1, 4, 8});
    KernelCase test = half_case(p, kind == 0 ? DType::f16 : DType::bf16, config, a_t, b_t, pad);
    if (kind == 2)
      test = product_case(byte_product.handle(), p, DType::i8, DType::i32, config, a_t, b_t, pad);
    if (kind == 3)
      test = product_case(tf32_product.handle(), p, DType::f32, DType::f32, config, a_t, b_t, pad);
    for (Operand& operand : test.inputs) operand.offset = pick({0, 0, 1, 8});
    try {
      expect_gpu_matches_interpreter(test);
      ++done;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::config) throw;  // asks for too much
    }
  }
  EXPECT_EQ(done, 40);
}

}  // namespace
}  // namespace tilewright
