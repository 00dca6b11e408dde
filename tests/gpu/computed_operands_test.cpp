// Products whose operands are computed from loaded tiles, on a GPU, against the interpreter.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/gpu/kernel_case.h"
#include "tests/support/gpu.h"

namespace tilewright {
namespace {

using testing::expect_gpu_matches_interpreter;
using testing::GpuTest;
using testing::KernelCase;

const auto weighted = kernel("weighted_product", [](Tensor a, Tensor w, Tensor scale) {
  auto [m, k] = sizes<2>(a);
  Tensor c = empty({m, w.size(1)}, f32);
  for (auto [rows, cols] : tile({m, w.size(1)})) {
    Tile acc = zeros({rows, cols}, f32);
    for (auto ks : tile(k)) acc = addmm(acc, a[rows, ks], cast(w[ks, cols], a.dtype()));
    c[rows, cols] = acc * scale[cols];
  }
  return c;
});

/// Two weights of 4 bits in each byte.
const auto halved = kernel("product_of_half_bytes", [](Tensor a, Tensor w) {
  const Size m = a.size(0), n = w.size(1);
  Tensor c = empty({m, n}, f32);
  for (auto [rows, cols] : tile({m, n})) {
    Tile acc = zeros({rows, cols}, f32);
    for (auto ks : tile(w.size(0))) {
      Tile both = w[ks, cols];
      acc = addmm(acc, a[rows, 0, ks], cast(both << 4 >> 4, a.dtype()));
      acc = addmm(acc, a[rows, 1, ks], cast(both >> 4, a.dtype()));
    }
    c[rows, cols] = acc;
  }
  return c;
});

const auto scaled = kernel("product_scaled_by_row", [](Tensor a, Tensor b, Tensor r) {
  auto [m, k] = sizes<2>(a);
  Tensor c = empty({m, b.size(1)}, f32);
  for (auto [rows, cols] : tile({m, b.size(1)})) {
    Tile acc = zeros({rows, cols}, f32);
    Tile by_row = r[rows, all];
    for (auto ks : tile(k))
      acc = addmm(acc, cast(cast(a[rows, ks], f32) * by_row, a.dtype()), abs(b[ks, cols]));
    c[rows, cols] = acc;
  }
  return c;
});

struct Product {
  int64_t m, n, k;
};

constexpr Product kProducts[] = {{16, 128, 512}, {128, 64, 256}, {200, 144, 96}, {256, 256, 1024}};

class GpuComputedOperands : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    if (runtime::device_target(0).sm < 80) GTEST_SKIP() << "matrix units of sm_80 are needed";
  }

  /// By each unit that the GPU has, for tiles of many rows and of few.
  static void expect_right(KernelCase test) {
    for (const Config& config :
         {Config{.block = {64, 64, 64}, .stages = 3, .matrix = MatrixUnit::mma},
          Config{.block = {16, 64, 32}, .warps = 2, .stages = 2, .matrix = MatrixUnit::mma}}) {
      test.config = config;
      expect_gpu_matches_interpreter(test);
    }
    if (runtime::device_target(0).sm != 90) return;
    for (Config config : {Config{.block = {128, 64, 64}, .warps = 8, .stages = 3},
                          Config{.block = {16, 64, 128}, .stages = 4},
                          Config{.block = {16, 128, 64}, .warps = 8, .stages = 2}}) {
      config.copy = CopyKind::tma;
      config.matrix = MatrixUnit::wgmma;
      test.config = config;
      expect_gpu_matches_interpreter(test);
    }
  }
};

/// What another order of addition may change of sums of k products of numbers as large as `size`.
double order_of_addition(int64_t k, double size) {
  return 4 * std::sqrt(static_cast<double>(k)) * 0x1p-23 * static_cast<double>(k) * size;
}

TEST_F(GpuComputedOperands, Weights) {
  for (const Product& p : kProducts)
    for (const DType dtype : {DType::i8, DType::u8, DType::f8e4m3})
      for (const bool by_k : {true, false}) {
        KernelCase test{weighted.handle(), {}, {}, {}, {}};
        test.inputs = {{DType::bf16, {p.m, p.k}}, {dtype, {p.k, p.n}}, {DType::f32, {p.n}}};
        if (by_k) test.inputs[1].strides = {1, p.k};
        test.outputs = {{DType::f32, {p.m, p.n}}};
        test.absolute = order_of_addition(p.k, 32);
        expect_right(test);
      }
}

TEST_F(GpuComputedOperands, WeightsOfHalfBytes) {
  for (const Product& p : kProducts)
    for (const DType dtype : {DType::bf16, DType::f16})
      for (const bool by_k : {true, false}) {
        KernelCase test{halved.handle(), {}, {}, {}, {}};
        test.inputs = {{dtype, {p.m, 2, p.k / 2}}, {DType::i8, {p.k / 2, p.n}}};
        if (by_k) test.inputs[1].strides = {1, p.k / 2};
        test.outputs = {{DType::f32, {p.m, p.n}}};
        test.absolute = order_of_addition(p.k, 8);
        expect_right(test);
      }
}

// The first operand in registers, the second written to shared memory.
TEST_F(GpuComputedOperands, BothOperands) {
  for (const Product& p : kProducts)
    for (const DType dtype : {DType::bf16, DType::f16})
      for (const bool by_k : {true, false}) {
        KernelCase test{scaled.handle(), {}, {}, {}, {}};
        test.inputs = {{dtype, {p.m, p.k}}, {dtype, {p.k, p.n}}, {DType::f32, {p.m, 1}}};
        if (by_k) test.inputs[1].strides = {1, p.k};
        test.outputs = {{DType::f32, {p.m, p.n}}};
        test.absolute = order_of_addition(p.k, 4);
        expect_right(test);
      }
}

}  // namespace
}  // namespace tilewright
