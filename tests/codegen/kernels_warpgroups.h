// Kernels for products of warpgroups over rings that bulk copies fill: rewrites of one product, and
// what stands around it.
#pragma once

#include "tests/codegen/kernels_products.h"

namespace tilewright::testing {

/// a b of bytes, every third row of b left out: what is masked is computed, so b is staged as a
/// product reads it, however it is stored.
inline KernelCase product_of_masked_bytes(int64_t m, int64_t n, int64_t k) {
  return make_case("product_of_masked_bytes",
                   [](Tensor a, Tensor b) {
                     auto [m, k] = sizes<2>(a);
                     const Size n = b.size(1);
                     Tensor c = empty({m, n}, i32);
                     for (auto [rows, cols] : tile({m, n})) {
                       Tile acc = zeros({rows, cols}, i32);
                       for (auto ks : tile(k)) {
                         Tile kept = (ks.index() % 3 != 0)[all, none];
                         acc = addmm(acc, a[rows, ks], b.load({ks, cols}, {.mask = kept}));
                       }
                       c[rows, cols] = acc;
                     }
                     return c;
                   },
                   {dense(i8, {m, k}), dense(i8, {k, n})});
}

/// a b + c, c in f32.
inline KernelCase product_plus(DType dtype, int64_t m, int64_t n, int64_t k) {
  return make_case("product_plus",
                   [](Tensor a, Tensor b, Tensor c) {
                     auto [m, k] = sizes<2>(a);
                     const Size n = b.size(1);
                     Tensor d = empty({m, n}, a.dtype());
                     for (auto [rows, cols] : tile({m, n})) {
                       Tile acc = zeros({rows, cols}, f32);
                       for (auto ks : tile(k)) acc = addmm(acc, a[rows, ks], b[ks, cols]);
                       d[rows, cols] = acc + c[rows, cols];
                     }
                     return d;
                   },
                   {dense(dtype, {m, k}), dense(dtype, {k, n}), dense(f32, {m, n})});
}

/// The same sum begun with c instead.
inline KernelCase product_onto(DType dtype, int64_t m, int64_t n, int64_t k) {
  return make_case("product_onto",
                   [](Tensor a, Tensor b, Tensor c) {
                     auto [m, k] = sizes<2>(a);
                     const Size n = b.size(1);
                     Tensor d = empty({m, n}, a.dtype());
                     for (auto [rows, cols] : tile({m, n})) {
                       Tile acc = c[rows, cols];
                       for (auto ks : tile(k)) acc = addmm(acc, a[rows, ks], b[ks, cols]);
                       d[rows, cols] = acc;
                     }
                     return d;
                   },
                   {dense(dtype, {m, k}), dense(dtype, {k, n}), dense(f32, {m, n})});
}

/// c += a b, in place.
inline KernelCase product_into(DType dtype, int64_t m, int64_t n, int64_t k) {
  return make_case("product_into",
                   [](Tensor a, Tensor b, Tensor c) {
                     auto [m, k] = sizes<2>(a);
                     const Size n = b.size(1);
                     for (auto [rows, cols] : tile({m, n})) {
                       Tile acc = zeros({rows, cols}, f32);
                       for (auto ks : tile(k)) acc = addmm(acc, a[rows, ks], b[ks, cols]);
                       c[rows, cols] = acc + cast(c[rows, cols], f32);
                     }
                   },
                   {dense(dtype, {m, k}), dense(dtype, {k, n}), dense(dtype, {m, n})});
}

/// The loop over k in two parts.
inline KernelCase product_in_two_loops(DType dtype, int64_t m, int64_t n, int64_t k, int64_t cut) {
  return make_case("product_in_two_loops",
                   [cut](Tensor a, Tensor b) {
                     auto [m, k] = sizes<2>(a);
                     const Size n = b.size(1);
                     Tensor c = empty({m, n}, a.dtype());
                     for (auto [rows, cols] : tile({m, n})) {
                       Tile acc = zeros({rows, cols}, f32);
                       for (auto ks : tile(0, cut)) acc = addmm(acc, a[rows, ks], b[ks, cols]);
                       for (auto ks : tile(cut, k)) acc = addmm(acc, a[rows, ks], b[ks, cols]);
                       c[rows, cols] = acc;
                     }
                     return c;
                   },
                   {dense(dtype, {m, k}), dense(dtype, {k, n})});
}

/// (s a) b, a scaled by row before it is multiplied.
inline KernelCase product_of_scaled(DType dtype, int64_t m, int64_t n, int64_t k) {
  return make_case("product_of_scaled",
                   [](Tensor a, Tensor b, Tensor s) {
                     auto [m, k] = sizes<2>(a);
                     const Size n = b.size(1);
                     Tensor c = empty({m, n}, a.dtype());
                     for (auto [rows, cols] : tile({m, n})) {
                       Tile acc = zeros({rows, cols}, f32);
                       for (auto ks : tile(k))
                         acc = addmm(acc, a[rows, ks] * s[rows, all], b[ks, cols]);
                       c[rows, cols] = acc;
                     }
                     return c;
                   },
                   {dense(dtype, {m, k}), dense(dtype, {k, n}), dense(dtype, {m, 1})});
}

/// a b and c b from one loop.
inline KernelCase products_of_one_b(DType dtype, int64_t m, int64_t n, int64_t k) {
  return make_case("products_of_one_b",
                   [](Tensor a, Tensor b, Tensor c) {
                     auto [m, k] = sizes<2>(a);
                     const Size n = b.size(1);
                     Tensor x = empty({m, n}, a.dtype());
                     Tensor y = empty({m, n}, f32);
                     for (auto [rows, cols] : tile({m, n})) {
                       Tile first = zeros({rows, cols}, f32);
                       Tile second = zeros({rows, cols}, f32);
                       for (auto ks : tile(k)) {
                         Tile right = b[ks, cols];
                         first = addmm(first, a[rows, ks], right);
                         second = addmm(second, c[rows, ks], right);
                       }
                       x[rows, cols] = first;
                       y[rows, cols] = second;
                     }
                     return std::tuple{x, y};
                   },
                   {dense(dtype, {m, k}), dense(dtype, {k, n}), dense(dtype, {m, k})});
}

/// Blocks of rows for which `take` is 0 are left out of the sum.
inline KernelCase product_of_some_steps(DType dtype, int64_t m, int64_t n, int64_t k) {
  return make_case("product_of_some_steps",
                   [](Tensor a, Tensor b) {
                     auto [m, k] = sizes<2>(a);
                     const Size n = b.size(1);
                     Tensor c = empty({m, n}, a.dtype());
                     for (auto [rows, cols] : tile({m, n})) {
                       Tile acc = zeros({rows, cols}, f32);
                       for (auto ks : tile(k))
                         if_(ks.id() % 3 != 1, [&] { acc = addmm(acc, a[rows, ks], b[ks, cols]); });
                       c[rows, cols] = acc;
                     }
                     return c;
                   },
                   {dense(dtype, {m, k}), dense(dtype, {k, n})});
}

/// The whole loop under a condition that the tile's place decides.
inline KernelCase product_of_some_tiles(DType dtype, int64_t m, int64_t n, int64_t k) {
  return make_case("product_of_some_tiles",
                   [](Tensor a, Tensor b) {
                     auto [m, k] = sizes<2>(a);
                     const Size n = b.size(1);
                     Tensor c = empty({m, n}, a.dtype());
                     for (auto [rows, cols] : tile({m, n})) {
                       Tile acc = full({rows, cols}, 7.0f, f32);
                       if_(rows.id() != cols.id(), [&] {
                         acc = zeros({rows, cols}, f32);
                         for (auto ks : tile(k)) acc = addmm(acc, a[rows, ks], b[ks, cols]);
                       });
                       c[rows, cols] = acc;
                     }
                     return c;
                   },
                   {dense(dtype, {m, k}), dense(dtype, {k, n})});
}

/// A product of the columns of a up to where the tile's rows end: the loop's length differs from
/// tile to tile.
inline KernelCase triangular_product(DType dtype, int64_t m, int64_t n) {
  return make_case("triangular_product",
                   [](Tensor a, Tensor b) {
                     auto [m, k] = sizes<2>(a);
                     const Size n = b.size(1);
                     Tensor c = empty({m, n}, a.dtype());
                     for (auto [rows, cols] : tile({m, n})) {
                       Tile acc = zeros({rows, cols}, f32);
                       for (auto ks : tile(0, rows.end()))
                         acc = addmm(acc, a[rows, ks], b[ks, cols]);
                       c[rows, cols] = acc;
                     }
                     return c;
                   },
                   {dense(dtype, {m, m}), dense(dtype, {m, n})});
}

/// One product for each of several matrices.
inline KernelCase batched_product(DType dtype, int64_t batch, int64_t m, int64_t n, int64_t k) {
  return make_case("batched_product",
                   [](Tensor a, Tensor b) {
                     auto [batch, m, k] = sizes<3>(a);
                     const Size n = b.size(2);
                     Tensor c = empty({batch, m, n}, a.dtype());
                     for (auto [i, rows, cols] : tile({each(batch), m, n})) {
                       Tile acc = zeros({rows, cols}, f32);
                       for (auto ks : tile(k)) acc = addmm(acc, a[i, rows, ks], b[i, ks, cols]);
                       c[i, rows, cols] = acc;
                     }
                     return c;
                   },
                   {dense(dtype, {batch, m, k}), dense(dtype, {batch, k, n})});
}

/// A product over a part of k, and of rows and columns, of tensors that are larger.
inline KernelCase product_of_part(DType dtype, int64_t size, int64_t rows_to, int64_t ks_to) {
  return make_case("product_of_part",
                   [=](Tensor a, Tensor b) {
                     Tensor c = empty_like(a);
                     for (auto [rows, cols] : tile({Size(rows_to), a.size(1)})) {
                       Tile acc = zeros({rows, cols}, f32);
                       for (auto ks : tile(0, ks_to)) acc = addmm(acc, a[rows, ks], b[ks, cols]);
                       c[rows, cols] = acc;
                     }
                     return c;
                   },
                   {dense(dtype, {size, size}), dense(dtype, {size, size})});
}

/// A product that a number in memory may leave out.
inline KernelCase product_if_asked(DType dtype, int64_t m, int64_t n, int64_t k) {
  return make_case("product_if_asked",
                   [](Tensor a, Tensor b, Tensor wanted) {
                     auto [m, k] = sizes<2>(a);
                     const Size n = b.size(1);
                     Tensor c = empty({m, n}, a.dtype());
                     for (auto [rows, cols] : tile({m, n})) {
                       Tile acc = zeros({rows, cols}, f32);
                       if_(Tile(wanted[0]) > 0, [&] {
                         for (auto ks : tile(k)) acc = addmm(acc, a[rows, ks], b[ks, cols]);
                       });
                       c[rows, cols] = acc;
                     }
                     return c;
                   },
                   {dense(dtype, {m, k}), dense(dtype, {k, n}), dense(i32, {1})});
}

/// A product of as much of k as the caller says.
inline KernelCase product_up_to(DType dtype, int64_t m, int64_t n, int64_t k, int64_t limit) {
  return make_case("product_up_to",
                   [](Tensor a, Tensor b, Scalar<int64_t> limit) {
                     const Size m = a.size(0), n = b.size(1);
                     Tensor c = empty({m, n}, a.dtype());
                     for (auto [rows, cols] : tile({m, n})) {
                       Tile acc = zeros({rows, cols}, f32);
                       for (auto ks : tile(0, limit)) acc = addmm(acc, a[rows, ks], b[ks, cols]);
                       c[rows, cols] = acc;
                     }
                     return c;
                   },
                   {dense(dtype, {m, k}), dense(dtype, {k, n}), KernelArg::scalar(i64)}, {limit});
}

/// Stores the tile twice: what it would be with half of the sum, then what it is.
inline KernelCase product_stored_twice(DType dtype, int64_t m, int64_t n, int64_t k) {
  return make_case("product_stored_twice",
                   [](Tensor a, Tensor b) {
                     auto [m, k] = sizes<2>(a);
                     const Size n = b.size(1);
                     Tensor c = empty({m, n}, a.dtype());
                     for (auto [rows, cols] : tile({m, n})) {
                       Tile acc = zeros({rows, cols}, f32);
                       for (auto ks : tile(k)) acc = addmm(acc, a[rows, ks], b[ks, cols]);
                       c[rows, cols] = acc * 0.5f;
                       c[rows, cols] = acc;
                     }
                     return c;
                   },
                   {dense(dtype, {m, k}), dense(dtype, {k, n})});
}

/// Stores the sum so far at each step.
inline KernelCase product_stored_by_step(DType dtype, int64_t m, int64_t n, int64_t k) {
  return make_case("product_stored_by_step",
                   [](Tensor a, Tensor b) {
                     auto [m, k] = sizes<2>(a);
                     const Size n = b.size(1);
                     Tensor c = empty({m, n}, a.dtype());
                     for (auto [rows, cols] : tile({m, n})) {
                       Tile acc = zeros({rows, cols}, f32);
                       for (auto ks : tile(k)) {
                         acc = addmm(acc, a[rows, ks], b[ks, cols]);
                         c[rows, cols] = acc;
                       }
                     }
                     return c;
                   },
                   {dense(dtype, {m, k}), dense(dtype, {k, n})});
}

}  // namespace tilewright::testing
