// Reductions and scans by a function of the kernel's own, over one tile or several at once; the
// largest and smallest elements with their places.
#pragma once

#include <array>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include "tilewright/dsl/reduce.h"

namespace tilewright {

/// How a scan goes along its dimension.
struct ScanOptions {
  bool reverse = false;    ///< from the last position to the first
  bool exclusive = false;  ///< an element's result leaves out the element itself
};

namespace dsl {

/// What combines the left values with the right ones.
using CombineFn =
    std::function<std::vector<Operand>(const std::vector<Tile>&, const std::vector<Tile>&)>;

std::vector<Tile> reduce_by(const Axes& axes, const std::vector<Operand>& values,
                            const std::vector<Literal>& identities, const CombineFn& fn,
                            KeepDims keep, Loc loc);
std::vector<Tile> scan_by(const Axes& axes, const std::vector<Operand>& values,
                          const std::vector<Literal>& identities, const CombineFn& fn,
                          ScanOptions options, Loc loc);

template <class T>
using TileFor = Tile;

template <class... T>
std::vector<Operand> operands_of(const std::tuple<T...>& values, Loc loc) {
  return std::apply([&](const T&... x) { return std::vector<Operand>{Operand(x, loc)...}; },
                    values);
}

template <class... T>
std::vector<Literal> literals_of(const std::tuple<T...>& numbers, Loc loc) {
  return std::apply([&](const T&... x) { return std::vector<Literal>{Literal(x, loc)...}; },
                    numbers);
}

template <size_t... I>
auto tuple_of(const std::vector<Tile>& tiles, std::index_sequence<I...>) {
  return std::tuple{Tile(tiles[I])...};
}

/// A function of two tuples as one of two lists.
template <size_t N, class F>
CombineFn on_lists(const F& fn, Loc loc) {
  return [&fn, loc](const std::vector<Tile>& left, const std::vector<Tile>& right) {
    const auto all = std::make_index_sequence<N>{};
    const auto result = fn(tuple_of(left, all), tuple_of(right, all));
    static_assert(std::tuple_size_v<std::remove_cv_t<decltype(result)>> == N,
                  "the function returns a std::tuple of as many values as it combines");
    return operands_of(result, loc);
  };
}

template <class F>
CombineFn on_tile(const F& fn, Loc loc) {
  return [&fn, loc](const std::vector<Tile>& left, const std::vector<Tile>& right) {
    return std::vector<Operand>{Operand(fn(left[0], right[0]), loc)};
  };
}

}  // namespace dsl

// A combining function takes the left and the right elements, as scalars, and returns what they
// combine to: arithmetic, comparisons and tw::where on them and on scalars of the kernel. It is
// associative; that of a reduction also does not mind the order. `identity` changes nothing when
// combined with anything, and stands for positions past a clipped tile's end. Narrow floats are
// combined in f32 and rounded once. Errors: bad_axis, shape_mismatch, combine_body, combine_result,
// combine_writes, and single_axis for scans.

/// `auto [mean, m2, n] = tw::reduce(tw::axis(1), std::tuple{x, zero, one}, std::tuple{0., 0., 0.},
/// [](auto left, auto right) { auto [a, b, c] = left; ..; return std::tuple{..}; })`: tiles of one
/// shape, combined along dimensions, which are dropped.
template <class... T, class... I, class F>
std::tuple<dsl::TileFor<T>...> reduce(const Axes& axes, const std::tuple<T...>& values,
                                      const std::tuple<I...>& identity, const F& fn,
                                      KeepDims keep = KeepDims::no, Loc loc = Loc::current()) {
  static_assert(sizeof...(T) == sizeof...(I), "tw::reduce takes an identity for each value");
  return dsl::tuple_of(
      dsl::reduce_by(axes, dsl::operands_of(values, loc), dsl::literals_of(identity, loc),
                     dsl::on_lists<sizeof...(T)>(fn, loc), keep, loc),
      std::index_sequence_for<T...>{});
}
/// The same of one tile: `tw::reduce(tw::axis(1), x, 1.0, [](auto a, auto b) { return a * b; })`.
template <class F>
Tile reduce(const Axes& axes, const Operand& x, const dsl::Literal& identity, const F& fn,
            KeepDims keep = KeepDims::no, Loc loc = Loc::current()) {
  return dsl::reduce_by(axes, {x}, {identity}, dsl::on_tile(fn, loc), keep, loc)[0];
}

/// Each element combined with all before it along one dimension: fn(fn(x0, x1), x2), ..
template <class... T, class... I, class F>
std::tuple<dsl::TileFor<T>...> associative_scan(const Axes& axes, const std::tuple<T...>& values,
                                                const std::tuple<I...>& identity, const F& fn,
                                                ScanOptions options = {},
                                                Loc loc = Loc::current()) {
  static_assert(sizeof...(T) == sizeof...(I),
                "tw::associative_scan takes an identity for each value");
  return dsl::tuple_of(
      dsl::scan_by(axes, dsl::operands_of(values, loc), dsl::literals_of(identity, loc),
                   dsl::on_lists<sizeof...(T)>(fn, loc), options, loc),
      std::index_sequence_for<T...>{});
}
template <class F>
Tile associative_scan(const Axes& axes, const Operand& x, const dsl::Literal& identity, const F& fn,
                      ScanOptions options = {}, Loc loc = Loc::current()) {
  return dsl::scan_by(axes, {x}, {identity}, dsl::on_tile(fn, loc), options, loc)[0];
}

/// Sums (products) of all elements up to each along one dimension; dtypes are those of tw::sum.
/// Errors: bad_axis, single_axis, function_dtype.
Tile cumsum(const Operand& x, const Axes& axes, ScanOptions options = {}, Loc loc = Loc::current());
Tile cumprod(const Operand& x, const Axes& axes, ScanOptions options = {},
             Loc loc = Loc::current());

/// Elements and where they were: i64 positions along the dimension, within the tile.
struct ValuesAndIndices {
  Tile values, indices;
};
/// The largest (smallest) element along one dimension and its position: the first NaN if there is
/// one, else the first of equal elements. Errors: bad_axis, single_axis, reduce_nothing.
ValuesAndIndices max_with_index(const Operand& x, const Axes& axes, KeepDims keep = KeepDims::no,
                                Loc loc = Loc::current());
ValuesAndIndices min_with_index(const Operand& x, const Axes& axes, KeepDims keep = KeepDims::no,
                                Loc loc = Loc::current());
/// The position alone.
Tile argmax(const Operand& x, const Axes& axes, KeepDims keep = KeepDims::no,
            Loc loc = Loc::current());
Tile argmin(const Operand& x, const Axes& axes, KeepDims keep = KeepDims::no,
            Loc loc = Loc::current());

}  // namespace tilewright
