#include "tilewright/dsl/tensor_access.h"

#include <algorithm>
#include <numeric>

#include "tilewright/dsl/elementwise.h"
#include "tilewright/dsl/jagged.h"
#include "tilewright/dsl/trace.h"
#include "tilewright/ir/error.h"

namespace tilewright::dsl {
namespace {

using ir::Fn;
using ir::Value;

std::optional<int64_t> constant(const Value* value) {
  if (value->def == nullptr || value->def->kind != ir::OpKind::constant) return std::nullopt;
  return value->def->integer(ir::AttrKey::value);
}

/// Where the positions of a slice end.
Position limit_of(const Value* slice) {
  const Value* limit = slice->def != nullptr
                           ? slice->def->operand(1)
                           : ir::LoopView(*slice->owner->parent).limits.at(slice->index);
  const auto known = constant(limit);
  return known ? Position{*known, nullptr} : Position{0, limit};
}

/// Turns the indices of a view into those of the parameter.
class AccessMaker {
 public:
  AccessMaker(const Tensor& tensor, const std::vector<TensorIndex>& indices)
      : indices_(indices), loc_(indices.front().loc()), window_(tensor.window(loc_)) {
    Trace& trace = Trace::current("an index of a tensor", loc_);
    const ir::Param& param = trace.param(tensor, loc_);
    fn_ = &trace.function();
    param_ = &param;
    access_.tensor = param.value;
    access_.indices.resize(param.spec.sizes.size());
    trace.in_loop("an index of a tensor", loc_);
    trace.expect_open(window_.frame, "a view of a tensor", loc_);
    if (indices.size() != window_.dims.size())
      raise(ErrorId::index_rank, loc_, name_of_tensor(param.value, "tensor "), window_.dims.size(),
            indices.size());
  }

  TensorAccess run() {
    find_tile_shape();
    for (size_t d = 0; d < window_.at.size(); ++d)
      if (window_.at[d]) access_.indices[d] = scalar_of(*window_.at[d], loc_);
    for (size_t i = 0; i < indices_.size(); ++i)
      access_.indices[window_.dims[i].dim] = index(indices_[i], window_.dims[i]);
    find_order();
    add_mask();
    return std::move(access_);
  }

 private:
  /// Something that must hold of index `dim` of the parameter: a bool scalar or tile.
  struct Condition {
    int dim;
    const Value* value;
  };

  static std::string name_of_tensor(const Value* tensor, const char* before) {
    return tensor->name.empty() ? "a tensor" : fmt::format("{}'{}'", before, tensor->name);
  }

  ir::Builder& builder() const { return builder_at("an index of a tensor", loc_); }

  void find_tile_shape() {
    std::vector<const Value*> tiles;
    for (const TensorIndex& index : indices_)
      if (index.kind() == TensorIndex::Kind::positions) tiles.push_back(index.value());
    if (!tiles.empty())
      tile_shape_ =
          common_shape("index tiles of " + name_of_tensor(access_.tensor, ""), tiles, loc_);
  }

  bool is_whole(const WindowDim& dim) const {
    return dim.begin.is(0) && dim.end == end_of(*fn_, *param_, dim.dim);
  }

  const Value* index(const TensorIndex& index, const WindowDim& dim) {
    switch (index.kind()) {
      case TensorIndex::Kind::tile:
        return slice(index.value(), dim);
      case TensorIndex::Kind::all:
        return all(dim);
      case TensorIndex::Kind::scalar:
        return scalar(index, dim);
      case TensorIndex::Kind::positions:
        return positions(broadcast(index.value(), tile_shape_), dim);
    }
    return nullptr;
  }

  const Value* slice(const Value* slice, const WindowDim& dim) {
    const Position limit = limit_of(slice);
    const bool within =
        limit.value == nullptr && dim.end.value == nullptr && limit.known <= dim.end.known;
    if (is_whole(dim) || (dim.begin.is(0) && within)) return slice;
    const Position first = add({0, builder().slice_begin(slice)}, dim.begin, loc_);
    Position end =
        add(dim.size ? minimum(limit, {*dim.size, nullptr}, loc_) : limit, dim.begin, loc_);
    if (!dim.size || dim.clipped) end = minimum(end, dim.end, loc_);
    return required(
        builder().slice(scalar_of(first, loc_), scalar_of(end, loc_), slice->type.shape[0]), dim);
  }

