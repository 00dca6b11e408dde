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
    const bool bytes = a.dtype() == i8 || a.dtype() == u8;
    Tile acc = zeros({rows, cols}, a.dtype() == f64 ? f64 : bytes ? i32 : f32);
    for (auto ks : tile(k)) acc = addmm(acc, a[rows, ks], b[ks, cols]);
    c[rows, cols] = bytes ? cast(acc, a.dtype()) : acc;
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
inline KernelCase two_products(int64_t m, int64_t n, int64_t k, DType dtype = f32) {
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
                   {dense(dtype, {m, k}), dense(dtype, {k, n}), transposed(dtype, k, n)});
}

/// exp(a) b: what lies past the end of k is 1 unless it is masked.
inline KernelCase product_of_exp(int64_t m, int64_t n, int64_t k, DType dtype = f32) {
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
                   {dense(dtype, {m, k}), dense(dtype, {k, n})});
}

/// (a as `narrow`) (b as `narrow`), both stored as f32: rounded before they are multiplied.
inline KernelCase product_of_cast(DType narrow, int64_t m, int64_t n, int64_t k) {
  return make_case("product_of_cast",
                   [narrow](Tensor a, Tensor b) { return product_of_cast_body(a, b, narrow); },
                   {dense(f32, {m, k}), dense(f32, {k, n})});
}

/// The product of f8 matrices of either kind each, scaled by row and by column.
inline KernelCase scaled_product(DType left, DType right, int64_t m, int64_t n, int64_t k) {
  return make_case(
      "scaled_product",
      [](Tensor a, Tensor b, Tensor row_scale, Tensor column_scale) {
        auto [m, k] = sizes<2>(a);
        const Size n = b.size(1);
        Tensor c = empty({m, n}, bf16);
        for (auto [rows, cols] : tile({m, n})) {
          Tile acc = zeros({rows, cols}, f32);
          for (auto ks : tile(k)) acc = addmm(acc, a[rows, ks], b[ks, cols], two_level);
          c[rows, cols] = acc * row_scale[rows, all] * column_scale[cols];
        }
        return c;
      },
      {dense(left, {m, k}), transposed(right, k, n), dense(f32, {m, 1}), dense(f32, {n})});
}

/// a b in f32 with the precision asked for, of numbers that every precision holds exactly.
inline KernelCase precise_product(DotPrecision precision, int64_t m, int64_t n, int64_t k) {
  return make_case("precise_product",
                   [precision](Tensor a, Tensor b) {
                     auto [m, k] = sizes<2>(a);
                     const Size n = b.size(1);
                     Tensor c = empty({m, n}, f32);
                     for (auto [rows, cols] : tile({m, n})) {
                       Tile acc = zeros({rows, cols}, f32);
                       for (auto ks : tile(k))
                         acc =
                             addmm(acc, cast(a[rows, ks], f32), cast(b[ks, cols], f32), precision);
                       c[rows, cols] = acc;
                     }
                     return c;
                   },
                   {dense(bf16, {m, k}), dense(bf16, {k, n})});
}

/// a b of bf16 activations with i8 weights, scaled by column.
inline KernelCase product_of_bytes(int64_t m, int64_t n, int64_t k) {
  return make_case("product_of_bytes",
                   [](Tensor a, Tensor w, Tensor scale) {
                     auto [m, k] = sizes<2>(a);
                     const Size n = w.size(1);
                     Tensor c = empty({m, n}, bf16);
                     for (auto [rows, cols] : tile({m, n})) {
                       Tile acc = zeros({rows, cols}, f32);
                       for (auto ks : tile(k))
                         acc = addmm(acc, a[rows, ks], cast(w[ks, cols], bf16));
                       c[rows, cols] = acc * scale[cols];
                     }
                     return c;
                   },
                   {dense(bf16, {m, k}), dense(i8, {k, n}), dense(f32, {n})});
}

/// The same with weights of 4 bits: byte [p, j] of w holds rows 2 p (low) and 2 p + 1 of column j.
inline KernelCase product_of_nibbles(int64_t m, int64_t n, int64_t k) {
  return make_case("product_of_nibbles",
                   [](Tensor a, Tensor w) {
                     const Size m = a.size(0), n = w.size(1);
                     Tensor c = empty({m, n}, f32);
                     for (auto [rows, cols] : tile({m, n})) {
                       Tile acc = zeros({rows, cols}, f32);
                       for (auto pairs : tile(w.size(0))) {
                         Tile both = w[pairs, cols];
                         acc = addmm(acc, a[rows, pairs, 0], cast(both << 4 >> 4, bf16));
                         acc = addmm(acc, a[rows, pairs, 1], cast(both >> 4, bf16));
                       }
                       c[rows, cols] = acc;
                     }
                     return c;
                   },
                   {dense(bf16, {m, k / 2, 2}), dense(i8, {k / 2, n})});
}

/// One product of whole dimensions, with no loop around it but the grid.
inline KernelCase product_without_loop(int64_t m, int64_t n, int64_t k, DType dtype = f32) {
  return make_case("product_without_loop",
                   [](Tensor a, Tensor b) {
                     const Size m = a.size(0), n = b.size(1);
                     Tensor c = empty({m, n}, f32);
                     for (auto [rows, cols] : tile({m, n}))
                       c[rows, cols] = dot(a[rows, all], b[all, cols]);
                     return c;
                   },
                   {dense(dtype, {m, k}), dense(dtype, {k, n})});
}

/// (a b) c, the inner product in a loop inside the outer one.
inline KernelCase chained_products(int64_t m, int64_t n, int64_t k, int64_t l, DType dtype = f32) {
  return make_case("chained_products",
                   [dtype](Tensor a, Tensor b, Tensor c) {
                     auto [m, k] = sizes<2>(a);
                     auto [n, l] = sizes<2>(c);
                     Tensor y = empty({m, l}, f32);
                     for (auto [rows, cols] : tile({m, l})) {
                       Tile acc = zeros({rows, cols}, f32);
                       for (auto ns : tile(n)) {
                         Tile inner = zeros({rows, ns}, f32);
                         for (auto ks : tile(k)) inner = addmm(inner, a[rows, ks], b[ks, ns]);
                         acc = addmm(acc, cast(inner, dtype), c[ns, cols]);
                       }
                       y[rows, cols] = acc;
                     }
                     return y;
                   },
                   {dense(dtype, {m, k}), dense(dtype, {k, n}), dense(dtype, {n, l})});
}

/// sum over j of (a b) * (j + 1): the same loop entered again and again.
inline KernelCase repeated_product(int64_t times, int64_t m, int64_t n, int64_t k,
                                   DType dtype = f32) {
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
                   {dense(dtype, {times, m, k}), dense(dtype, {k, n})});
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
