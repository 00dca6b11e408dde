// Kernels that gather, scatter, mask, use views and atomics. Integer inputs hold -3 to 3, so that
// positions are out of range now and then.
#pragma once

#include <tuple>

#include "tests/codegen/kernel_case.h"

namespace tilewright::testing {

inline KernelCase gather_rows(DType dtype, int64_t m, int64_t n, int64_t table_rows = 3) {
  return make_case("gather_rows",
                   [](Tensor table, Tensor ids) {
                     auto [m, n] = std::array{ids.size(0), table.size(1)};
                     Tensor y = empty({m, n}, table.dtype());
                     for (auto [rows, cols] : tile({m, n})) y[rows, cols] = table[ids[rows], cols];
                     return y;
                   },
                   {dense(dtype, {table_rows, n}), dense(i32, {m})});
}

/// Positions of every element, from a tile of two dimensions.
inline KernelCase gather_elements(int64_t m, int64_t n) {
  return make_case("gather_elements",
                   [](Tensor table, Tensor ids) {
                     auto [m, n] = sizes<2>(ids);
                     Tensor y = empty({m, n}, table.dtype());
                     for (auto [rows, cols] : tile({m, n})) y[rows, cols] = table[ids[rows, cols]];
                     return y;
                   },
                   {dense(f32, {3}), dense(i64, {m, n})});
}

/// Two index tiles that broadcast against each other, around a slice.
inline KernelCase gather_crossed(int64_t m, int64_t n) {
  return make_case("gather_crossed",
                   [](Tensor table, Tensor row_ids, Tensor col_ids) {
                     auto [m, n] = std::array{row_ids.size(0), col_ids.size(0)};
                     Tensor y = empty({m, n, table.size(1)}, table.dtype());
                     for (auto [rows, cols] : tile({m, n})) {
                       Tile r = row_ids[rows], c = col_ids[cols];
                       y[rows, cols, all] = table[r(all, none), all, c(none, all)];
                     }
                     return y;
                   },
                   {dense(f32, {4, 5, 4}), dense(i32, {m}), dense(i8, {n})});
}

/// Rows written in another order, some of them past the ends.
inline KernelCase scatter_rows(DType dtype, int64_t m, int64_t n, int64_t step, int64_t shift) {
  return make_case("scatter_rows",
                   [step, shift](Tensor x) {
                     auto [m, n] = sizes<2>(x);
                     Tensor y = empty_like(x);
                     for (auto [rows, cols] : tile({m, n})) {
                       Tile to = rows.index() * step % m.value() - shift;
                       y[to, cols] = x[rows, cols];
                     }
                     return y;
                   },
                   {dense(dtype, {m, n})});
}

/// What a program scatters it gathers again, and scatters once more.
inline KernelCase scatter_and_gather(int64_t n) {
  return make_case("scatter_and_gather",
                   [](Tensor x) {
                     Tensor y = empty_like(x), z = empty_like(x);
                     for (auto i : tile(x.size(0))) {
                       Tile back = i.begin() + (i.end() - 1 - i.index());
                       y[back] = x[i];
                       Tile seen = y[i];
                       z[i] = seen + 1;
                       y[back] = seen;
                     }
                     return std::tuple{y, z};
                   },
                   {dense(f32, {n})});
}

inline KernelCase masked(DType dtype, int64_t m, int64_t n) {
  return make_case("masked",
                   [](Tensor x) {
                     auto [m, n] = sizes<2>(x);
                     Tensor y = empty_like(x), z = empty_like(x);
                     for (auto [rows, cols] : tile({m, n})) {
                       Tile odd = (rows.index() % 2)(all, none) == 1;
                       Tile upper = rows.index()(all, none) <= cols.index()(none, all);
                       Tile a = x.load({rows, cols}, {.mask = odd, .other = 2});
                       Tile b = x.load({rows, cols}, {.mask = upper});
                       y.store({rows, cols}, a + b, {.mask = odd});
                       z.store({rows, cols}, a - b, {.mask = upper});
                     }
                     return std::tuple{y, z};
                   },
                   {dense(dtype, {m, n})});
}

inline KernelCase evicting(DType dtype, int64_t n) {
  return make_case("evicting",
                   [](Tensor x) {
                     Tensor y = empty_like(x), z = empty_like(x);
                     for (auto i : tile(x.size(0))) {
                       Tile a = x.load({i}, {.evict = Evict::first});
                       y.store({i}, a + x.load({i}, {.evict = Evict::last}),
                               {.evict = Evict::last});
                       z.store({i}, a, {.evict = Evict::first});
                     }
                     return std::tuple{y, z};
                   },
                   {dense(dtype, {n})});
}

/// Rows of a product chosen by an index tile, and written back by it.
inline KernelCase gathered_product(DType dtype, int64_t m, int64_t n, int64_t k) {
  return make_case("gathered_product",
                   [](Tensor a, Tensor b) {
                     auto [m, k] = sizes<2>(a);
                     Tensor c = empty({m, b.size(1)}, a.dtype());
                     for (auto [rows, cols] : tile({m, b.size(1)})) {
                       Tile from = m.value() - 1 - rows.index();
                       Tile acc = zeros({rows, cols}, f32);
                       for (auto ks : tile(k)) acc = addmm(acc, a[from, ks], b[ks, cols]);
                       c[from, cols] = acc;
                     }
                     return c;
                   },
                   {dense(dtype, {m, k}), dense(dtype, {k, n})});
}

/// How often each number occurs: many lanes and programs change one element.
inline KernelCase histogram(DType dtype, int64_t n) {
  return make_case("histogram",
                   [dtype](Tensor ids) {
                     Tensor counts = zeros_tensor({6}, dtype);
                     for (auto i : tile(ids.size(0))) atomic_add(counts[cast(ids[i], i64) + 3], 1);
                     return counts;
                   },
                   {dense(i32, {n})});
}

/// Sums of columns, added up by the programs. Runs of neighbours: added together where the target
/// can.
inline KernelCase atomic_column_sum(DType dtype, int64_t m, int64_t n) {
  return make_case("atomic_column_sum",
                   [](Tensor x) {
                     auto [m, n] = sizes<2>(x);
                     Tensor y = zeros_tensor({n}, x.dtype());
                     for (auto [rows, cols] : tile({m, n}))
                       atomic_add(y[cols], sum(x[rows, cols], axis(0)));
                     return y;
                   },
                   {dense(dtype, {m, n})});
}

/// Every atomic, each element changed once and its old value kept.
inline KernelCase every_atomic(DType dtype, int64_t n) {
  return make_case("every_atomic",
                   [](Tensor x, Tensor y) {
                     const bool integers = is_integer(x.dtype());
                     std::vector<Tensor> old;
                     for (int k = 0; k < 8; ++k) old.push_back(empty_like(x));
                     for (auto i : tile(x.size(0))) {
                       old[0][i] = atomic_add(y[i], x[i]);
                       old[1][i] = atomic_max(y[i], x[i]);
                       old[2][i] = atomic_min(y[i], x[i], {.mask = i.index() % 2 == 0});
                       old[3][i] = atomic_cas(y[i], x[i], cast(i.index(), x.dtype()));
                       old[4][i] = integers ? atomic_and(y[i], 5) : Tile(y[i]);
                       old[5][i] = integers ? atomic_or(y[i], 2) : Tile(y[i]);
                       old[6][i] = integers ? atomic_xor(y[i], 3) : Tile(y[i]);
                       old[7][i] = atomic_exchange(y[i], x[i] + 1, {.order = Order::acq_rel});
                     }
                     return std::tuple{old[0], old[1], old[2], old[3],
                                       old[4], old[5], old[6], old[7]};
                   },
                   {dense(dtype, {n}), dense(dtype, {n})});
}

/// Extremes of all elements, from a first value that is no zero.
inline KernelCase atomic_extremes(DType dtype, int64_t n) {
  return make_case(
      "atomic_extremes",
      [](Tensor x) {
        const bool real = is_float(x.dtype());
        Tensor low = real ? full_tensor({1}, 100.0, x.dtype()) : full_tensor({1}, 100, x.dtype());
        Tensor high = real ? full_tensor({1}, -100.0, x.dtype()) : full_tensor({1}, -1, x.dtype());
        for (auto i : tile(x.size(0))) {
          atomic_min(low[i.index() * 0], x[i]);
          atomic_max(high[0], max(x[i], axis(0)), {.order = Order::release});
        }
        return std::tuple{low, high};
      },
      {dense(dtype, {n})});
}

/// A scalar atomic whose result is used, in each program of its own element.
inline KernelCase scalar_atomics(int64_t n) {
  return make_case("scalar_atomics",
                   [](Tensor x) {
                     Tensor y = full_tensor({x.size(0)}, 7, i32);
                     Tensor z = empty({x.size(0), 8}, i32);
                     for (auto i : grid(x.size(0))) {
                       Tile first = atomic_add(y[i], x[i]);
                       Tile second = atomic_add(y[i], 10, {.order = Order::acq_rel});
                       z[i, all] = arange(8, i32) * first + second;
                     }
                     return std::tuple{y, z};
                   },
                   {dense(i32, {n})});
}

/// Blocks of a matrix copied through views: the last ones reach past the ends.
inline KernelCase copied_blocks(DType dtype, int64_t m, int64_t n) {
  return make_case("copied_blocks",
                   [](Tensor x) {
                     auto [m, n] = sizes<2>(x);
                     Tensor y = empty_like(x);
                     for (auto [i, j] : grid({cdiv(m, 4), cdiv(n, 8)})) {
                       Tensor from = x.tile({4, 8}, {i, j}), to = y.tile({4, 8}, {i, j});
                       to[all, all] = from[all, all] * 2;
                     }
                     return y;
                   },
                   {dense(dtype, {m, n})});
}

/// Views of views: a part of a part, a row of it, its transpose, by loops and by index tiles.
inline KernelCase nested_views(int64_t m, int64_t n) {
  return make_case(
      "nested_views",
      [](Tensor x) {
        auto [m, n] = sizes<2>(x);
        Tensor part = x.slice(0, 1, m).slice(1, 2, n - 1);
        Tensor turned = part.t();
        auto [rows_of, cols_of] = sizes<2>(turned);
        Tensor y = empty({rows_of, cols_of}, x.dtype()), z = empty({cols_of}, x.dtype());
        Tensor w = empty({rows_of, cols_of}, x.dtype());
        for (auto [rows, cols] : tile({rows_of, cols_of})) {
          y[rows, cols] = turned[rows, cols];
          w[rows, cols] = turned[rows.index() - 1, cols];
          if_(rows.id() == 0, [&] { z[cols] = turned.select(0, 1)[cols] + part[cols, 0]; });
        }
        return std::tuple{y, z, w};
      },
      {dense(f32, {m, n})});
}

/// Parts that begin at run-time positions, also of parts.
inline KernelCase moving_views(int64_t n, int64_t begin) {
  return make_case("moving_views",
                   [](Tensor x, Scalar<int64_t> begin) {
                     Tensor y = empty({8}, x.dtype()), z = empty({8}, x.dtype()),
                            w = empty({8}, x.dtype());
                     for (auto i : tile(8)) {
                       y[i] = x.narrow(0, begin, 8)[i];
                       z[i] = x.slice(0, 2, 9).narrow(0, begin, 5)[i];
                       w[i] = x.slice(0, begin, begin + 3)[i.index()];
                     }
                     return std::tuple{y, z, w};
                   },
                   {dense(f32, {n}), KernelArg::scalar(i64)}, {begin});
}

/// A product of transposed views, which are read where they are.
inline KernelCase product_of_views(DType dtype, int64_t m, int64_t n, int64_t k) {
  return make_case("product_of_views",
                   [](Tensor a, Tensor b) {
                     Tensor left = a.t(), right = b.slice(0, 1, b.size(0));
                     auto [m, k] = sizes<2>(left);
                     Tensor c = empty({m, right.size(1)}, a.dtype());
                     for (auto [rows, cols] : tile({m, right.size(1)})) {
                       Tile acc = zeros({rows, cols}, f32);
                       for (auto ks : tile(k)) acc = addmm(acc, left[rows, ks], right[ks, cols]);
                       c[rows, cols] = acc;
                     }
                     return c;
                   },
                   {dense(dtype, {k, m}), dense(dtype, {k + 1, n})});
}

/// Rows of 0 to 6 elements one after the other: what elementwise work makes of those that do not
/// exist is left out of reductions and not stored.
inline KernelCase jagged_rows(DType dtype, int64_t m) {
  return make_case("jagged_rows",
                   [](Tensor x, Tensor lengths) {
                     const Size m = lengths.size(0);
                     Tensor sums = empty({m}, x.dtype()), most = empty({m}, x.dtype());
                     Tensor table = full_tensor({m, 6}, 9, x.dtype());
                     for (auto rows : tile(m)) {
                       Tile length = lengths[rows] + 3;
                       Tile sum_of = zeros({rows}, x.dtype()),
                            most_of = full({rows}, -5, x.dtype());
                       for (auto cols : jagged_tile(length)) {
                         Tile at = (rows.index() * 6)(all, none) + cols.index()(none, all);
                         Tile more = x[at] + 1;
                         sum_of += sum(more, axis(1));
                         most_of = max(most_of, max(more, axis(1)));
                         table[rows, cols] = more;
                       }
                       sums[rows] = sum_of;
                       most[rows] = most_of;
                     }
                     return std::tuple{sums, most, table};
                   },
                   {dense(dtype, {m * 6}), dense(i32, {m})});
}

/// A product over as much of k as each row has.
inline KernelCase jagged_product(int64_t m, int64_t n) {
  return make_case("jagged_product",
                   [](Tensor a, Tensor b, Tensor lengths) {
                     auto [m, n] = std::array{a.size(0), b.size(1)};
                     Tensor c = empty({m, n}, f32);
                     for (auto [rows, cols] : tile({m, n})) {
                       Tile acc = zeros({rows, cols}, f32);
                       for (auto ks : jagged_tile(lengths[rows] + 3))
                         acc = addmm(acc, a[rows, ks] + 1, b[ks, cols]);
                       c[rows, cols] = acc;
                     }
                     return c;
                   },
                   {dense(f32, {m, 6}), dense(f32, {6, n}), dense(i32, {m})});
}

/// A product whose k is shared by two programs that add up.
inline KernelCase split_product(DType dtype, int64_t m, int64_t n, int64_t k) {
  return make_case("split_product",
                   [](Tensor a, Tensor b) {
                     const Size m = a.size(0), n = b.size(1), half = a.size(1) / 2;
                     Tensor c = zeros_tensor({m, n}, f32);
                     for (auto [part, rows, cols] : tile({each(2), m, n})) {
                       Tile acc = zeros({rows, cols}, f32);
                       Tile first = part * half;
                       for (auto ks : tile(first, first + half))
                         acc = addmm(acc, a[rows, ks], b[ks, cols]);
                       atomic_add(c[rows, cols], acc);
                     }
                     return c;
                   },
                   {dense(dtype, {m, k}), dense(dtype, {k, n})});
}

inline std::vector<KernelCase> memory_kernels() {
  std::vector<KernelCase> all;
  all.push_back(gather_rows(f32, 13, 20));
  all.push_back(gather_rows(bf16, 9, 16, 8));
  all.push_back(gather_elements(7, 10));
  all.push_back(gather_crossed(6, 5));
  all.push_back(scatter_rows(f32, 13, 20, 5, 0));
  all.push_back(scatter_rows(f16, 12, 16, 5, 2));
  all.push_back(scatter_and_gather(40));
  all.push_back(masked(f32, 11, 20));
  all.push_back(masked(bf16, 8, 16));
  all.push_back(evicting(f32, 50));
  all.push_back(evicting(bf16, 64));
  all.push_back(evicting(i8, 33));
  all.push_back(gathered_product(f32, 12, 16, 20));
  all.push_back(copied_blocks(f32, 10, 20));
  all.push_back(copied_blocks(i8, 8, 16));
  all.push_back(nested_views(9, 12));
  for (const int64_t begin : {-2, 0, 3, 30}) all.push_back(moving_views(12, begin));
  all.push_back(product_of_views(f32, 12, 16, 20));
  all.push_back(jagged_rows(f32, 11));
  all.push_back(jagged_rows(i32, 8));
  all.push_back(jagged_product(9, 12));
  return all;
}

/// Programs leave their parts in a table; the last one, whichever it is, adds them up.
inline KernelCase last_adds_up(int64_t n, Order order) {
  return make_case("last_adds_up",
                   [order](Tensor x) {
                     Tensor count = zeros_tensor({1}, i32), parts = empty({8}, f32);
                     Tensor total = empty({1}, f32);
                     const Size each_one = x.size(0) / 8;
                     for (auto part : grid(8)) {
                       parts[part] = sum(x.narrow(0, part * each_one, each_one)[all]);
                       Tile before = atomic_add(count[0], 1, {.order = order});
                       if_(before == 7, [&] { total[0] = sum(parts[all]); });
                     }
                     return std::tuple{total, count, parts};
                   },
                   {dense(f32, {n})});
}

/// Counters that the kernel does not return, and atomics of scalars under a mask.
inline KernelCase hidden_counters(int64_t n) {
  return make_case("hidden_counters",
                   [](Tensor x) {
                     Tensor count = full_tensor({3}, 5, i32), zero = zeros_tensor({2}, i32);
                     Tensor y = empty({x.size(0)}, i32);
                     for (auto i : grid(x.size(0))) {
                       atomic_add(count[0], x[i], {.mask = i % 2 == 0});
                       atomic_add(zero[0], 1);
                       y[i] = atomic_add(count[2], 0) + atomic_add(zero[1], 0);
                     }
                     return y;
                   },
                   {dense(i32, {n})});
}

inline std::vector<KernelCase> atomic_kernels() {
  std::vector<KernelCase> all;
  all.push_back(histogram(i32, 50));
  all.push_back(histogram(f32, 33));
  for (const DType dtype : {f32, f16, bf16, i64}) all.push_back(atomic_column_sum(dtype, 12, 16));
  all.push_back(atomic_column_sum(f32, 9, 13));
  for (const DType dtype : {i32, i64, f32, f64, f16, bf16}) all.push_back(every_atomic(dtype, 20));
  for (const DType dtype : {i32, f32, bf16}) all.push_back(atomic_extremes(dtype, 40));
  all.push_back(scalar_atomics(5));
  all.push_back(split_product(f32, 12, 16, 16));
  all.push_back(last_adds_up(64, Order::acq_rel));
  all.push_back(hidden_counters(6));
  return all;
}

}  // namespace tilewright::testing
