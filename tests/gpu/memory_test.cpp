// Gathers, scatters, masks, views and atomics on a GPU, against the interpreter.
#include <gtest/gtest.h>

#include <tuple>

#include "tests/gpu/kernel_case.h"
#include "tests/support/gpu.h"

namespace tilewright {
namespace {

using testing::expect_gpu_matches_interpreter;
using testing::GpuTest;
using testing::KernelCase;

class GpuMemory : public GpuTest {
 protected:
  static void expect_right(KernelCase test) {
    for (const Config& config : {Config{.block = {16, 64}}, Config{.block = {5, 24}, .warps = 2},
                                 Config{.block = {64, 128}, .warps = 8}}) {
      test.config = config;
      test.config.block.resize(test.outputs.at(0).sizes.size(), 16);
      expect_gpu_matches_interpreter(test);
    }
    test.use_default_config = true;
    expect_gpu_matches_interpreter(test);
  }
};

const auto gathered_rows = kernel("gathered_rows", [](Tensor table, Tensor ids) {
  Tensor y = empty({ids.size(0), table.size(1)}, table.dtype());
  for (auto [rows, cols] : tile({ids.size(0), table.size(1)}))
    y[rows, cols] = table[ids[rows], cols];
  return y;
});

TEST_F(GpuMemory, GathersRows) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::i8})
    for (const int64_t columns : {128, 100, 1})
      expect_right({gathered_rows.handle(),
                    {{dtype, {7, columns}}, {DType::i32, {300}}},
                    {{dtype, {300, columns}}},
                    {},
                    {}});
}

const auto scattered_rows = kernel("scattered_rows", [](Tensor x) {
  auto [m, n] = sizes<2>(x);
  Tensor y = full_tensor({m, n}, 3, x.dtype());
  for (auto [rows, cols] : tile({m, n})) y[rows.index() * 7 % m.value() - 2, cols] = x[rows, cols];
  return y;
});

TEST_F(GpuMemory, ScattersRowsAndFills) {
  for (const DType dtype : {DType::f32, DType::f16, DType::i64})
    for (const int64_t columns : {64, 33})
      expect_right(
          {scattered_rows.handle(), {{dtype, {101, columns}}}, {{dtype, {101, columns}}}, {}, {}});
}

const auto masked_copy = kernel("masked_copy", [](Tensor x) {
  auto [m, n] = sizes<2>(x);
  Tensor y = zeros_tensor({m, n}, x.dtype());
  for (auto [rows, cols] : tile({m, n})) {
    Tile odd = (rows.index() % 2 == 1)(all, none);
    Tile upper = rows.index()(all, none) <= cols.index()(none, all);
    Tile loaded = x.load({rows, cols}, {.mask = odd, .other = 2, .evict = Evict::first});
    y.store({rows, cols}, loaded, {.mask = upper, .evict = Evict::last});
  }
  return y;
});

TEST_F(GpuMemory, MasksAndEvicts) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::u8})
    expect_right({masked_copy.handle(), {{dtype, {100, 72}}}, {{dtype, {100, 72}}}, {}, {}});
}

const auto blocks_copied = kernel("blocks_copied", [](Tensor x) {
  auto [m, n] = sizes<2>(x);
  Tensor y = empty_like(x);
  for (auto [i, j] : grid({cdiv(m, 8), cdiv(n, 32)}))
    y.tile({8, 32}, {i, j})[all, all] = x.tile({8, 32}, {i, j})[all, all] * 2;
  return y;
});

TEST_F(GpuMemory, CopiesThroughViews) {
  for (const auto& [m, n] : {std::pair<int64_t, int64_t>{64, 128}, {61, 100}}) {
    KernelCase test{blocks_copied.handle(), {{DType::f32, {m, n}}}, {{DType::f32, {m, n}}}, {}, {}};
    test.config = Config{};
    expect_gpu_matches_interpreter(test);
  }
}

const auto counted = kernel("counted", [](Tensor ids) {
  Tensor counts = zeros_tensor({12}, i32);
  for (auto i : tile(ids.size(0))) atomic_add(counts[ids[i]], 1);
  return counts;
});

TEST_F(GpuMemory, CountsByAtomics) {
  for (const int64_t n : {1, 1000, 100000}) {
    KernelCase test{counted.handle(), {{DType::i32, {n}}}, {{DType::i32, {12}}}, {}, {}};
    test.config = Config{.block = {256}};
    expect_gpu_matches_interpreter(test);
  }
}

const auto summed_columns = kernel("summed_columns", [](Tensor x) {
  auto [m, n] = sizes<2>(x);
  Tensor y = zeros_tensor({n}, x.dtype());
  for (auto [rows, cols] : tile({m, n})) atomic_add(y[cols], sum(x[rows, cols], axis(0)));
  return y;
});

// Sums of two parts of a column do not depend on their order.
TEST_F(GpuMemory, AddsUpByAtomics) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i64})
    for (const int64_t n : {128, 99}) {
      KernelCase test{summed_columns.handle(), {{dtype, {32, n}}}, {{dtype, {n}}}, {}, {}};
      test.config = Config{.block = {16, 64}};
      test.ulps = 4;  // the order within a part
      test.absolute = is_half(dtype) ? 0.25 : 1e-4;
      expect_gpu_matches_interpreter(test);
    }
}

const auto atomics_of_all_kinds = kernel("atomics_of_all_kinds", [](Tensor x, Tensor y) {
  const bool integers = is_integer(x.dtype());
  Tensor sums = empty_like(x), others = empty_like(x);
  for (auto i : tile(x.size(0))) {
    sums[i] = atomic_add(y[i], x[i]);
    atomic_max(y[i], x[i]);
    atomic_min(y[i], x[i], {.mask = i.index() % 2 == 0});
    atomic_cas(y[i], x[i], 3);
    if (integers) {
      atomic_and(y[i], 5);
      atomic_or(y[i], 2);
      atomic_xor(y[i], 3);
    }
    others[i] = atomic_exchange(y[i], x[i] + 1, {.order = Order::acq_rel});
  }
  return std::tuple{sums, others};
});

TEST_F(GpuMemory, HasEveryAtomic) {
  for (const DType dtype :
       {DType::i32, DType::i64, DType::f16, DType::bf16, DType::f32, DType::f64}) {
    KernelCase test{atomics_of_all_kinds.handle(),
                    {{dtype, {1000}}, {dtype, {1000}}},
                    {{dtype, {1000}}, {dtype, {1000}}},
                    {},
                    {}};
    for (const int64_t block : {32, 256, 1000}) {
      test.config = Config{.block = {block}};
      expect_gpu_matches_interpreter(test);
    }
  }
}

}  // namespace
}  // namespace tilewright
