// Products of warpgroups over rings that bulk copies fill, on a GPU that has them, against the
// interpreter: shapes, transpositions, widths, clusters, persistent grids, rewrites.
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

// Dividing and not, 1, tiny, nothing to add, smaller than a tile; rows of whole 16 bytes and not.
constexpr Product kProducts[] = {{256, 512, 256}, {264, 520, 200}, {100, 101, 99},
                                 {1, 1, 1},       {8, 8, 8},       {5, 7, 3},
                                 {0, 8, 8},       {8, 8, 0},       {129, 1, 17},
                                 {1, 136, 64},    {40, 264, 24},   {200, 304, 1000}};

std::vector<int64_t> strides_of(int64_t rows, int64_t cols, bool transposed, int64_t pad) {
  return transposed ? std::vector<int64_t>{1, rows + pad} : std::vector<int64_t>{cols + pad, 1};
}

/// What another order of addition may change: 4 sqrt(k) eps sum |a| |b|, numbers being normal.
double order_of_addition(int64_t k, double eps = 0x1p-23) {
  return 4 * std::sqrt(static_cast<double>(k)) * eps * static_cast<double>(k);
}

Config wgmma(std::vector<int64_t> block, int warps = 4, int stages = 3) {
  return {.block = std::move(block),
          .warps = warps,
          .stages = stages,
          .copy = CopyKind::tma,
          .matrix = MatrixUnit::wgmma};
}

Config clustered(Config config, int cluster, std::vector<int> order = {}, bool persistent = true) {
  config.cluster = cluster;
  config.order = std::move(order);
  config.persistent = persistent;
  config.group = 4;
  return config;
}

KernelCase product_case(const Product& p, DType dtype, Config config, bool a_t = false,
                        bool b_t = false, int64_t pad = 0) {
  KernelCase test{examples::matmul.handle(), {}, {}, {}, std::move(config)};
  test.inputs = {{dtype, {p.m, p.k}, strides_of(p.m, p.k, a_t, pad)},
                 {dtype, {p.k, p.n}, strides_of(p.k, p.n, b_t, pad)}};
  test.outputs = {{dtype, {p.m, p.n}, strides_of(p.m, p.n, false, pad)}};
  test.ulps = 1;
  test.absolute = order_of_addition(p.k);
  return test;
}

class GpuWarpgroups : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    if (runtime::device_target(0).name() != "sm_90a")
      GTEST_SKIP() << "NOT TESTED: products of warpgroups need a GPU of compute capability 9.0";
  }
};

TEST_F(GpuWarpgroups, ProductsOfAllShapesAndConfigs) {
  for (const Product& p : kProducts)
    for (const DType dtype : {DType::f16, DType::bf16})
      for (const Config& config :
           {wgmma({64, 64, 64}), wgmma({128, 256, 64}, 8, 4), wgmma({64, 16, 16}, 4, 8),
            wgmma({64, 256, 64}, 8), wgmma({192, 96, 32}, 12, 2), wgmma({256, 64, 32}, 4, 2),
            clustered(wgmma({128, 128, 64}, 8), 2), clustered(wgmma({64, 64, 64}), 4, {1, 0}),
            clustered(wgmma({64, 32, 64}), 1)})
        expect_gpu_matches_interpreter(product_case(p, dtype, config));
}

TEST_F(GpuWarpgroups, TransposedAndPaddedOperands) {
  for (const Product& p : {Product{128, 128, 128}, {200, 136, 72}, {100, 101, 99}})
    for (int which = 0; which < 4; ++which)
      for (const int64_t pad : {0, 3, 8})
        for (const DType dtype : {DType::f16, DType::bf16})
          for (const Config& config : {wgmma({64, 96, 32}), clustered(wgmma({128, 64, 64}, 8), 2)})
            expect_gpu_matches_interpreter(
                product_case(p, dtype, config, which & 1, which & 2, pad));
}

TEST_F(GpuWarpgroups, TilesOfEveryWidth) {
  for (const int64_t n : {16, 32, 96, 160, 192, 256})
    for (int which = 0; which < 4; ++which)
      for (const int warps : {4, 8, 12}) {
        if (warps == 12 && n == 256) continue;  // refused: more registers than a thread has
        const Product p{16 * warps + 40, 2 * n + 24, 200};
        expect_gpu_matches_interpreter(product_case(
            p, DType::bf16, wgmma({16 * warps, n, 64}, warps, 2), which & 1, which & 2));
      }
  // Only operands stored along k can be this narrow.
  for (const int64_t n : {8, 24, 40})
    expect_gpu_matches_interpreter(
        product_case({136, 264, 200}, DType::bf16, wgmma({64, n, 64}), false, true));
}

