// Loops and branches on run-time values, and kernels of several grids, on a GPU against the
// interpreter.
#include <gtest/gtest.h>

#include "tests/gpu/kernel_case.h"
#include "tests/support/gpu.h"

namespace tilewright {
namespace {

using testing::expect_gpu_matches_interpreter;
using testing::GpuTest;
using testing::KernelCase;

const auto causal_sums = kernel("gpu_causal_sums", [](Tensor x) {
  Tensor y = empty({x.size(0)}, f32);
  for (auto rows : tile(x.size(0))) {
    Tile total = zeros({rows}, f32);
    for (auto cols : tile(rows.end()))
      total +=
          sum(where(cols.index()[none, all] <= rows.index()[all, none], x[rows, cols], 0), axis(1));
    y[rows] = total;
  }
  return y;
});

/// Counts halvings of each row's first element down to 1, and adds rows on the way.
const auto halved = kernel("gpu_halved", [](Tensor x) {
  Tensor y = empty_like(x);
  for (auto i : grid(x.size(0))) {
    Tile value = abs(x[i, 0]) * 100, row = x[i, all];
    while_([&] { return value > 1; },
           [&] {
             if_(
                 value > 10, [&] { row = row + x[i, all]; }, [&] { row = row * 0.5f; });
             value = value * 0.5f;
           });
    y[i, all] = row;
  }
  return y;
});

/// A product whose k is split by the user, with workspace and a barrier of the grid.
const auto split_product = kernel("gpu_split_product", [](Tensor a, Tensor b) {
  auto [m, k] = sizes<2>(a);
  Size n = b.size(1), parts = tunable("parts", {4, 1, 2, 8}), share = cdiv(k, parts);
  Tensor c = empty({m, n}, f32), partial = empty({parts, m, n}, f32);
  for (auto [part, rows, cols] : tile({each(parts), m, n})) {
    Tile acc = zeros({rows, cols}, f32);
    Tile begin = part * share;
    for (auto ks : tile(begin, minimum(begin + share, k)))
      acc = addmm(acc, a[rows, ks], b[ks, cols]);
    partial[part, rows, cols] = acc;
  }
  barrier();
  for (auto [rows, cols] : tile({m, n})) {
    Tile total = zeros({rows, cols}, f32);
    for (auto part : grid(parts)) total += partial[part, rows, cols];
    c[rows, cols] = total;
  }
  return c;
});

class GpuControl : public GpuTest {};

TEST_F(GpuControl, LoopsOnRunTimeValues) {
  for (const int64_t n : {1, 37, 300})
    for (const Config& config : {Config{.block = {16, 32}}, Config{.block = {5, 7}, .warps = 1}}) {
      KernelCase test{
          causal_sums.handle(), {{DType::f32, {n, n}}}, {{DType::f32, {n}}}, {}, config};
      test.absolute = 1e-3;
      expect_gpu_matches_interpreter(test);
    }
  for (const int warps : {1, 4})
    expect_gpu_matches_interpreter({halved.handle(),
                                    {{DType::f32, {50, 33}}},
                                    {{DType::f32, {50, 33}}},
                                    {},
                                    Config{.warps = warps}});
}

// Many blocks, so that a cooperative grid has several tiles for each.
TEST_F(GpuControl, GridsAsStepsAndAsOneCooperativeKernel) {
  for (const bool persistent : {false, true})
    for (const int64_t parts : {1, 4, 8})
      for (const int64_t m : {1, 100, 1030}) {
        Config config{.block = {32, 32, 16, 32, 64}, .persistent = persistent};
        config.tunables["parts"] = parts;
        KernelCase test{split_product.handle(),
                        {{DType::f32, {m, 200}}, {DType::f32, {200, 310}}},
                        {{DType::f32, {m, 310}}},
                        {},
                        config};
        expect_gpu_matches_interpreter(test);
      }
}

}  // namespace
}  // namespace tilewright
