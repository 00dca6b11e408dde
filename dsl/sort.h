// Tiles in sorted order.
#pragma once

#include "tilewright/dsl/combine.h"

namespace tilewright {

enum class SortOrder : bool { ascending, descending };
inline constexpr SortOrder ascending = SortOrder::ascending;
inline constexpr SortOrder descending = SortOrder::descending;

namespace dsl {
std::vector<Tile> sort_by(const std::vector<Operand>& values, const Axes& axes, SortOrder order,
                          Loc loc);
}  // namespace dsl

// Along one dimension. Equal elements keep their order, and NaN comes last either way. What is past
// a clipped tile's end stays there. Errors: bad_axis, single_axis.

Tile sort(const Operand& x, const Axes& axes, SortOrder order = SortOrder::ascending,
          Loc loc = Loc::current());
/// Tiles of one shape, all in the order of the first: `auto [k, v] = tw::sort(std::tuple{keys,
/// values}, tw::axis(1))`. Errors: shape_mismatch.
template <class... T>
std::tuple<dsl::TileFor<T>...> sort(const std::tuple<T...>& values, const Axes& axes,
                                    SortOrder order = SortOrder::ascending,
                                    Loc loc = Loc::current()) {
  return dsl::tuple_of(dsl::sort_by(dsl::operands_of(values, loc), axes, order, loc),
                       std::index_sequence_for<T...>{});
}
/// i64 positions of the sorted elements.
Tile argsort(const Operand& x, const Axes& axes, SortOrder order = SortOrder::ascending,
             Loc loc = Loc::current());
/// The first k elements in sorted order, the largest first unless asked for otherwise, and their
/// positions; the dimension's size is known when tracing. Errors: topk_count.
ValuesAndIndices topk(const Operand& x, int64_t k, const Axes& axes,
                      SortOrder order = SortOrder::descending, Loc loc = Loc::current());

}  // namespace tilewright
