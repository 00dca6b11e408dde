// Kernels whose loops and branches depend on run-time values, and kernels of several grids.
#pragma once

#include <cmath>
#include <tuple>

#include "tests/codegen/kernel_case.h"

namespace tilewright::testing {

/// Sums of the columns up to the diagonal: the inner loop ends where the row tile does.
inline KernelCase causal_sum(int64_t n) {
  return make_case("causal_sum",
                   [](Tensor x) {
                     Tensor y = empty({x.size(0)}, f32);
                     for (auto rows : tile(x.size(0))) {
                       Tile total = zeros({rows}, f32);
                       for (auto cols : tile(rows.end())) {
                         Tile below = cols.index()[none, all] <= rows.index()[all, none];
                         total += sum(where(below, x[rows, cols], 0), axis(1));
                       }
                       y[rows] = total;
                     }
                     return y;
                   },
                   {dense(f32, {n, n})});
}

/// Sums of rows of different lengths: the loop goes on to the longest of the tile's rows.
inline KernelCase jagged_sums(int64_t m, int64_t n) {
  return make_case("jagged_sums",
                   [](Tensor x, Tensor lengths) {
                     Tensor y = empty({x.size(0)}, f32);
                     for (auto rows : tile(x.size(0))) {
                       Tile length = lengths[rows] * 4;
                       Tile total = zeros({rows}, f32);
                       for (auto cols : tile(max(length))) {
                         Tile inside = cast(cols.index(), i32)[none, all] < length[all, none];
                         total += sum(where(inside, x[rows, cols], 0), axis(1));
                       }
                       y[rows] = total;
                     }
                     return y;
                   },
                   {dense(f32, {m, n}), dense(i32, {m})});
}

/// Sums of segments whose ends are in memory, in whatever order: many are empty.
inline KernelCase segment_sums(int64_t segments, int64_t n) {
  return make_case("segment_sums",
                   [](Tensor ends, Tensor x) {
                     Tensor y = empty({ends.size(0)}, f32);
                     for (auto i : grid(ends.size(0))) {
                       Tile total = zeros({}, f32);
                       Tile end = ends[i] * 4;
                       for (auto k : tile(i, end)) total += sum(x[k]);
                       y[i] = total;
                     }
                     return y;
                   },
                   {dense(i32, {segments}), dense(f32, {n})});
}

/// Tiles of a tile, in two dimensions.
inline KernelCase tiles_of_tiles(int64_t m, int64_t n) {
  return make_case("tiles_of_tiles",
                   [](Tensor x) {
                     Tensor y = empty_like(x);
                     for (auto [outer, cols] : tile({x.size(0), x.size(1)}))
                       for (auto [rows, part] : tile({outer, cols}, {block(2), block(4)}))
                         y[rows, part] = x[rows, part] + cast(rows.id() * 10 + part.id(), f32);
                     return y;
                   },
                   {dense(f32, {m, n})});
}

/// A scalar loop: doubles until 100, and carries a tile on the way.
inline KernelCase doubled_until(int64_t n) {
  return make_case("doubled_until",
                   [](Tensor start, Tensor x) {
                     Tensor y = empty_like(x), counts = empty({start.size(0)}, i64);
                     for (auto i : grid(start.size(0))) {
                       Scalar<int64_t> value = cast(start[i], i64), count = 0;
                       Tile row = x[i, all];
                       while_([&] { return (value > 0) & (value < 100); },
                              [&] {
                                row = row * 2 + cast(value, f32);
                                value = value * 2;
                                count = count + 1;
                              });
                       y[i, all] = row;
                       counts[i] = count;
                     }
                     return std::tuple{y, counts};
                   },
                   {dense(i32, {n}), dense(f32, {n, 33})});
}

/// Greatest common divisors by subtraction: a loop in a loop, and carried scalars that swap.
inline KernelCase common_divisors(int64_t n) {
  return make_case("common_divisors",
                   [](Tensor x, Tensor y) {
                     Tensor z = empty({x.size(0)}, i64);
                     for (auto i : grid(x.size(0))) {
                       Scalar<int64_t> a = cast(x[i], i64) * 6 + 24, b = cast(y[i], i64) * 9 + 27;
                       while_([&] { return b > 0; },
                              [&] {
                                while_([&] { return a >= b; }, [&] { a = a - b; });
                                std::swap(a, b);
                              });
                       z[i] = a;
                     }
                     return z;
                   },
                   {dense(i32, {n}), dense(i32, {n})});
}

/// Follows links in memory, with a loop over tiles and a branch inside.
inline KernelCase followed_links(int64_t n) {
  return make_case("followed_links",
                   [](Tensor next, Tensor x) {
                     Tensor y = empty({next.size(0)}, f32);
                     for (auto i : grid(next.size(0))) {
                       Scalar<int64_t> at = i, steps = 0;
                       Tile total = zeros({}, f32);
                       while_([&] { return (at >= 0) & (steps < 5); },
                              [&] {
                                Tile part = zeros({}, f32);
                                for (auto cols : tile(x.size(1))) part += sum(x[at, cols]);
                                if_(
                                    part > 0, [&] { total = total + part; },
                                    [&] { total = total - 1; });
                                at = cast(next[at], i64);
                                steps = steps + 1;
                              });
                       y[i] = total;
                     }
                     return y;
                   },
                   {dense(i32, {n}), dense(f32, {n, 20})});
}

/// Else-if chains that assign tiles and scalars, store, and stand in a loop.
inline KernelCase chosen_branches(int64_t m, int64_t n) {
  return make_case("chosen_branches",
                   [](Tensor x, Scalar<int32_t> limit) {
                     Tensor y = empty_like(x), flags = empty({x.size(0)}, i32);
                     for (auto r : grid(x.size(0))) {
                       Scalar<int64_t> kind = 0;
                       Tile bias = zeros({}, f32);
                       for (auto cols : tile(x.size(1))) {
                         Tile value = x[r, cols];
                         if_(
                             cols.id() == 0, [&] { bias = bias + 1; },
                             [&] {
                               if_(
                                   cols.begin() < cast(limit, i64),
                                   [&] {
                                     value = value * 2;
                                     kind = kind + 1;
                                     bias = sum(value);
                                   },
                                   [&] { if_(r > 1, [&] { value = value - bias; }); });
                             });
                         y[r, cols] = value + bias;
                       }
                       if_(
                           kind > 1, [&] { flags[r] = 7; }, [&] { flags[r] = cast(kind, i32); });
                     }
                     return std::tuple{y, flags};
                   },
                   {dense(f32, {m, n}), KernelArg::scalar(i32)}, {HostArgument(int64_t{12})});
}

/// Every third row from the second on, up to a limit known at run time.
inline KernelCase rows_in_steps(int64_t m, int64_t n, int64_t limit) {
  return make_case("rows_in_steps",
                   [](Tensor x, Tensor y, Scalar<int64_t> limit) {
                     for (auto r : grid(1, limit, 3))
                       for (auto c : grid(0, x.size(1), 2)) y[r, c] = x[r, c] + cast(r + c, f32);
                   },
                   {dense(f32, {m, n}), dense(f32, {m, n}), KernelArg::scalar(i64)},
                   {HostArgument(limit)});
}

inline std::vector<KernelCase> control_kernels() {
  std::vector<KernelCase> all;
  all.push_back(causal_sum(21));
  all.push_back(jagged_sums(10, 14));
  all.push_back(segment_sums(9, 30));
  all.push_back(tiles_of_tiles(13, 19));
  all.push_back(doubled_until(6));
  all.push_back(common_divisors(9));
  all.push_back(followed_links(7));
  all.push_back(chosen_branches(4, 40));
  all.push_back(rows_in_steps(9, 7, 8));
  all.push_back(rows_in_steps(9, 7, 0));
  return all;
}

// --- kernels of several grids

/// Two results, each by a grid of its own, that nothing orders.
inline KernelCase two_grids(int64_t m, int64_t n) {
  return make_case("two_grids",
                   [](Tensor x, Tensor unused) {
                     (void)unused;
                     auto [m, n] = sizes<2>(x);
                     Tensor sums = empty({m}, f32), twice = empty({m, n}, f32);
                     for (auto rows : tile(m)) {
                       Tile total = zeros({rows}, f32);
                       for (auto cols : tile(n)) total += sum(x[rows, cols], axis(1));
                       sums[rows] = total;
                     }
                     for (auto [rows, cols] : tile({m, n})) twice[rows, cols] = x[rows, cols] * 2;
                     return std::tuple{sums, twice};
                   },
                   {dense(f32, {m, n}), dense(f32, {3})});
}

/// A product whose k is split by the user: parts to workspace, then their sum in order.
inline KernelCase split_product(int64_t m, int64_t n, int64_t k, const TunableValues& tunables) {
  const auto body = [](Tensor a, Tensor b) {
    auto [m, k] = sizes<2>(a);
    Size n = b.size(1), parts = tunable("split_k", {2, 1, 3});
    Size share = cdiv(k, parts);
    Tensor c = empty({m, n}, f32), partial = empty({parts, m, n}, f32);
    for (auto [part, rows, cols] : tile({tilewright::each(parts), m, n})) {
      Tile acc = zeros({rows, cols}, f32);
      Tile begin = part * share;
      for (auto ks : tile(begin, minimum(begin + share, k)))
        acc = addmm(acc, a[rows, ks], b[ks, cols]);
      partial[part, rows, cols] = acc;
    }
    barrier();
    for (auto [rows, cols] : tile({m, n})) {
      Tile total = zeros({rows, cols}, f32);
      for (auto part : grid(parts)) total += partial[part, rows, cols];
      c[rows, cols] = total;
    }
    return c;
  };
  const std::vector<KernelArg> args = {dense(f32, {m, k}), dense(f32, {k, n})};
  return {"split_product", make_traceable("split_product", body).trace(args, tunables)};
}

/// Three grids: rows are summed, the sums too, and everything is divided by the total.
inline KernelCase shares(int64_t m, int64_t n) {
  return make_case("shares",
                   [](Tensor x) {
                     auto [m, n] = sizes<2>(x);
                     Tensor sums = empty({m}, f32), total = empty({1}, f32), y = empty_like(x);
                     for (auto rows : tile(m)) sums[rows] = sum(abs(x[rows, all]) + 1, axis(1));
                     barrier();
                     for (auto one : grid(1)) total[one] = sum(sums[all]);
                     barrier();
                     for (auto [rows, cols] : tile({m, n}))
                       y[rows, cols] = x[rows, cols] / total[0];
                     return y;
                   },
                   {dense(f32, {m, n})});
}

/// The second grid writes what the first has read.
inline KernelCase shifted_in_place(int64_t n) {
  return make_case("shifted_in_place",
                   [](Tensor x) {
                     Tensor old = empty_like(x);
                     for (auto i : tile(x.size(0))) old[i] = x[i];
                     barrier();
                     for (auto i : grid(x.size(0) - 1)) x[i] = old[i + 1];
                   },
                   {dense(f32, {n})});
}

inline std::vector<KernelCase> kernels_of_grids() {
  std::vector<KernelCase> all;
  all.push_back(two_grids(13, 20));
  all.push_back(split_product(14, 11, 19, {}));
  all.push_back(split_product(14, 11, 19, {{"split_k", 3}}));
  all.push_back(shares(11, 24));
  all.push_back(shifted_in_place(30));
  return all;
}

}  // namespace tilewright::testing
