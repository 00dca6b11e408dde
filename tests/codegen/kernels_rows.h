// Kernels that take whole rows, and the ways in which they can be walked in chunks, or cannot.
#pragma once

#include <tuple>

#include "tests/codegen/kernel_case.h"

namespace tilewright::testing {

inline KernelCase layer_norm_rows(DType dtype, int64_t m, int64_t n) {
  return make_case("layer_norm_rows",
                   [](Tensor x, Tensor weight, Tensor bias) {
                     auto [m, n] = sizes<2>(x);
                     Tensor y = empty_like(x), mean = empty({m}, f32);
                     for (auto rows : tile(m)) {
                       Tile row = cast(x[rows, all], f32);
                       Tile center = sum(row, axis(1), keep_dims) / static_cast<double>(n.value());
                       Tile part = row - center;
                       Tile spread = sum(part * part, axis(1), keep_dims);
                       y[rows, all] = part * rsqrt(spread + 1.0) * cast(weight[all], f32) +
                                      cast(bias[all], f32);
                       mean[rows] = sum(row, axis(1)) / static_cast<double>(n.value());
                     }
                     return std::tuple{y, mean};
                   },
                   {dense(dtype, {m, n}), dense(dtype, {n}), dense(dtype, {n})});
}

/// Each row becomes what is left of it less its maximum, in place.
inline KernelCase rows_in_place(int64_t m, int64_t n) {
  return make_case("rows_in_place",
                   [](Tensor x) {
                     for (auto rows : tile(x.size(0))) {
                       Tile row = x[rows, all];
                       x[rows, all] = row - max(row, axis(1), keep_dims);
                     }
                   },
                   {dense(f32, {m, n})});
}

/// Positions, a mask by position, bool reductions, one row at a time.
inline KernelCase rows_one_by_one(int64_t m, int64_t n) {
  return make_case("rows_one_by_one",
                   [](Tensor x) {
                     auto [m, n] = sizes<2>(x);
                     Tensor y = empty({m, n}, i32), flags = empty({m, 2}, boolean);
                     for (auto row : grid(m)) {
                       Tile at = arange(n, i32);
                       Tile value = where(at % 3 == 0, x[row, all], 7);
                       y[row, all] = value * at + sum(value) + min(value);
                       flags[row, 0] = any(value > 6);
                       flags[row, 1] = all(value < 8);
                     }
                     return std::tuple{y, flags};
                   },
                   {dense(i32, {m, n})});
}

/// The wide dimension comes first, and rows are summed over as well.
inline KernelCase wide_columns(int64_t m, int64_t n) {
  return make_case("wide_columns",
                   [](Tensor x) {
                     auto [m, n] = sizes<2>(x);
                     Tensor y = empty({n, m}, x.dtype()), total = empty({cdiv(n, 4)}, f32);
                     for (auto cols : tile(n, block(4))) {
                       Tile part = x[all, cols];
                       y[cols, all] = transpose(part - max(part, axis(0), keep_dims));
                       total[cols.id()] = sum(part);
                     }
                     return std::tuple{y, total};
                   },
                   {dense(f32, {m, n})});
}

/// Rows inside a loop inside a program, with a weight taken outside of that loop.
inline KernelCase rows_in_a_loop(int64_t m, int64_t n) {
  return make_case("rows_in_a_loop",
                   [](Tensor x, Tensor weight) {
                     auto [m, n] = sizes<2>(x);
                     Tensor y = empty({m}, f32), z = empty_like(x);
                     for (auto rows : tile(m, block(4))) {
                       Tile scale = weight[all] * 2;
                       for (auto some : tile(rows.begin(), rows.end(), block(2))) {
                         Tile value = x[some, all] * scale;
                         y[some] = prod(where(value > 0, value, 1), axis(1));
                         z[some, all] = value;
                       }
                     }
                     return std::tuple{y, z};
                   },
                   {dense(f32, {m, n}), dense(f32, {n})});
}

/// Two halves of each row.
inline KernelCase halves(int64_t m, int64_t n) {
  return make_case("halves",
                   [](Tensor x) {
                     auto [m, n] = sizes<2>(x);
                     Tensor y = empty_like(x), z = empty({m}, f32);
                     for (auto rows : tile(m)) {
                       y[rows, all] = x[rows, all] * 3;
                       Tile again = y[rows, all];
                       z[rows] = max(again, axis(1));
                     }
                     return std::tuple{y, z};
                   },
                   {dense(f32, {m, n})});
}

/// The place of the largest element, and mean and sum of squares by a function of several tiles.
inline KernelCase combined_rows(int64_t m, int64_t n) {
  return make_case(
      "combined_rows",
      [](Tensor x) {
        auto [m, n] = sizes<2>(x);
        Tensor at = empty({m}, i64), y = empty({m, 2}, f32);
        for (auto rows : tile(m)) {
          Tile row = x[rows, all];
          at[rows] = argmax(row, axis(1));
          auto [sum, squares] = reduce(
              axis(1), std::tuple{row, row * row}, std::tuple{0, 0},
              [](const auto& a, const auto& b) {
                return std::tuple{std::get<0>(a) + std::get<0>(b), std::get<1>(a) + std::get<1>(b)};
              });
          y[rows, 0] = sum;
          y[rows, 1] = squares;
        }
        return std::tuple{at, y};
      },
      {dense(f32, {m, n})});
}

// --- rows that must stay whole

/// The first row's elements are read after those of another row were written.
inline KernelCase rows_overwritten(int64_t m, int64_t n) {
  return make_case("rows_overwritten",
                   [](Tensor x) {
                     auto [m, n] = sizes<2>(x);
                     Tensor y = empty({m}, f32);
                     for (auto rows : tile(m)) {
                       Tile row = x[rows, all];
                       x[rows, all] = row * 2;
                       y[rows] = sum(row - max(row, axis(1), keep_dims), axis(1));
                     }
                     return y;
                   },
                   {dense(f32, {m, n})});
}

inline KernelCase rows_carried(int64_t m, int64_t n) {
  return make_case("rows_carried",
                   [](Tensor x) {
                     auto [m, n] = sizes<2>(x);
                     Tensor y = empty({n}, f32);
                     for ([[maybe_unused]] auto one : grid(1)) {
                       Tile total = zeros({n}, f32);
                       for (auto row : grid(m)) total += x[row, all];
                       y[all] = total;
                     }
                     return y;
                   },
                   {dense(f32, {m, n})});
}

}  // namespace tilewright::testing