  const Value* all(const WindowDim& dim) {
    if (!dim.size && is_whole(dim))
      raise(ErrorId::dynamic_size, loc_,
            fmt::format("the size of dimension {} of {}", dim.dim,
                        name_of_tensor(access_.tensor, "tensor ")),
            "tw::all, which makes a tile as long as the dimension (loop over it with tw::tile)");
    if (!dim.size)
      raise(ErrorId::view_index, loc_, "tw::all", name_of_tensor(access_.tensor, ""),
            "how many positions the view has is known at run time only; loop over them with "
            "tw::tile(begin, end)");
    const Value* begin = scalar_of(dim.begin, loc_);
    return required(builder().slice(begin, scalar_of(dim.end, loc_), ir::Dim::constant(*dim.size)),
                    dim);
  }

  /// A slice whose positions must not be before the view's lower end.
  const Value* required(const Value* slice, const WindowDim& dim) {
    if (!dim.lower) return slice;
    const Value* lower = builder().fill(scalar_of(*dim.lower, loc_), slice->type.shape);
    const Value* at = builder().slice_index(slice);
    conditions_.push_back({dim.dim, builder().compare(Fn::ge, at, lower)});
    return slice;
  }

  const Value* scalar(const TensorIndex& index, const WindowDim& dim) {
    const Position at =
        index.value() != nullptr ? Position{0, index.value()} : Position{index.position(), nullptr};
    if (!is_whole(dim)) {
      const bool known = at.value == nullptr && dim.size;
      if (known && (at.known < 0 || at.known >= *dim.size))
        raise(ErrorId::view_bounds, loc_, at.known, at.known + 1, dim.dim,
              "a view of " + name_of_tensor(access_.tensor, ""), *dim.size);
      if (!known || dim.clipped || dim.lower) require_inside(scalar_of(at, loc_), dim);
    }
    return scalar_of(add(at, dim.begin, loc_), loc_);
  }

  const Value* positions(const Value* tile, const WindowDim& dim) {
    if (is_whole(dim)) return tile;
    require_inside(tile, dim);
    if (dim.begin.is(0)) return tile;
    return builder().binary(Fn::add, tile, builder().fill(scalar_of(dim.begin, loc_), tile_shape_));
  }

  /// The access does nothing where `at`, a position of the view, is not in it.
  void require_inside(const Value* at, const WindowDim& dim) {
    const ir::Shape& shape = at->type.shape;
    const auto require = [&](Fn fn, const Value* x, const Value* bound) {
      conditions_.push_back({dim.dim, builder().compare(fn, x, builder().fill(bound, shape))});
    };
    require(Fn::ge, at, builder().index(0));
    if (dim.size) require(Fn::lt, at, builder().index(*dim.size));
    if (dim.size && !dim.clipped && !dim.lower) return;
    const Value* there =
        builder().binary(Fn::add, at, builder().fill(scalar_of(dim.begin, loc_), shape));
    require(Fn::lt, there, scalar_of(dim.end, loc_));
    if (dim.lower) require(Fn::ge, there, scalar_of(*dim.lower, loc_));
  }

  /// The user's dimension of each dimension of a tile whose indices come in the order `dims` of the
  /// parameter; those of index tiles are counted from 1000.
  std::vector<int> labels(const std::vector<int>& dims) const {
    constexpr int kTiles = 1000;
    std::vector<int> labels;
    bool tiles = false;
    for (int d : dims) {
      const ir::Type& type = access_.indices[d]->type;
      if (type.kind == ir::Type::Kind::slice) labels.push_back(d);
      if (!type.is_tile() || tiles) continue;
      tiles = true;
      for (size_t k = 0; k < type.shape.size(); ++k) labels.push_back(kTiles + static_cast<int>(k));
    }
    return labels;
  }

  void find_order() {
    std::vector<int> seen, stored(access_.indices.size());
    for (const WindowDim& dim : window_.dims) seen.push_back(dim.dim);
    std::iota(stored.begin(), stored.end(), 0);
    const std::vector<int> from = labels(stored), to = labels(seen);
    if (from == to) return;
    for (int label : to)
      access_.dims.push_back(std::find(from.begin(), from.end(), label) - from.begin());
  }

  void add_mask() {
    const ir::Shape shape = ir::access_shape(access_.indices);
    access_.mask = jagged_mask(shape, loc_);
    for (const Condition& condition : conditions_) {
      std::vector<int64_t> dims;
      if (condition.value->type.is_tile())
        for (int axis : ir::axes_of_index(access_.indices, condition.dim)) dims.push_back(axis);
      const Value* spread = builder().broadcast(condition.value, shape, dims);
      access_.mask =
          access_.mask == nullptr ? spread : builder().binary(Fn::bit_and, access_.mask, spread);
    }
  }

