#include "tilewright/dsl/jagged.h"

#include <algorithm>
#include <numeric>

#include "tilewright/dsl/elementwise.h"
#include "tilewright/dsl/trace.h"
#include "tilewright/ir/error.h"

namespace tilewright::dsl {
namespace {

using ir::Value;

/// The slice of the loop around the trace's place that walks `axis`.
const Value* slice_of(const ir::Region* region, int axis) {
  for (; region != nullptr && region->parent != nullptr; region = region->parent->parent) {
    if (region->parent->kind != ir::OpKind::tile_loop) continue;
    const auto& axes = region->parent->integers(ir::AttrKey::axes);
    for (size_t i = 0; i < axes.size(); ++i)
      if (axes[i] == axis) return region->args.at(i);
  }
  return nullptr;
}

/// Where the dimensions of `lengths` are in `shape`; empty when one of them is not.
std::vector<int64_t> places_of(const Value* lengths, const ir::Shape& shape) {
  std::vector<int64_t> places;
  for (const ir::Dim& dim : lengths->type.shape) {
    const auto found = std::find(shape.begin(), shape.end(), dim);
    if (found == shape.end()) return {};
    places.push_back(found - shape.begin());
  }
  return places;
}

/// `lengths` spread over `shape`, its dimensions at `places`.
const Value* spread(ir::Builder& builder, const Value* lengths, const ir::Shape& shape,
                    const std::vector<int64_t>& places) {
  std::vector<int64_t> order(places.size()), sorted;
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int64_t x, int64_t y) { return places[x] < places[y]; });
  for (int64_t i : order) sorted.push_back(places[i]);
  const Value* ordered =
      std::is_sorted(places.begin(), places.end()) ? lengths : builder.permute(lengths, order);
  return builder.broadcast(ordered, shape, sorted);
}

/// Whether elements that do not exist are 0 because they were loaded as such.
bool is_loaded(const Value* value) {
  if (value->def == nullptr) return false;
  const ir::OpKind kind = value->def->kind;
  if (kind == ir::OpKind::cast || kind == ir::OpKind::permute)
    return is_loaded(value->def->operand(0));
  return kind == ir::OpKind::load;
}

bool is_zero(const Value* scalar) {
  const ir::Attr* value = scalar->def == nullptr ? nullptr : scalar->def->find(ir::AttrKey::value);
  if (value == nullptr) return false;
  const int64_t* integer = std::get_if<int64_t>(value);
  return integer != nullptr ? *integer == 0 : std::get<double>(*value) == 0;
}

}  // namespace

LoopDim jagged_dim(const Tile& lengths, Loc loc) {
  Trace& trace = Trace::current("tw::jagged_tile", loc);
  const Value* value = trace.read(lengths.slot(), loc);
  const ir::Shape& shape = value->type.shape;
  const bool blocks =
      std::all_of(shape.begin(), shape.end(), [](const ir::Dim& dim) { return dim.is_block(); });
  if (shape.empty() || !blocks || !is_integer(value->type.dtype))
    raise(ErrorId::jagged_lengths, loc, describe(value->type));
  ir::Builder& builder = trace.in_loop("tw::jagged_tile", loc);
  const Value* wide = builder.cast(value, DType::i64);
  std::vector<int64_t> axes(shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  LoopDim dim(Bound(0), Bound(builder.reduce(ir::Fn::max, wide, axes)));
  dim.lengths = wide;
  return dim;
}

const Value* jagged_mask(const ir::Shape& shape, Loc loc, const std::vector<int64_t>* dims) {
  Trace& trace = Trace::current("a jagged tile", loc);
  const Value* mask = nullptr;
  for (size_t p = 0; p < shape.size(); ++p) {
    const Value* lengths = shape[p].is_block() ? trace.lengths_of(shape[p].axis) : nullptr;
    if (lengths == nullptr) continue;
    const std::vector<int64_t> places = places_of(lengths, shape);
    if (places.empty()) continue;
    const auto is_meant = [&](int64_t place) {
      return dims == nullptr || std::find(dims->begin(), dims->end(), place) != dims->end();
    };
    if (!is_meant(static_cast<int64_t>(p)) && std::none_of(places.begin(), places.end(), is_meant))
      continue;
    ir::Builder& builder = trace.at(loc);
    const Value* slice = slice_of(builder.region(), shape[p].axis);
    if (slice == nullptr) continue;
    const Value* at =
        builder.broadcast(builder.slice_index(slice), shape, {static_cast<int64_t>(p)});
    const Value* before = builder.compare(ir::Fn::lt, at, spread(builder, lengths, shape, places));
    mask = mask == nullptr ? before : builder.binary(ir::Fn::bit_and, mask, before);
  }
  return mask;
}

const Value* jagged_masked(const Value* x, const Value* otherwise, Loc loc,
                           const std::vector<int64_t>* dims) {
  if (!x->type.is_tile() || (is_zero(otherwise) && is_loaded(x))) return x;
  const Value* mask = jagged_mask(x->type.shape, loc, dims);
  if (mask == nullptr) return x;
  ir::Builder& builder = builder_at("a jagged tile", loc);
  return builder.select(mask, x, builder.fill(otherwise, x->type.shape));
}

}  // namespace tilewright::dsl
