#include "tilewright/dsl/sort.h"

#include "tilewright/dsl/axes.h"
#include "tilewright/dsl/elementwise.h"
#include "tilewright/dsl/jagged.h"
#include "tilewright/dsl/trace.h"
#include "tilewright/ir/combine.h"
#include "tilewright/ir/error.h"

namespace tilewright {
namespace {

using ir::Value;

/// The positions along `axis` of a tile's elements, as i32: a dimension of a tile has fewer.
const Value* index_along(ir::Builder& builder, const ir::Shape& shape, int64_t axis) {
  return builder.broadcast(builder.cast(builder.iota(shape[axis]), DType::i32), shape, {axis});
}

const ir::Op* sorted_with_indices(ir::Builder& builder, const Value* x, int64_t axis,
                                  SortOrder order, int64_t count) {
  const Value* indices = index_along(builder, x->type.shape, axis);
  return ir::make_sort(builder, {x, indices}, axis, order == SortOrder::descending, count);
}

int64_t axis_of(std::string_view what, const Value* x, const Axes& axes, Loc loc) {
  const int64_t axis = dsl::position(what, axes, static_cast<int>(x->type.shape.size()), loc);
  const std::vector<int64_t> dims = {axis};
  if (dsl::jagged_mask(x->type.shape, loc, &dims) != nullptr)
    raise(ErrorId::jagged_sort, loc, what);
  return axis;
}

}  // namespace

namespace dsl {

std::vector<Tile> sort_by(const std::vector<Operand>& values, const Axes& axes, SortOrder order,
                          Loc loc) {
  ir::Builder& builder = builder_at("sort", loc);
  std::vector<const Value*> tiles;
  for (const Operand& value : values) {
    common_dtype("sort", {&value}, loc);
    tiles.push_back(value.value());
  }
  const ir::Shape shape = common_shape("sort", tiles, loc);
  for (const Value*& tile : tiles) tile = broadcast(tile, shape);
  const int64_t axis = axis_of("sort", tiles[0], axes, loc);
  const ir::Op* op = ir::make_sort(builder, tiles, axis, order == SortOrder::descending, -1);
  std::vector<Tile> result;
  result.reserve(tiles.size());
  for (const Value* value : op->results) result.push_back(tile_of(value, loc));
  return result;
}

}  // namespace dsl

Tile sort(const Operand& x, const Axes& axes, SortOrder order, Loc loc) {
  return dsl::sort_by({x}, axes, order, loc)[0];
}

Tile argsort(const Operand& x, const Axes& axes, SortOrder order, Loc loc) {
  ir::Builder& builder = dsl::builder_at("argsort", loc);
  dsl::common_dtype("argsort", {&x}, loc);
  const int64_t axis = axis_of("argsort", x.value(), axes, loc);
  const ir::Op* op = sorted_with_indices(builder, x.value(), axis, order, -1);
  return dsl::tile_of(builder.cast(op->result(1), DType::i64), loc);
}

ValuesAndIndices topk(const Operand& x, int64_t k, const Axes& axes, SortOrder order, Loc loc) {
  ir::Builder& builder = dsl::builder_at("topk", loc);
  dsl::common_dtype("topk", {&x}, loc);
  const int64_t axis = axis_of("topk", x.value(), axes, loc);
  const ir::Dim& dim = x.value()->type.shape[axis];
  if (dim.is_block() || k < 1 || k > dim.extent)
    raise(ErrorId::topk_count, loc, k, axis, dsl::describe(x.value()->type));
  const ir::Op* op = sorted_with_indices(builder, x.value(), axis, order, k);
  return {dsl::tile_of(op->result(0), loc),
          dsl::tile_of(builder.cast(op->result(1), DType::i64), loc)};
}

}  // namespace tilewright
