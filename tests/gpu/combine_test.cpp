// Reductions and scans by functions, sorting, joining on a GPU, against the interpreter.
#include <gtest/gtest.h>

#include "tests/gpu/kernel_case.h"
#include "tests/support/combining_kernels.h"
#include "tests/support/gpu.h"

namespace tilewright::testing {
namespace {

class GpuCombine : public GpuTest {};

const auto welford = kernel("combine_welford", kWelford);
const auto arg_extrema = kernel("combine_arg_extrema", kArgExtrema);
const auto row_scans = kernel("combine_row_scans", kRowScans);
const auto column_scans = kernel("combine_column_scans", kColumnScans);
const auto segmented_sums = kernel("combine_segmented_sums", kSegmentedSums);
const auto sorted_rows = kernel("combine_sorted_rows", kSortedRows);
const auto sorted_columns = kernel("combine_sorted_columns", kSortedColumns);
const auto joined_pairs = kernel("combine_joined_pairs", kJoinedPairs);
const auto reductions = kernel("combine_reductions_of_three", kReductionsOfThree);

struct Blocks {
  int64_t first, second;
  int warps;
};
constexpr Blocks kBlocks[] = {{1, 64, 4}, {8, 32, 4}, {6, 24, 2}, {16, 128, 8}};

/// On all configs of as many blocks as the kernel has.
void expect_same(KernelCase test, int axes) {
  for (const Blocks& blocks : kBlocks) {
    test.config.block = {blocks.first};
    if (axes == 2) test.config.block.push_back(blocks.second);
    test.config.warps = blocks.warps;
    expect_gpu_matches_interpreter(test);
  }
}

TEST_F(GpuCombine, Moments) {
  for (const int64_t n : {1, 100, 1000})
    expect_same({.kernel = welford.handle(),
                 .inputs = {{f32, {37, n}}},
                 .outputs = {{f32, {37}}, {f32, {37}}},
                 .config = {},
                 .ulps = 0,
                 .absolute = 1e-4},
                2);
}

TEST_F(GpuCombine, PlacesOfExtrema) {
  for (const DType dtype : {f32, f16, i32, f64})
    for (const int64_t n : {1, 77, 512})
      expect_same({.kernel = arg_extrema.handle(),
                   .inputs = {{dtype, {19, n}}},
                   .outputs = {{dtype, {19}}, {i64, {19}}, {i64, {19, 1}}},
                   .config = {}},
                  2);
}

TEST_F(GpuCombine, Scans) {
  for (const DType dtype : {f32, bf16, i64})
    for (const int64_t n : {1, 33, 700}) {
      const Operand x{dtype, {11, n}};
      KernelCase rows{
          .kernel = row_scans.handle(), .inputs = {x}, .outputs = {x, x, x}, .config = {}};
      rows.absolute = dtype == bf16 ? 0.5 : dtype == f32 ? 1e-3 : 0;
      expect_same(rows, 1);
      KernelCase columns{
          .kernel = column_scans.handle(), .inputs = {x}, .outputs = {x, x}, .config = {}};
      columns.absolute = rows.absolute;
      expect_same(columns, 2);
    }
  const Operand x{f32, {9, 300}};
  expect_same({.kernel = segmented_sums.handle(),
               .inputs = {x, {i32, {9, 300}}},
               .outputs = {x},
               .config = {},
               .ulps = 0,
               .absolute = 1e-3},
              1);
}

TEST_F(GpuCombine, SortedTiles) {
  for (const DType dtype : {f32, f16, i8, i64})
    for (const int64_t n : {3, 32, 100, 300}) {
      const Operand x{dtype, {7, n}};
      expect_same({.kernel = sorted_rows.handle(),
                   .inputs = {x},
                   .outputs = {x, {i64, {7, n}}, {dtype, {7, 3}}, {i64, {7, 3}}},
                   .config = {}},
                  1);
    }
  const Operand keys{i32, {50, 70}}, values{f32, {50, 70}};
  expect_same({.kernel = sorted_columns.handle(),
               .inputs = {keys, values},
               .outputs = {keys, values},
               .config = {}},
              2);
}

TEST_F(GpuCombine, JoinedAndReducedTiles) {
  for (const DType dtype : {f32, bf16, i8})
    expect_same({.kernel = joined_pairs.handle(),
                 .inputs = {{dtype, {10, 12, 2}}},
                 .outputs = {{dtype, {10, 12, 2}}, {dtype, {10, 3, 12}}, {dtype, {10, 24}}},
                 .config = {}},
                1);
  for (const DType dtype : {f64, i64})
    expect_same({.kernel = reductions.handle(),
                 .inputs = {{dtype, {9, 6, 5}}},
                 .outputs = {{dtype, {9, 6, 5}}, {boolean, {5, 9, 6}}},
                 .config = {},
                 .ulps = 0,
                 .absolute = dtype == f64 ? 1e-12 : 0},
                1);
}

}  // namespace
}  // namespace tilewright::testing