// Every warpgroup and block has several tiles: rings and stores go on from one to the next.
TEST_F(GpuWarpgroups, PersistentGridsWithMoreTilesThanBlocks) {
  for (const int cluster : {1, 2, 4})
    for (const std::vector<int>& order : {std::vector<int>{0, 1}, {1, 0}})
      for (const Product& p : {Product{2048, 2048, 64}, {2040, 1992, 200}})
        expect_gpu_matches_interpreter(
            product_case(p, DType::bf16, clustered(wgmma({64, 64, 32}, 4, 4), cluster, order)));
}

TEST_F(GpuWarpgroups, Clusters) {
  for (const int cluster : {1, 2, 4, 8})
    for (const std::vector<int>& order : {std::vector<int>{0, 1}, {1, 0}})
      for (const bool persistent : {false, true})
        for (const Product& p : {Product{512, 512, 256}, {320, 328, 264}, {64, 64, 64}})
          expect_gpu_matches_interpreter(product_case(
              p, DType::f16, clustered(wgmma({64, 64, 64}), cluster, order, persistent)));
}

// The blocks of a cluster share the steps of the loop.
TEST_F(GpuWarpgroups, SplitLoops) {
  for (const int split : {2, 4, 8})
    for (const Product& p : {Product{128, 128, 4096}, {136, 264, 1000}}) {
      Config config = wgmma({64, 128, 64});
      config.split_k = split;
      expect_gpu_matches_interpreter(product_case(p, DType::bf16, config));
    }
}

TEST_F(GpuWarpgroups, OtherWaysToCopy) {
  for (const Product& p : kProducts)
    for (const CopyKind copy : {CopyKind::cp_async, CopyKind::sync})
      for (Config config : {wgmma({64, 64, 64}), wgmma({128, 128, 32}, 8)}) {
        config.copy = copy;
        expect_gpu_matches_interpreter(product_case(p, DType::bf16, config));
      }
}

// A few rows, computed transposed.
TEST_F(GpuWarpgroups, FewRows) {
  for (const int64_t m : {1, 7, 16, 17, 40})
    for (int which = 0; which < 4; ++which)
      for (const Config& config :
           {wgmma({8, 64, 64}, 4, 6), wgmma({16, 128, 64}, 4, 4), wgmma({32, 128, 32}, 8, 4)}) {
        const bool a_t = which & 1;
        if (a_t && config.block[0] == 8) continue;  // rows of 16 bytes
        expect_gpu_matches_interpreter(
            product_case({m, 392, 264}, DType::bf16, config, a_t, which & 2));
      }
}

TEST_F(GpuWarpgroups, ResultsTransposedAndMisaligned) {
  for (const int64_t offset : {0, 1, 2, 8})
    for (const bool transposed : {false, true}) {
      KernelCase test = product_case({104, 96, 72}, DType::bf16, wgmma({64, 64, 32}));
      for (Operand& operand : test.inputs) operand.offset = offset;
      if (transposed) test.outputs[0].strides = {1, 104};
      test.outputs[0].offset = offset;
      expect_gpu_matches_interpreter(test);
    }
}

TEST_F(GpuWarpgroups, FusedEpilogue) {
  for (const Product& p : {Product{256, 256, 64}, {200, 264, 136}, {100, 101, 99}})
    for (const DType dtype : {DType::f16, DType::bf16})
      for (const Config& config :
           {wgmma({64, 64, 32}), clustered(wgmma({128, 128, 64}, 8), 2), wgmma({16, 64, 32})}) {
        KernelCase test{examples::linear_gelu.handle(), {}, {}, {}, config};
        test.inputs = {{dtype, {p.m, p.k}}, {dtype, {p.k, p.n}}, {dtype, {p.n}}};
        test.outputs = {{dtype, {p.m, p.n}}};
        test.ulps = 1;
        test.absolute = order_of_addition(p.k);
        expect_gpu_matches_interpreter(test);
      }
}

// Rewrites of one product, which keep the unit.

