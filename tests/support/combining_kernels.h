// Kernels that combine elements by functions of their own, scan, sort, join and split.
#pragma once

#include <tuple>

#include "tilewright/dsl/dsl.h"

namespace tilewright::testing {

/// Mean, sum of squared distances and count of two sets of numbers made those of both; of scalars
/// and of tiles.
inline constexpr auto merge_moments = [](auto left, auto right) {
  auto [mean, m2, n] = left;
  auto [other_mean, other_m2, other_n] = right;
  Tile count = n + other_n;
  Tile share = where(count > 0.0, other_n / maximum(count, 1.0), 0.0);
  Tile delta = other_mean - mean;
  return std::tuple{mean + delta * share, m2 + other_m2 + delta * delta * n * share, count};
};

/// Mean and variance of rows and 8, tile by tile: what is past a clipped tile's end is not 0.
inline constexpr auto kWelford = [](Tensor x) {
  auto [m, n] = sizes<2>(x);
  Tensor means = empty({m}, f32), variances = empty({m}, f32);
  for (auto rows : tile(m)) {
    Tile mean = zeros({rows}, f32), m2 = zeros({rows}, f32), count = zeros({rows}, f32);
    for (auto cols : tile(n)) {
      Tile part = cast(x[rows, cols], f32) + 8.0;
      auto moments = reduce(axis(1), std::tuple{part, zeros_like(part), full_like(part, 1)},
                            std::tuple{0, 0, 0}, merge_moments);
      auto [a, b, c] = merge_moments(std::tuple{mean, m2, count}, moments);
      mean = a;
      m2 = b;
      count = c;
    }
    means[rows] = mean;
    variances[rows] = m2 / count;
  }
  return std::tuple{means, variances};
};

/// The largest element of each row and where it is, tile by tile; of columns where the smallest is.
inline constexpr auto kArgExtrema = [](Tensor x) {
  auto [m, n] = sizes<2>(x);
  Tensor tops = empty({m}, x.dtype()), where_top = empty({m}, i64);
  Tensor lowest = empty({m, 1}, i64);
  for (auto rows : tile(m)) {
    Tile best = zeros({rows}, i64);
    Tile top = zeros({rows}, x.dtype());
    for (auto cols : tile(n)) {
      auto [value, index] = max_with_index(x[rows, cols], axis(1));
      Tile better = value > top || cols.begin() == 0;
      top = where(better, value, top);
      best = where(better, index + cols.begin(), best);
    }
    tops[rows] = top;
    where_top[rows] = best;
    lowest[rows, all] = argmin(x[rows, all], axis(-1), keep_dims);
  }
  return std::tuple{tops, where_top, lowest};
};

/// Scans of whole rows, both ways.
inline constexpr auto kRowScans = [](Tensor x) {
  auto [m, n] = sizes<2>(x);
  Tensor sums = empty_like(x), later = empty_like(x), signs = empty_like(x);
  for (auto rows : tile(m)) {
    Tile row = x[rows, all];
    sums[rows, all] = cumsum(row, axis(1));
    later[rows, all] = cumsum(row, axis(1), {.reverse = true, .exclusive = true});
    signs[rows, all] = cumprod(where(row > 0, full_like(row, 1), full_like(row, -1)), axis(1),
                               {.exclusive = true});
  }
  return std::tuple{sums, later, signs};
};

/// Scans down columns, tile by tile, forwards with a carry and backwards within each tile.
inline constexpr auto kColumnScans = [](Tensor x) {
  auto [m, n] = sizes<2>(x);
  Tensor sums = empty_like(x), rest = empty_like(x);
  for (auto cols : tile(n)) {
    Tile carry = zeros({cols}, x.dtype());
    for (auto rows : tile(m)) {
      Tile part = x[rows, cols];
      sums[rows, cols] = cumsum(part, axis(0)) + carry[none, all];
      rest[rows, cols] = associative_scan(axis(0), part, 0, [](auto a, auto b) { return a + b; },
                                          {.reverse = true});
      carry = carry + sum(part, axis(0));
    }
  }
  return std::tuple{sums, rest};
};

/// Sums that begin again where a flag is set: a scan of two tiles, whose function does not commute.
inline constexpr auto kSegmentedSums = [](Tensor x, Tensor starts) {
  auto [m, n] = sizes<2>(x);
  Tensor sums = empty_like(x);
  for (auto rows : tile(m)) {
    auto [total, flag] =
        associative_scan(axis(1), std::tuple{x[rows, all], starts[rows, all] > 0},
                         std::tuple{0, false}, [](auto left, auto right) {
                           auto [a, started] = left;
                           auto [b, starts_here] = right;
                           return std::tuple{where(starts_here, b, a + b), started || starts_here};
                         });
    sums[rows, all] = where(flag, total, 0.0);
  }
  return sums;
};

/// Rows in order, with where their elements were, and the three largest.
inline constexpr auto kSortedRows = [](Tensor x) {
  auto [m, n] = sizes<2>(x);
  Tensor sorted = empty_like(x), order = empty({m, n}, i64);
  Tensor best = empty({m, 3}, x.dtype()), places = empty({m, 3}, i64);
  for (auto rows : tile(m)) {
    Tile row = x[rows, all];
    sorted[rows, all] = sort(row, axis(1));
    order[rows, all] = argsort(row, axis(1), descending);
    auto [values, indices] = topk(row, 3, axis(1));
    best[rows, all] = values;
    places[rows, all] = indices;
  }
  return std::tuple{sorted, order, best, places};
};

/// Clipped tiles of columns sorted with what belongs to them.
inline constexpr auto kSortedColumns = [](Tensor keys, Tensor values) {
  auto [m, n] = sizes<2>(keys);
  Tensor k = empty_like(keys), v = empty_like(values);
  for (auto [rows, cols] : tile({m, n})) {
    auto [key, value] = sort(std::tuple{keys[rows, cols], values[rows, cols]}, axis(0), descending);
    k[rows, cols] = key;
    v[rows, cols] = value;
  }
  return std::tuple{k, v};
};

/// Pairs taken apart, exchanged and joined; then three tiles stacked in front.
inline constexpr auto kJoinedPairs = [](Tensor x) {
  const Size m = x.size(0), n = x.size(1);
  Tensor y = empty_like(x), z = empty({m, 3, n}, x.dtype());
  Tensor flat = empty({m, 2 * n}, x.dtype());
  for (auto rows : tile(m)) {
    Tile pairs = x[rows, all, all];
    auto [even, odd] = split(pairs);
    y[rows, all, all] = join(odd, even + odd);
    z[rows, all, all] = stack({even, odd, even}, 1);
    flat[rows, all] = reshape(pairs, {rows, 2 * n});
  }
  return std::tuple{y, z, flat};
};

/// Reductions of three dimensions, along every set of them.
inline constexpr auto kReductionsOfThree = [](Tensor x) {
  auto [m, n, k] = sizes<3>(x);
  Tensor y = empty({m, n, k}, x.dtype()), b = empty({k, m, n}, boolean);
  for (auto rows : tile(m)) {
    Tile t = x[rows, all, all];
    Tile first = sum(t, axis(1), keep_dims) + max(t, axis(2), keep_dims);
    Tile more = min(t, axis(1, 2), keep_dims) + prod(t, axis(2), keep_dims);
    y[rows, all, all] = first + more + max(t, axis(0, 1))[none, none, all];
    Tile some = any(t > 1, axis(1), keep_dims) && !all(t > -2, axis(2), keep_dims);
    b[all, rows, all] = permute(some || all(t < 3), {2, 0, 1});
  }
  return std::tuple{y, b};
};

}  // namespace tilewright::testing
