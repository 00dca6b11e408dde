// Kernels that combine elements by functions of their own, scan, sort, join and split.
#pragma once

#include <cstdlib>

#include "tests/codegen/kernel_case.h"
#include "tests/support/combining_kernels.h"

namespace tilewright::testing {

inline KernelCase welford(DType dtype, int64_t m, int64_t n) {
  return make_case("welford", kWelford, {dense(dtype, {m, n})});
}

inline KernelCase arg_extrema(DType dtype, int64_t m, int64_t n) {
  return make_case("arg_extrema", kArgExtrema, {dense(dtype, {m, n})});
}

inline KernelCase row_scans(DType dtype, int64_t m, int64_t n) {
  return make_case("row_scans", kRowScans, {dense(dtype, {m, n})});
}

inline KernelCase column_scans(DType dtype, int64_t m, int64_t n) {
  return make_case("column_scans", kColumnScans, {dense(dtype, {m, n})});
}

inline KernelCase segmented_sums(int64_t m, int64_t n) {
  return make_case("segmented_sums", kSegmentedSums, {dense(f32, {m, n}), dense(i32, {m, n})});
}

inline KernelCase sorted_rows(DType dtype, int64_t m, int64_t n) {
  return make_case("sorted_rows", kSortedRows, {dense(dtype, {m, n})});
}

inline KernelCase sorted_columns(int64_t m, int64_t n) {
  return make_case("sorted_columns", kSortedColumns, {dense(i32, {m, n}), dense(f32, {m, n})});
}

inline KernelCase joined_pairs(DType dtype, int64_t m, int64_t n) {
  return make_case("joined_pairs", kJoinedPairs, {dense(dtype, {m, n, 2})});
}

inline KernelCase reductions_of_three(DType dtype, int64_t m, int64_t n, int64_t k) {
  return make_case("reductions_of_three", kReductionsOfThree, {dense(dtype, {m, n, k})});
}

/// Each of them on small sizes; on more of them, and more dtypes, with TILEWRIGHT_ALL_CASES=1.
inline std::vector<KernelCase> combining_kernels() {
  std::vector<KernelCase> all;
  all.push_back(welford(bf16, 9, 40));
  all.push_back(arg_extrema(f32, 11, 37));
  all.push_back(row_scans(f32, 7, 100));
  all.push_back(column_scans(f32, 21, 18));
  all.push_back(segmented_sums(6, 45));
  all.push_back(sorted_rows(f32, 5, 29));
  all.push_back(sorted_columns(13, 9));
  all.push_back(joined_pairs(f32, 10, 12));
  all.push_back(reductions_of_three(i64, 3, 5, 8));
  if (std::getenv("TILEWRIGHT_ALL_CASES") == nullptr) return all;
  all.push_back(welford(f32, 8, 21));
  all.push_back(arg_extrema(f16, 6, 20));
  all.push_back(arg_extrema(i32, 5, 1));
  all.push_back(row_scans(bf16, 5, 33));
  all.push_back(row_scans(i64, 4, 20));
  all.push_back(row_scans(f32, 2, 1000));
  all.push_back(sorted_rows(i8, 4, 16));
  all.push_back(sorted_rows(f16, 2, 300));
  all.push_back(sorted_rows(i64, 1, 1100));
  all.push_back(joined_pairs(i8, 7, 5));
  all.push_back(reductions_of_three(f64, 4, 6, 5));
  return all;
}

}  // namespace tilewright::testing