const auto in_two_loops = kernel("product_in_two_loops", [](Tensor a, Tensor b, Tensor added) {
  auto [m, k] = sizes<2>(a);
  const Size n = b.size(1);
  Tensor c = empty({m, n}, a.dtype());
  for (auto [rows, cols] : tile({m, n})) {
    Tile acc = zeros({rows, cols}, f32);
    for (auto ks : tile(0, 64)) acc = addmm(acc, a[rows, ks], b[ks, cols]);
    for (auto ks : tile(64, k)) acc = addmm(acc, a[rows, ks], b[ks, cols]);
    c[rows, cols] = acc + cast(added[rows, cols], f32);
  }
  return c;
});

const auto of_scaled = kernel("product_of_scaled", [](Tensor a, Tensor b, Tensor added) {
  auto [m, k] = sizes<2>(a);
  const Size n = b.size(1);
  Tensor c = empty({m, n}, a.dtype());
  for (auto [rows, cols] : tile({m, n})) {
    Tile acc = cast(added[rows, cols], f32);
    for (auto ks : tile(k)) acc = addmm(acc, a[rows, ks] * 0.5f, b[ks, cols]);
    c[rows, cols] = acc;
  }
  return c;
});

const auto of_some_steps = kernel("product_of_some_steps", [](Tensor a, Tensor b, Tensor added) {
  auto [m, k] = sizes<2>(a);
  const Size n = b.size(1);
  Tensor c = empty({m, n}, a.dtype());
  for (auto [rows, cols] : tile({m, n})) {
    Tile acc = zeros({rows, cols}, f32);
    for (auto ks : tile(k))
      if_(ks.id() % 3 != 1, [&] { acc = addmm(acc, a[rows, ks], b[ks, cols]); });
    c[rows, cols] = acc + cast(added[rows, cols], f32);
  }
  return c;
});

const auto of_some_tiles = kernel("product_of_some_tiles", [](Tensor a, Tensor b, Tensor added) {
  auto [m, k] = sizes<2>(a);
  const Size n = b.size(1);
  Tensor c = empty({m, n}, a.dtype());
  for (auto [rows, cols] : tile({m, n})) {
    Tile acc = cast(added[rows, cols], f32);
    if_(rows.id() != cols.id(), [&] {
      for (auto ks : tile(k)) acc = addmm(acc, a[rows, ks], b[ks, cols]);
    });
    c[rows, cols] = acc;
  }
  return c;
});

const auto of_increasing_depth = kernel("triangular", [](Tensor a, Tensor b, Tensor added) {
  auto [m, k] = sizes<2>(a);
  const Size n = b.size(1);
  Tensor c = empty({m, n}, a.dtype());
  for (auto [rows, cols] : tile({m, n})) {
    Tile acc = zeros({rows, cols}, f32);
    for (auto ks : tile(0, rows.end())) acc = addmm(acc, a[rows, ks], b[ks, cols]);
    c[rows, cols] = acc + cast(added[rows, cols], f32);
  }
  return c;
});

const auto of_one_b = kernel("products_of_one_b", [](Tensor a, Tensor b, Tensor c) {
  auto [m, k] = sizes<2>(a);
  const Size n = b.size(1);
  Tensor x = empty({m, n}, a.dtype());
  Tensor y = empty({m, n}, f32);
  for (auto [rows, cols] : tile({m, n})) {
    Tile first = zeros({rows, cols}, f32);
    Tile second = zeros({rows, cols}, f32);
    for (auto ks : tile(k)) {
      Tile right = b[ks, cols];
      first = addmm(first, a[rows, ks], right);
      second = addmm(second, c[rows, ks], right);
    }
    x[rows, cols] = first;
    y[rows, cols] = second;
  }
  return std::tuple{x, y};
});

std::vector<int64_t> blocks_for(const KernelHandle& kernel, int64_t m, int64_t n, int64_t k) {
  return kernel.name() == "product_in_two_loops" ? std::vector<int64_t>{m, n, k, k}
                                                 : std::vector<int64_t>{m, n, k};
}