  const std::vector<TensorIndex>& indices_;
  const Loc loc_;
  const Window window_;
  const ir::Function* fn_ = nullptr;
  const ir::Param* param_ = nullptr;
  TensorAccess access_;
  ir::Shape tile_shape_;
  std::vector<Condition> conditions_;
};

std::string evict_text(Evict evict) {
  return evict == Evict::first ? "first" : evict == Evict::last ? "last" : "";
}

}  // namespace

TensorAccess make_access(const Tensor& tensor, const std::vector<TensorIndex>& indices) {
  return AccessMaker(tensor, indices).run();
}

ir::Shape shape_of(const TensorAccess& access) {
  const ir::Shape shape = ir::access_shape(access.indices);
  if (access.dims.empty()) return shape;
  ir::Shape seen;
  for (int64_t d : access.dims) seen.push_back(shape[d]);
  return seen;
}

const Value* load(const TensorAccess& access, const Value* mask, Evict evict, Loc loc) {
  ir::AccessOptions options{.mask = whole_mask(access, mask, loc), .evict = evict_text(evict)};
  const Value* loaded =
      builder_at("a load", loc).load(access.tensor, access.indices, std::move(options));
  return as_seen(access, loaded, loc);
}

void store(const TensorAccess& access, const Operand& value, const Value* mask, Evict evict,
           Loc loc) {
  ir::Builder& builder = Trace::current("a store", loc).in_loop("a store", loc);
  const std::string name = name_of_tensor(access.tensor);
  const DType dtype = access.tensor->type.dtype;
  const Value* stored = materialize(value, dtype, loc);
  if (!stores_implicitly(stored->type.dtype, dtype))
    raise(ErrorId::store_needs_cast, loc, to_string(stored->type.dtype), name, to_string(dtype),
          to_string(dtype));
  if (!broadcasts_to(stored->type.shape, shape_of(access)))
    raise(ErrorId::shape_mismatch, loc, "a store into " + name, describe(stored->type.shape),
          describe(shape_of(access)));
  const Value* tile = in_access_order(access, builder.cast(stored, dtype), "a store", loc);
  builder.store(access.tensor, tile, access.indices,
                {.mask = whole_mask(access, mask, loc), .evict = evict_text(evict)});
}

const Value* in_access_order(const TensorAccess& access, const Value* value, std::string_view what,
                             Loc loc) {
  const ir::Shape shape = shape_of(access);
  if (!broadcasts_to(value->type.shape, shape))
    raise(ErrorId::shape_mismatch, loc, what, describe(value->type.shape), describe(shape));
  const Value* tile = broadcast(value, shape);
  if (access.dims.empty()) return tile;
  std::vector<int64_t> inverse(access.dims.size());
  for (size_t i = 0; i < access.dims.size(); ++i) inverse[access.dims[i]] = static_cast<int64_t>(i);
  return builder_at(what, loc).permute(tile, std::move(inverse));
}

const Value* as_seen(const TensorAccess& access, const Value* value, Loc loc) {
  return access.dims.empty() ? value : builder_at("a load", loc).permute(value, access.dims);
}

const Value* mask_of(const MaybeOperand& mask, const TensorAccess& access, Loc loc) {
  if (!mask.given()) return nullptr;
  const Value* value = materialize(mask.operand(), DType::boolean, loc);
  expect_bool("a mask", value->type.dtype, loc);
  const ir::Shape shape = shape_of(access);
  if (!broadcasts_to(value->type.shape, shape))
    raise(ErrorId::shape_mismatch, loc, "a mask of " + name_of_tensor(access.tensor),
          describe(value->type.shape), describe(shape));
  return broadcast(value, shape);
}

const Value* whole_mask(const TensorAccess& access, const Value* mask, Loc loc) {
  if (mask == nullptr) return access.mask;
  const Value* ordered = in_access_order(access, mask, "a mask", loc);
  if (access.mask == nullptr) return ordered;
  return builder_at("a mask", loc).binary(Fn::bit_and, ordered, access.mask);
}

std::string name_of_tensor(const Value* tensor) {
  return tensor->name.empty() ? "a tensor" : "'" + tensor->name + "'";
}

}  // namespace tilewright::dsl
