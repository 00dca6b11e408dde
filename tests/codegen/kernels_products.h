// Kernels with products of matrices.
#pragma once

#include <tuple>

#include "tests/codegen/kernel_case.h"

namespace tilewright::testing {

inline Tensor product_body(Tensor a, Tensor b) {
  auto [m, k] = sizes<2>(a);
  const Size n = b.size(1);
  Tensor c = empty({m, n}, a.dtype());
  for (auto [rows, cols] : tile({m, n})) {
    Tile acc = zeros({rows, cols}, a.dtype() == f64 ? f64 : a.dtype() == i8 ? i32 : f32);
    for (auto ks : tile(k)) acc = addmm(acc, a[rows, ks], b[ks, cols]);
    c[rows, cols] = a.dtype() == i8 ? cast(acc, i8) : acc;
  }
  return c;
}

inline Tensor product_of_cast_body(Tensor a, Tensor b, DType narrow) {
  auto [m, k] = sizes<2>(a);
  const Size n = b.size(1);
  Tensor c = empty({m, n}, f32);
  for (auto [rows, cols] : tile({m, n})) {
    Tile acc = zeros({rows, cols}, f32);
    for (auto ks : tile(k)) acc = addmm(acc, cast(a[rows, ks], narrow), cast(b[ks, cols], narrow));
    c[rows, cols] = acc;
  }
  return c;
}

/// The product of a and b as they lie in memory.
inline KernelCase product(const KernelArg& a, const KernelArg& b) {
  return make_case("product", product_body, {a, b});
}

/// The four transpositions by their letters: "nn", "tn" (A'B), "nt" (AB'), "tt".
inline KernelCase product_of(const std::string& how, DType dtype, int64_t m, int64_t n, int64_t k) {
  KernelCase made = make_case("product", product_body,
                              {how[0] == 'n' ? dense(dtype, {m, k}) : transposed(dtype, m, k),
                               how[1] == 'n' ? dense(dtype, {k, n}) : transposed(dtype, k, n)});
  made.name = "product_" + how;
  return made;
}

/// gelu(a b + bias).
inline KernelCase product_bias_gelu(DType dtype, int64_t m, int64_t n, int64_t k) {
  return make_case("product_bias_gelu",
                   [](Tensor x, Tensor w, Tensor bias) {
                     auto [m, k] = sizes<2>(x);
                     const Size n = w.size(1);
                     Tensor y = empty({m, n}, x.dtype());
                     for (auto [rows, cols] : tile({m, n})) {
                       Tile acc = zeros({rows, cols}, f32);
                       for (auto ks : tile(k)) acc = addmm(acc, x[rows, ks], w[ks, cols]);
                       y[rows, cols] = gelu(acc + cast(bias[cols], f32));
                     }
                     return y;
                   },
                   {dense(dtype, {m, k}), dense(dtype, {k, n}), dense(dtype, {n})});
}

/// a b and a c from one loop.
inline KernelCase two_products(int64_t m, int64_t n, int64_t k) {
  return make_case("two_products",
                   [](Tensor a, Tensor b, Tensor c) {
                     auto [m, k] = sizes<2>(a);
                     const Size n = b.size(1);
                     Tensor x = empty({m, n}, f32), y = empty({m, n}, f32);
                     for (auto [rows, cols] : tile({m, n})) {
                       Tile acc = zeros({rows, cols}, f32), other = zeros({rows, cols}, f32);
                       for (auto ks : tile(k)) {
                         Tile left = a[rows, ks];
                         acc = addmm(acc, left, b[ks, cols]);
                         other = addmm(other, left, c[ks, cols]);
                       }
                       x[rows, cols] = acc;
                       y[rows, cols] = other;
                     }
                     return std::tuple{x, y};
                   },
                   {dense(f32, {m, k}), dense(f32, {k, n}), transposed(f32, k, n)});
}

/// exp(a) b: what lies past the end of k is 1 unless it is masked.
inline KernelCase product_of_exp(int64_t m, int64_t n, int64_t k) {
  return make_case("product_of_exp",
                   [](Tensor a, Tensor b) {
                     auto [m, k] = sizes<2>(a);
                     const Size n = b.size(1);
                     Tensor c = empty({m, n}, f32);
                     for (auto [rows, cols] : tile({m, n})) {
                       Tile acc = zeros({rows, cols}, f32);
                       for (auto ks : tile(k)) acc = addmm(acc, exp(a[rows, ks]), b[ks, cols]);
                       c[rows, cols] = acc;
                     }
                     return c;
                   },
                   {dense(f32, {m, k}), dense(f32, {k, n})});
}

/// (a as `narrow`) (b as `narrow`), both stored as f32: rounded before they are multiplied.
inline KernelCase product_of_cast(DType narrow, int64_t m, int64_t n, int64_t k) {
  return make_case("product_of_cast",
                   [narrow](Tensor a, Tensor b) { return product_of_cast_body(a, b, narrow); },
                   {dense(f32, {m, k}), dense(f32, {k, n})});
}

/// One product of whole dimensions, with no loop around it but the grid.
inline KernelCase product_without_loop(int64_t m, int64_t n, int64_t k) {
  return make_case("product_without_loop",
                   [](Tensor a, Tensor b) {
                     const Size m = a.size(0), n = b.size(1);
                     Tensor c = empty({m, n}, f32);
                     for (auto [rows, cols] : tile({m, n}))
                       c[rows, cols] = dot(a[rows, all], b[all, cols]);
                     return c;
                   },
                   {dense(f32, {m, k}), dense(f32, {k, n})});
}

/// (a b) c, the inner product in a loop inside the outer one.
inline KernelCase chained_products(int64_t m, int64_t n, int64_t k, int64_t l) {
  return make_case("chained_products",
                   [](Tensor a, Tensor b, Tensor c) {
                     auto [m, k] = sizes<2>(a);
                     auto [n, l] = sizes<2>(c);
                     Tensor y = empty({m, l}, f32);
                     for (auto [rows, cols] : tile({m, l})) {
                       Tile acc = zeros({rows, cols}, f32);
                       for (auto ns : tile(n)) {
                         Tile inner = zeros({rows, ns}, f32);
                         for (auto ks : tile(k)) inner = addmm(inner, a[rows, ks], b[ks, ns]);
                         acc = addmm(acc, inner, c[ns, cols]);
                       }
                       y[rows, cols] = acc;
                     }
                     return y;
                   },
                   {dense(f32, {m, k}), dense(f32, {k, n}), dense(f32, {n, l})});
}

/// sum over j of (a b) * (j + 1): the same loop entered again and again.
inline KernelCase repeated_product(int64_t times, int64_t m, int64_t n, int64_t k) {
  return make_case("repeated_product",
                   [](Tensor a, Tensor b) {
                     auto [times, m, k] = sizes<3>(a);
                     const Size n = b.size(1);
                     Tensor y = empty({m, n}, f32);
                     for (auto [rows, cols] : tile({m, n})) {
                       Tile acc = zeros({rows, cols}, f32);
                       for (auto t : grid(times))
                         for (auto ks : tile(k)) acc = addmm(acc, a[t, rows, ks], b[ks, cols]);
                       y[rows, cols] = acc;
                     }
                     return y;
                   },
                   {dense(f32, {times, m, k}), dense(f32, {k, n})});
}

/// Loads a tile of a, stores over it, and multiplies what was loaded.
inline KernelCase product_of_overwritten(int64_t m, int64_t n) {
  return make_case("product_of_overwritten",
                   [](Tensor a, Tensor b) {
                     auto [m, k] = sizes<2>(a);
                     const Size n = b.size(1);
                     Tensor c = empty({m, n}, f32);
                     for (auto rows : tile(m)) {
                       Tile left = a[rows, all];
                       a[rows, all] = zeros_like(left);
                       c[rows, all] = dot(left, b[all, all]);
                     }
                     return c;
                   },
                   {dense(f32, {m, 16}), dense(f32, {16, n})});
}

}  // namespace tilewright::testing