TEST_F(GpuWarpgroups, Rewrites) {
  for (const KernelHandle& kernel :
       {in_two_loops.handle(), of_scaled.handle(), of_some_steps.handle(), of_some_tiles.handle()})
    for (const Product& p : {Product{256, 256, 256}, {200, 264, 136}, {192, 128, 200}})
      for (const DType dtype : {DType::f16, DType::bf16})
        for (const Config& config :
             {wgmma(blocks_for(kernel, 64, 64, 32)), wgmma(blocks_for(kernel, 128, 128, 64), 8),
              clustered(wgmma(blocks_for(kernel, 64, 64, 64)), 2)}) {
          KernelCase test{kernel, {}, {}, {}, config};
          test.inputs = {{dtype, {p.m, p.k}}, {dtype, {p.k, p.n}}, {dtype, {p.m, p.n}}};
          test.outputs = {{dtype, {p.m, p.n}}};
          test.ulps = 1;
          test.absolute = order_of_addition(p.k);
          expect_gpu_matches_interpreter(test);
        }
}

// As many steps as the tile's rows say.
TEST_F(GpuWarpgroups, LoopsOfDifferentLengths) {
  for (const int64_t size : {256, 200})
    for (const Config& config : {wgmma({64, 64, 64}), clustered(wgmma({64, 64, 32}), 2)}) {
      KernelCase test{of_increasing_depth.handle(), {}, {}, {}, config};
      test.inputs = {
          {DType::bf16, {size, size}}, {DType::bf16, {size, 136}}, {DType::bf16, {size, 136}}};
      test.outputs = {{DType::bf16, {size, 136}}};
      test.ulps = 1;
      test.absolute = order_of_addition(size);
      expect_gpu_matches_interpreter(test);
    }
}

TEST_F(GpuWarpgroups, TwoProductsOfOneOperand) {
  for (const Product& p : {Product{256, 256, 256}, {200, 264, 136}})
    for (const Config& config : {wgmma({64, 64, 32}), clustered(wgmma({128, 64, 64}, 8), 2)}) {
      KernelCase test{of_one_b.handle(), {}, {}, {}, config};
      test.inputs = {
          {DType::bf16, {p.m, p.k}}, {DType::bf16, {p.k, p.n}}, {DType::bf16, {p.m, p.k}}};
      test.outputs = {{DType::bf16, {p.m, p.n}}, {DType::f32, {p.m, p.n}}};
      test.ulps = 1;
      test.absolute = order_of_addition(p.k);
      expect_gpu_matches_interpreter(test);
    }
}

const auto batched = kernel("batched_product", [](Tensor a, Tensor b) {
  auto [batch, m, k] = sizes<3>(a);
  const Size n = b.size(2);
  Tensor c = empty({batch, m, n}, a.dtype());
  for (auto [i, rows, cols] : tile({each(batch), m, n})) {
    Tile acc = zeros({rows, cols}, f32);
    for (auto ks : tile(k)) acc = addmm(acc, a[i, rows, ks], b[i, ks, cols]);
    c[i, rows, cols] = acc;
  }
  return c;
});

TEST_F(GpuWarpgroups, Batches) {
  for (const Config& config : {wgmma({64, 64, 32}), clustered(wgmma({64, 64, 32}), 2),
                               clustered(wgmma({128, 64, 64}, 8), 2, {1, 0, 2})}) {
    KernelCase test{batched.handle(), {}, {}, {}, config};
    test.inputs = {{DType::bf16, {3, 200, 136}}, {DType::bf16, {3, 136, 264}}};
    test.outputs = {{DType::bf16, {3, 200, 264}}};
    test.ulps = 1;
    test.absolute = order_of_addition(136);
    expect_gpu_matches_interpreter(test);
  }
}

// (a b) c, the product of a and b an operand in registers.
const auto chained = kernel("chained_products_of_warpgroups", [](Tensor a, Tensor b, Tensor c) {
  auto [m, k] = sizes<2>(a);
  auto [n, l] = sizes<2>(c);
  Tensor y = empty({m, l}, f32);
  for (auto [rows, cols] : tile({m, l})) {
    Tile acc = zeros({rows, cols}, f32);
    for (auto ns : tile(n)) {
      Tile inner = zeros({rows, ns}, f32);
      for (auto ks : tile(k)) inner = addmm(inner, a[rows, ks], b[ks, ns]);
      acc = addmm(acc, cast(inner * 0.125f, a.dtype()), c[ns, cols]);
    }
    y[rows, cols] = acc;
  }
  return y;
});

