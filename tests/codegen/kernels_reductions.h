// Kernels with reductions.
#pragma once

#include <cmath>
#include <tuple>

#include "tests/codegen/kernel_case.h"

namespace tilewright::testing {

inline KernelCase row_sum(const KernelArg& x) {
  return make_case("row_sum",
                   [](Tensor x) {
                     auto [m, n] = sizes<2>(x);
                     Tensor sums = empty({m}, f32);
                     for (auto rows : tile(m)) {
                       Tile total = zeros({rows}, f32);
                       for (auto cols : tile(n)) total += sum(cast(x[rows, cols], f32), axis(1));
                       sums[rows] = total;
                     }
                     return sums;
                   },
                   {x});
}

inline KernelCase softmax(const KernelArg& x) {
  return make_case("softmax",
                   [](Tensor x) {
                     Tensor y = empty_like(x);
                     for (auto rows : tile(x.size(0))) {
                       Tile row = cast(x[rows, all], f32);
                       Tile e = exp(row - max(row, axis(1), keep_dims));
                       y[rows, all] = e / sum(e, axis(1), keep_dims);
                     }
                     return y;
                   },
                   {x});
}

inline KernelCase row_minmax(const KernelArg& x) {
  return make_case("row_minmax",
                   [](Tensor x) {
                     Tensor lowest = empty({x.size(0)}, x.dtype()),
                            highest = empty({x.size(0)}, x.dtype());
                     for (auto rows : tile(x.size(0))) {
                       Tile row = x[rows, all];
                       lowest[rows] = min(row, axis(1));
                       highest[rows] = max(row, axis(1));
                     }
                     return std::tuple{lowest, highest};
                   },
                   {x});
}

/// Sums of rows that a program holds whole.
inline KernelCase whole_row_sum(DType dtype, int64_t m, int64_t n) {
  return make_case("whole_row_sum",
                   [](Tensor x) {
                     Tensor sums = empty({x.size(0)}, x.dtype());
                     for (auto rows : tile(x.size(0))) sums[rows] = sum(x[rows, all], axis(1));
                     return sums;
                   },
                   {dense(dtype, {m, n})});
}

/// Softmax by two loops over columns, with a running maximum and sum.
inline KernelCase online_softmax(DType dtype, int64_t m, int64_t n) {
  return make_case("online_softmax",
                   [](Tensor x) {
                     auto [m, n] = sizes<2>(x);
                     Tensor y = empty_like(x);
                     for (auto rows : tile(m)) {
                       Tile top = full({rows}, -INFINITY, f32);
                       Tile total = zeros({rows}, f32);
                       for (auto cols : tile(n)) {
                         Tile part = cast(x[rows, cols], f32);
                         Tile next = maximum(top, max(part, axis(1)));
                         total =
                             total * exp(top - next) + sum(exp(part - next[all, none]), axis(1));
                         top = next;
                       }
                       for (auto cols : tile(n)) {
                         Tile part = cast(x[rows, cols], f32);
                         y[rows, cols] = exp(part - top[all, none]) / total[all, none];
                       }
                     }
                     return y;
                   },
                   {dense(dtype, {m, n})});
}

/// The sum of everything a program holds, as a scalar.
inline KernelCase block_sums(int64_t m, int64_t n) {
  return make_case("block_sums",
                   [](Tensor x) {
                     auto [m, n] = sizes<2>(x);
                     Tensor sums = empty({m, n}, f32);
                     for (auto [rows, cols] : tile({m, n})) {
                       Tile part = x[rows, cols];
                       sums[rows, cols] = part * sum(part) + max(part);
                     }
                     return sums;
                   },
                   {dense(f32, {m, n})});
}

inline KernelCase column_sum(DType dtype, int64_t m, int64_t n) {
  return make_case("column_sum",
                   [](Tensor x) {
                     auto [m, n] = sizes<2>(x);
                     Tensor sums = empty({n}, x.dtype());
                     for (auto cols : tile(n)) {
                       Tile total = zeros({cols}, x.dtype());
                       for (auto rows : tile(m)) total += sum(x[rows, cols], axis(0));
                       sums[cols] = total;
                     }
                     return sums;
                   },
                   {dense(dtype, {m, n})});
}

inline KernelCase nested_loops(int64_t m, int64_t n, int64_t k) {
  return make_case("nested_loops",
                   [](Tensor x) {
                     auto [m, n, k] = sizes<3>(x);
                     Tensor y = empty({m}, f32);
                     for (auto rows : tile(m)) {
                       Tile total = zeros({rows}, f32);
                       for (auto ns : tile(n)) {
                         Tile part = zeros({rows}, f32);
                         for (auto ks : tile(k)) part += sum(x[rows, ns, ks], axis(1, 2));
                         total = maximum(total, part);
                       }
                       y[rows] = total;
                     }
                     return y;
                   },
                   {dense(f32, {m, n, k})});
}

/// The sum of elements begin .. end of each row.
inline KernelCase range_sum(int64_t m, int64_t n, int64_t begin, int64_t end) {
  return make_case("range_sum",
                   [](Tensor x, Scalar<int64_t> begin, Scalar<int> end) {
                     auto [m, n] = sizes<2>(x);
                     Tensor sums = empty({m}, f32);
                     for (auto rows : tile(m)) {
                       Tile total = zeros({rows}, f32);
                       for (auto cols : tile(begin, end)) total += sum(x[rows, cols], axis(1));
                       sums[rows] = total;
                     }
                     return sums;
                   },
                   {dense(f32, {m, n}), KernelArg::scalar(i64), KernelArg::scalar(i32)},
                   {begin, end});
}

inline KernelCase grid_of_rows(int64_t m, int64_t n) {
  return make_case("grid_of_rows",
                   [](Tensor x) {
                     auto [m, n] = sizes<2>(x);
                     Tensor y = empty({m}, f32);
                     for (auto row : grid(m)) {
                       Tile total = full({}, 0.0f, f32);
                       for (auto cols : tile(n)) total += sum(x[row, cols]);
                       y[row] = total;
                     }
                     return y;
                   },
                   {dense(f32, {m, n})});
}

}  // namespace tilewright::testing
