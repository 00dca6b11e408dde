#include "tilewright/dsl/shape_ops.h"

#include <algorithm>

#include "tilewright/dsl/elementwise.h"
#include "tilewright/dsl/ops.h"
#include "tilewright/dsl/trace.h"
#include "tilewright/ir/combine.h"
#include "tilewright/ir/error.h"

namespace tilewright {
namespace {

using dsl::Trace;
using ir::Value;

ir::Dim dim_of(const dsl::TileDim& dim, Loc loc) {
  if (dim.slice() != nullptr) return dim.slice()->type.shape[0];
  const int64_t size = dsl::known_size(dim.size(), "a dimension of a tile", loc);
  if (size < 0) raise(ErrorId::bad_size, loc, size);
  return ir::Dim::constant(size);
}

ir::Shape shape_of(std::initializer_list<dsl::TileDim> dims, Loc loc) {
  ir::Shape shape;
  for (const dsl::TileDim& dim : dims) shape.push_back(dim_of(dim, loc));
  return shape;
}

Tile fill(const dsl::LiteralValue& value, DType dtype, const ir::Shape& shape, Loc loc) {
  Trace& trace = Trace::current("a tile", loc);
  ir::Builder& builder = shape.empty() ? trace.at(loc) : trace.in_loop("a tile", loc);
  return dsl::tile_of(builder.fill(dsl::constant_of(value, dtype, loc), shape), loc);
}

/// Zero as a number of the dtype's kind.
dsl::LiteralValue zero_of(DType dtype) {
  return dtype == DType::boolean ? dsl::LiteralValue(false) : dsl::LiteralValue(int64_t{0});
}

const Value* value_of(const Operand& x, std::string_view what, Loc loc) {
  dsl::common_dtype(what, {&x}, loc);
  return x.value();
}

/// x without its dimensions of size 1.
const Value* squeezed(ir::Builder& builder, const Value* x) {
  for (size_t axis = x->type.shape.size(); axis-- > 0;)
    if (x->type.shape[axis] == ir::Dim::constant(1))
      x = builder.pick(x, static_cast<int64_t>(axis), 0);
  return x;
}

ir::Shape without_ones(ir::Shape shape) {
  std::erase(shape, ir::Dim::constant(1));
  return shape;
}

/// x with dimensions of size 1 where `shape` has them.
const Value* with_ones(ir::Builder& builder, const Value* x, const ir::Shape& shape) {
  std::vector<int64_t> kept;
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (shape[axis] != ir::Dim::constant(1)) kept.push_back(static_cast<int64_t>(axis));
  return builder.broadcast(x, shape, kept);
}

}  // namespace

dsl::TileDim::TileDim(const TileIndex& index, Loc loc) : slice_(index.slice(loc)) {
  if (index.single())
    raise(ErrorId::index_kind, loc, "a tile's dimension is a loop's tile or a size",
          "the position of a tw::each");
}

Tile zeros(std::initializer_list<dsl::TileDim> dims, DType dtype, Loc loc) {
  return fill(zero_of(dtype), dtype, shape_of(dims, loc), loc);
}

Tile full(std::initializer_list<dsl::TileDim> dims, const dsl::Literal& value, DType dtype,
          Loc loc) {
  return fill(value.value, dtype, shape_of(dims, loc), loc);
}

Tile zeros_like(const Tile& tile, Loc loc) {
  const ir::Type type = Trace::current("a tile", loc).type_of(tile.slot(), loc);
  return fill(zero_of(type.dtype), type.dtype, type.shape, loc);
}

Tile full_like(const Tile& tile, const dsl::Literal& value, Loc loc) {
  const ir::Type type = Trace::current("a tile", loc).type_of(tile.slot(), loc);
  return fill(value.value, type.dtype, type.shape, loc);
}

Tile arange(const dsl::TileDim& dim, DType dtype, Loc loc) {
  ir::Builder& builder = Trace::current("tw::arange", loc).in_loop("tw::arange", loc);
  return dsl::tile_of(builder.cast(builder.iota(dim_of(dim, loc)), dtype), loc);
}

Tile permute(const Operand& x, std::initializer_list<int> dims, Loc loc) {
  ir::Builder& builder = dsl::builder_at("permute", loc);
  const Value* value = value_of(x, "permute", loc);
  const int rank = static_cast<int>(value->type.shape.size());
  std::vector<int64_t> order;
  std::vector<bool> seen(rank, false);
  for (int dim : dims) {
    const int at = dim < 0 ? dim + rank : dim;
    if (at < 0 || at >= rank || seen[at]) raise(ErrorId::bad_axis, loc, "permute", dim, rank);
    seen[at] = true;
    order.push_back(at);
  }
  if (static_cast<int>(order.size()) != rank)
    raise(ErrorId::index_rank, loc, "a tile of type " + dsl::describe(value->type), rank,
          order.size());
  return dsl::tile_of(builder.permute(value, std::move(order)), loc);
}

Tile transpose(const Operand& x, Loc loc) {
  const Value* value = value_of(x, "a transpose", loc);
  if (value->type.shape.size() != 2)
    raise(ErrorId::shape_mismatch, loc, "a transpose takes two dimensions",
          dsl::describe(value->type.shape), "[M,N]");
  return permute(x, {1, 0}, loc);
}

Tile reshape(const Operand& x, std::initializer_list<dsl::TileDim> dims, Loc loc) {
  ir::Builder& builder = dsl::builder_at("reshape", loc);
  const Value* value = value_of(x, "reshape", loc);
  const ir::Shape shape = shape_of(dims, loc);
  if (shape == value->type.shape) return dsl::tile_of(value, loc);
  if (!ir::can_reshape(value->type.shape, shape))
    raise(ErrorId::bad_reshape, loc, dsl::describe(value->type.shape), dsl::describe(shape));
  // Dimensions of size 1 come and go without any element moving.
  if (without_ones(value->type.shape) == without_ones(shape))
    return dsl::tile_of(with_ones(builder, squeezed(builder, value), shape), loc);
  return dsl::tile_of(builder.reshape(value, shape), loc);
}

Tile stack(const std::vector<Operand>& tiles, int axis, Loc loc) {
  ir::Builder& builder = dsl::builder_at("stack", loc);
  if (tiles.empty()) raise(ErrorId::literals_only, loc, "stack");
  std::vector<const Value*> values;
  for (const Operand& tile : tiles) {
    dsl::common_dtype("stack", {&tiles[0], &tile}, loc);
    values.push_back(value_of(tile, "stack", loc));
    if (values.back()->type.shape != values[0]->type.shape)
      raise(ErrorId::shape_mismatch, loc, "stack", dsl::describe(values[0]->type.shape),
            dsl::describe(values.back()->type.shape));
  }
  const int rank = static_cast<int>(values[0]->type.shape.size()) + 1;
  const int at = axis < 0 ? axis + rank : axis;
  if (at < 0 || at >= rank) raise(ErrorId::bad_axis, loc, "stack", axis, rank);
  return dsl::tile_of(builder.join(values, at), loc);
}

Tile join(const Operand& x, const Operand& y, Loc loc) { return stack({x, y}, -1, loc); }

std::pair<Tile, Tile> split(const Operand& x, Loc loc) {
  ir::Builder& builder = dsl::builder_at("split", loc);
  const Value* value = value_of(x, "split", loc);
  const ir::Shape& shape = value->type.shape;
  if (shape.empty() || shape.back() != ir::Dim::constant(2))
    raise(ErrorId::split_dim, loc, dsl::describe(value->type));
  const auto axis = static_cast<int64_t>(shape.size()) - 1;
  return {dsl::tile_of(builder.pick(value, axis, 0), loc),
          dsl::tile_of(builder.pick(value, axis, 1), loc)};
}

Tile broadcast_to(const Operand& x, std::initializer_list<dsl::TileDim> dims, Loc loc) {
  dsl::builder_at("broadcast_to", loc);
  const Value* value = value_of(x, "broadcast_to", loc);
  const ir::Shape shape = shape_of(dims, loc);
  if (!dsl::broadcasts_to(value->type.shape, shape))
    raise(ErrorId::shape_mismatch, loc, "broadcast_to", dsl::describe(value->type.shape),
          dsl::describe(shape));
  return dsl::tile_of(dsl::broadcast(value, shape), loc);
}

}  // namespace tilewright