TEST_F(GpuWarpgroups, ChainedProducts) {
  for (const int64_t n : {128, 72})
    for (const Config& config : {wgmma({64, 64, 32, 32}), wgmma({128, 64, 64, 64}, 8)}) {
      KernelCase test{chained.handle(), {}, {}, {}, config};
      test.inputs = {{DType::f16, {200, 64}}, {DType::f16, {64, n}}, {DType::f16, {n, 136}}};
      test.outputs = {{DType::f32, {200, 136}}};
      // A part near the middle between two halves may be rounded either way: parts of up to 32 move
      // by up to 2^-6, and are multiplied by numbers around 1.
      test.absolute = order_of_addition(n) + 0x1p-6;
      expect_gpu_matches_interpreter(test);
    }
}

/// a b with an accumulator and result of `acc_type`.
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

const auto byte_product = kernel("byte_product", accumulated<DType::i32, DotPrecision::ieee>);
const auto float_product = kernel("float_product", accumulated<DType::f32, DotPrecision::ieee>);
const auto tf32_product = kernel("product_in_tf32", accumulated<DType::f32, DotPrecision::tf32>);
const auto parts_product =
    kernel("product_in_tf32x3", accumulated<DType::f32, DotPrecision::tf32x3>);

TEST_F(GpuWarpgroups, OtherTypes) {
  for (const Product& p : {Product{128, 128, 256}, {200, 144, 112}, {100, 101, 99}})
    for (const auto& [kernel, in, out] : {std::tuple{byte_product.handle(), DType::i8, DType::i32},
                                          {float_product.handle(), DType::f8e4m3, DType::f32},
                                          {float_product.handle(), DType::f8e5m2, DType::f32},
                                          {tf32_product.handle(), DType::f32, DType::f32},
                                          {parts_product.handle(), DType::f32, DType::f32}})
      for (const Config& config :
           {wgmma({64, 64, 64}), clustered(wgmma({128, 128, in == DType::f32 ? 32 : 64}, 8), 2)}) {
        KernelCase test = product_case(p, in, config, false, true);
        test.kernel = kernel;
        test.outputs[0].dtype = out;
        test.ulps = 0;
        // The unit adds 8-bit products with about 13 bits; operands in TF32 are truncated.
        // In two parts they keep 21 bits.
        const double lost = kernel == parts_product.handle() ? 0x1p-19 : 0x1p-8;
        test.absolute = in == DType::i8    ? 0
                        : in == DType::f32 ? static_cast<double>(p.k) * lost
                                           : order_of_addition(p.k, 0x1p-13);
        expect_gpu_matches_interpreter(test);
      }
}

TEST_F(GpuWarpgroups, RandomProducts) {
  std::mt19937 random(815);
  const auto between = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  const auto pick = [&]<class T>(std::initializer_list<T> of) {
    return of.begin()[between(0, static_cast<int64_t>(of.size()) - 1)];
  };
  for (const DType dtype : {DType::bf16, DType::f16}) {
    int done = 0;
    for (int tries = 0; done < 40 && tries < 400; ++tries) {
      Product p{between(1, 700), between(1, 700), between(1, 700)};
      // Half of them with rows of whole 16 bytes, which bulk copies need.
      if (tries % 2 == 0) p = {p.m, (p.n + 7) / 8 * 8, (p.k + 7) / 8 * 8};
      Config config =
          wgmma({pick({64, 128, 192, 256, 16}), pick({16, 32, 64, 96, 128, 160, 192, 256}),
                 pick({16, 32, 48, 64, 128})},
                pick({4, 8, 12}), pick({2, 3, 4, 6}));
      config = clustered(config, pick({1, 1, 2, 4}),
                         between(0, 1) != 0 ? std::vector<int>{1, 0} : std::vector<int>{},
                         between(0, 1) != 0);
      config.copy = pick({CopyKind::tma, CopyKind::tma, CopyKind::tma, CopyKind::cp_async});
      KernelCase test = product_case(p, dtype, config, between(0, 1) != 0, between(0, 1) != 0,
                                     pick({0, 0, 8, 1}));
      for (Operand& operand : test.inputs) operand.offset = pick({0, 0, 0, 8, 1});
      try {
        expect_gpu_matches_interpreter(test);
        ++done;
      } catch (const Error& error) {
        if (error.code() != ErrorCode::config) throw;  // asks for too much
      }
    }
    EXPECT_EQ(done, 40);
  }
}

}  // namespace
}  // namespace tilewright
