// Kernels without products and reductions, and with variables that loops and branches change.
#pragma once

#include <tuple>

#include "tests/codegen/kernel_case.h"

namespace tilewright::testing {

inline KernelCase vector_add(DType dtype, const KernelArg& a, const KernelArg& b) {
  return make_case("vector_add",
                   [dtype](Tensor a, Tensor b) {
                     Tensor c = empty({a.size(0)}, dtype);
                     for (auto i : tile(a.size(0))) c[i] = a[i] + b[i];
                     return c;
                   },
                   {a, b});
}

/// x through every float type and two integer ones, and back.
inline KernelCase cast_chain(DType dtype, int64_t n) {
  return make_case("cast_chain",
                   [](Tensor x) {
                     Tensor y = empty_like(x), z = empty({x.size(0)}, f32);
                     for (auto i : tile(x.size(0))) {
                       Tile value = cast(x[i] * 100, f32);
                       for (const DType by : {f8e5m2, i8, f16, f8e4m3, f64, bf16, i32, f8e4m3})
                         value = cast(cast(value, by) * 3, f32);
                       y[i] = value;
                       z[i] = cast(x[i], f32) + 1;
                     }
                     return std::tuple{y, z};
                   },
                   {dense(dtype, {n})});
}

/// Each row of x over its largest magnitude as `to`, and that scale.
inline KernelCase quantized_rows(DType from, DType to, int64_t m, int64_t n) {
  return make_case("quantized_rows",
                   [to](Tensor x) {
                     auto [m, n] = sizes<2>(x);
                     Tensor y = empty({m, n}, to), scale = empty({m}, f32);
                     for (auto rows : tile(m)) {
                       Tile row = cast(x[rows, all], f32);
                       Tile largest = max(abs(row), axis(1), keep_dims);
                       y[rows, all] = row / largest * (to == f8e4m3 ? 448 : 57344);
                       scale[rows] = max(abs(row), axis(1));
                     }
                     return std::tuple{y, scale};
                   },
                   {dense(from, {m, n})});
}

inline KernelCase saxpy(int64_t n) {
  return make_case("saxpy",
                   [](Scalar<float> alpha, Tensor x, Tensor y) {
                     for (auto i : tile(x.size(0))) y[i] = fma(alpha, x[i], y[i]);
                   },
                   {KernelArg::scalar(f32), dense(f32, {n}), dense(f32, {n})}, {0.75});
}

inline KernelCase transposed_copy(DType dtype, int64_t m, int64_t n) {
  return make_case("transposed_copy",
                   [](Tensor x) {
                     auto [m, n] = sizes<2>(x);
                     Tensor y = empty({n, m}, x.dtype());
                     for (auto [rows, cols] : tile({m, n}))
                       y[cols, rows] = transpose(x[rows, cols]);
                     return y;
                   },
                   {dense(dtype, {m, n})});
}

inline KernelCase add_broadcast(int64_t m, int64_t n) {
  return make_case("add_broadcast",
                   [](Tensor x, Tensor row, Tensor col) {
                     auto [m, n] = sizes<2>(x);
                     Tensor y = empty_like(x);
                     for (auto [rows, cols] : tile({m, n}))
                       y[rows, cols] = x[rows, cols] * row[rows, all] + col[cols];
                     return y;
                   },
                   {strided(f32, {m, n}, {0, 1}), dense(f32, {m, 1}), dense(f32, {n})});
}

inline KernelCase increment(DType dtype, int64_t n) {
  return make_case("increment",
                   [](Tensor x) {
                     for (auto i : tile(x.size(0))) x[i] += 1;
                   },
                   {dense(dtype, {n})});
}

inline KernelCase pinned_blocks(int64_t m, int64_t n) {
  return make_case("pinned_blocks",
                   [](Tensor x) {
                     auto [m, n] = sizes<2>(x);
                     Tensor y = empty_like(x);
                     for (auto [rows, cols] : tile({m, n}, {block(4), {}}))
                       y[rows, cols] = x[rows, cols] + cast(cols.index(), f32);
                     return y;
                   },
                   {dense(f32, {m, n})});
}

/// Numbers of tiles, less 3.
inline KernelCase tile_numbers(int64_t n) {
  return make_case("tile_numbers",
                   [n](Tensor x) {
                     Tensor y = empty({n}, f32), z = empty({n}, i64);
                     for (auto i : tile(n)) {
                       y[i] = x[i] * cast(i.id() - 3, f32);
                       z[i] = i.index() * (i.id() - 4) + i.end() - i.begin();
                     }
                     return std::tuple{y, z};
                   },
                   {dense(f32, {n})});
}

/// x and y change places in every iteration.
inline KernelCase swapped_tiles(int64_t n, int64_t times) {
  return make_case("swapped_tiles",
                   [](Tensor a, Tensor b, Scalar<int> times) {
                     Tensor c = empty_like(a), d = empty_like(a);
                     for (auto i : tile(a.size(0))) {
                       Tile x = a[i], y = b[i];
                       for ([[maybe_unused]] auto t : grid(times)) {
                         Tile kept = x;
                         x = y;
                         y = kept;
                       }
                       c[i] = x;
                       d[i] = y;
                     }
                     return std::tuple{c, d};
                   },
                   {dense(f32, {n}), dense(f32, {n}), KernelArg::scalar(i32)}, {times});
}

/// x becomes the transpose of y, and y becomes x.
inline KernelCase swapped_transposed(int64_t n, int64_t times) {
  return make_case("swapped_transposed",
                   [](Tensor a, Tensor b, Scalar<int> times) {
                     Tensor c = empty_like(a), d = empty_like(a);
                     for ([[maybe_unused]] auto one : grid(1)) {
                       Tile y = b[all, all], x = a[all, all];
                       for ([[maybe_unused]] auto t : grid(times)) {
                         Tile kept = x;
                         x = transpose(y);
                         y = kept;
                       }
                       c[all, all] = x;
                       d[all, all] = y;
                     }
                     return std::tuple{c, d};
                   },
                   {dense(f32, {n, n}), dense(f32, {n, n}), KernelArg::scalar(i32)}, {times});
}

/// x = x + transpose(x), in a loop.
inline KernelCase added_transpose(int64_t n, int64_t times) {
  return make_case("added_transpose",
                   [](Tensor a, Scalar<int> times) {
                     Tensor c = empty_like(a);
                     for ([[maybe_unused]] auto one : grid(1)) {
                       Tile x = a[all, all];
                       for ([[maybe_unused]] auto t : grid(times)) x = x * 2 + transpose(x);
                       c[all, all] = x;
                     }
                     return c;
                   },
                   {dense(f32, {n, n}), KernelArg::scalar(i32)}, {times});
}

/// A tile made of a scalar that the same iteration changes.
inline KernelCase carried_scalar(int64_t n, int64_t times) {
  return make_case("carried_scalar",
                   [](Tensor a, Scalar<int> times) {
                     Tensor c = empty_like(a);
                     for (auto i : tile(a.size(0))) {
                       Tile step = full({}, 1, f32);
                       Tile x = a[i];
                       for ([[maybe_unused]] auto t : grid(times)) {
                         Tile before = step;
                         step = step * 2;
                         x = broadcast_to(before, {i});
                       }
                       c[i] = x + step;
                     }
                     return c;
                   },
                   {dense(f32, {n}), KernelArg::scalar(i32)}, {times});
}

inline KernelCase branches(int64_t m, int64_t n) {
  return make_case("branches",
                   [](Tensor x, Scalar<int> which) {
                     auto [m, n] = sizes<2>(x);
                     Tensor y = empty_like(x);
                     for (auto [rows, cols] : tile({m, n})) {
                       Tile value = x[rows, cols];
                       Tile count = full({}, 0, i32);
                       if_(
                           which > 2, [&] { value = value * 2, count = count + 1; },
                           [&] { value = value - sum(value, axis(1), keep_dims); });
                       if_(rows.id() == 0, [&] { count = count + 10; });
                       y[rows, cols] = value + cast(count, f32);
                     }
                     return y;
                   },
                   {dense(f32, {m, n}), KernelArg::scalar(i32)}, {int64_t{1}});
}

}  // namespace tilewright::testing
