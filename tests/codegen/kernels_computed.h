// Products one or both of whose operands are computed from what is loaded.
#pragma once

#include "tests/codegen/kernel_case.h"
#include "tests/codegen/kernels_products.h"

namespace tilewright::testing {

/// Weights [k, n] as a test wants them stored: by k, or by column.
inline KernelArg weights(DType dtype, int64_t k, int64_t n, bool by_k) {
  return by_k ? transposed(dtype, k, n) : dense(dtype, {k, n});
}

/// a w scaled by column: `weight` is converted to a's dtype on the way.
inline KernelCase product_of_weights(DType dtype, DType weight, int64_t m, int64_t n, int64_t k,
                                     bool by_k) {
  return make_case("product_of_weights",
                   [](Tensor a, Tensor w, Tensor scale) {
                     auto [m, k] = sizes<2>(a);
                     const Size n = w.size(1);
                     Tensor c = empty({m, n}, a.dtype());
                     for (auto [rows, cols] : tile({m, n})) {
                       Tile acc = zeros({rows, cols}, f32);
                       for (auto ks : tile(k))
                         acc = addmm(acc, a[rows, ks], cast(w[ks, cols], a.dtype()));
                       c[rows, cols] = acc * scale[cols];
                     }
                     return c;
                   },
                   {dense(dtype, {m, k}), weights(weight, k, n, by_k), dense(f32, {n})});
}

/// Weights of 4 bits: byte [l, j] of w holds w[l, j] (low) and w[l + k / 2, j]; signed ones of i8,
/// or of u8 as they are plus 8.
inline KernelCase product_of_halves(DType stored, int64_t m, int64_t n, int64_t k, bool by_k) {
  return make_case("product_of_halves",
                   [](Tensor a, Tensor w) {
                     const Size m = a.size(0), n = w.size(1);
                     Tensor c = empty({m, n}, f32);
                     for (auto [rows, cols] : tile({m, n})) {
                       Tile acc = zeros({rows, cols}, f32);
                       for (auto ks : tile(w.size(0))) {
                         Tile both = w[ks, cols];
                         const bool is_signed = w.dtype() == i8;
                         Tile low = is_signed ? both << 4 >> 4 : (cast(both, i32) & 15) - 8;
                         Tile high = is_signed ? both >> 4 : (cast(both, i32) >> 4) - 8;
                         acc = addmm(acc, a[rows, 0, ks], cast(low, a.dtype()));
                         acc = addmm(acc, a[rows, 1, ks], cast(high, a.dtype()));
                       }
                       c[rows, cols] = acc;
                     }
                     return c;
                   },
                   {dense(bf16, {m, 2, k / 2}), weights(stored, k / 2, n, by_k)});
}

/// (r a s) b, a scaled by row and along k.
inline KernelCase product_scaled_both_ways(DType dtype, int64_t m, int64_t n, int64_t k) {
  return make_case(
      "product_scaled_both_ways",
      [](Tensor a, Tensor b, Tensor r, Tensor s) {
        auto [m, k] = sizes<2>(a);
        const Size n = b.size(1);
        Tensor c = empty({m, n}, f32);
        for (auto [rows, cols] : tile({m, n})) {
          Tile acc = zeros({rows, cols}, f32);
          Tile by_row = r[rows, all];
          for (auto ks : tile(k))
            acc = addmm(acc, cast(cast(a[rows, ks], f32) * by_row * s[ks], a.dtype()), b[ks, cols]);
          c[rows, cols] = acc;
        }
        return c;
      },
      {dense(dtype, {m, k}), dense(dtype, {k, n}), dense(f32, {m, 1}), dense(f32, {k})});
}

/// a times the absolute values of b; with both, of a too.
inline KernelCase product_of_absolute(DType dtype, int64_t m, int64_t n, int64_t k, bool both,
                                      bool by_k) {
  return make_case("product_of_absolute",
                   [both](Tensor a, Tensor b) {
                     auto [m, k] = sizes<2>(a);
                     const Size n = b.size(1);
                     Tensor c = empty({m, n}, f32);
                     for (auto [rows, cols] : tile({m, n})) {
                       Tile acc = zeros({rows, cols}, f32);
                       for (auto ks : tile(k)) {
                         Tile left = a[rows, ks];
                         acc = addmm(acc, both ? abs(left) : left, abs(b[ks, cols]));
                       }
                       c[rows, cols] = acc;
                     }
                     return c;
                   },
                   {dense(dtype, {m, k}), weights(dtype, k, n, by_k)});
}

/// The computed tile is an operand of two products, what it is computed from of a third.
inline KernelCase products_of_one_computed(DType dtype, int64_t m, int64_t n, int64_t k) {
  return make_case("products_of_one_computed",
                   [](Tensor a, Tensor b, Tensor c) {
                     auto [m, k] = sizes<2>(a);
                     const Size n = b.size(1);
                     Tensor x = empty({m, n}, f32), y = empty({m, n}, f32);
                     for (auto [rows, cols] : tile({m, n})) {
                       Tile acc = zeros({rows, cols}, f32), other = zeros({rows, cols}, f32);
                       for (auto ks : tile(k)) {
                         Tile left = a[rows, ks];
                         Tile size = abs(left);
                         acc = addmm(acc, size, b[ks, cols]);
                         other = addmm(other, size, c[ks, cols]);
                         other = addmm(other, left, b[ks, cols]);
                       }
                       x[rows, cols] = acc;
                       y[rows, cols] = other;
                     }
                     return std::tuple{x, y};
                   },
                   {dense(dtype, {m, k}), dense(dtype, {k, n}), dense(dtype, {k, n})});
}

/// A tile computed once, before the loop that multiplies it.
inline KernelCase product_of_computed_before(DType dtype, int64_t m, int64_t n, int64_t k) {
  return make_case("product_of_computed_before",
                   [](Tensor a, Tensor b) {
                     const Size m = a.size(0), n = b.size(1);
                     Tensor c = empty({m, n}, f32);
                     for (auto rows : tile(m)) {
                       Tile left = abs(a[rows, all]);
                       for (auto cols : tile(n)) c[rows, cols] = dot(left, b[all, cols]);
                     }
                     return c;
                   },
                   {dense(dtype, {m, k}), dense(dtype, {k, n})});
}

/// Products with computed operands, of dimensions that blocks of 64, 16 and 32 do not divide when
/// m, n, k are given so. k is even.
inline std::vector<KernelCase> computed_kernels(int64_t m, int64_t n, int64_t k) {
  std::vector<KernelCase> all;
  for (const bool by_k : {true, false}) {
    all.push_back(product_of_weights(bf16, i8, m, n, k, by_k));
    all.push_back(product_of_weights(f16, u8, m, n, k, by_k));
    all.push_back(product_of_weights(bf16, f8e4m3, m, n, k, by_k));
    all.push_back(product_of_halves(i8, m, n, k, by_k));
    all.push_back(product_of_halves(u8, m, n, k, by_k));
    all.push_back(product_of_absolute(bf16, m, n, k, false, by_k));
    all.push_back(product_of_absolute(f16, m, n, k, true, by_k));
  }
  all.push_back(product_of_absolute(f8e4m3, m, n, k, true, true));
  all.push_back(product_of_nibbles(m, n, k));
  all.push_back(product_scaled_both_ways(bf16, m, n, k));
  all.push_back(products_of_one_computed(bf16, m, n, k));
  all.push_back(product_of_computed_before(bf16, m, n, 64));
  all.push_back(product_of_exp(m, n, k, f16));
  all.push_back(product_of_cast(bf16, m, n, k));
  all.push_back(chained_products(m, n, k, 32, bf16));
  return all;
}

}  // namespace tilewright::testing
