#include "tilewright/dsl/tile.h"

#include "tilewright/dsl/elementwise.h"
#include "tilewright/dsl/operand.h"
#include "tilewright/dsl/ops.h"
#include "tilewright/dsl/shape_ops.h"
#include "tilewright/dsl/tensor_access.h"
#include "tilewright/dsl/trace.h"
#include "tilewright/ir/error.h"

namespace tilewright {

using dsl::Trace;

Tile::Tile(Loc loc) : slot_(Trace::current("a tw::Tile", loc).declare(loc)) {}

Tile::Tile(const Tile& other, Loc loc) : slot_(Trace::current("a tw::Tile", loc).declare(loc)) {
  Trace& trace = Trace::current("a tw::Tile", loc);
  trace.write(slot_, trace.read(other.slot_, loc), loc);
}

Tile::Tile(FromValue, const ir::Value* value, Loc loc)
    : slot_(Trace::current("a tw::Tile", loc).declare(loc)) {
  Trace::current("a tw::Tile", loc).write(slot_, value, loc);
}

Tile Tile::of(const ir::Value* value, Loc loc) { return Tile(FromValue{}, value, loc); }

Tile& Tile::operator=(const Tile& other) & {
  // An assignment cannot take the caller's line; the last one seen is the best there is.
  Trace& trace = Trace::current("an assignment to a tw::Tile", Loc{});
  const Loc loc = trace.last_loc();
  trace.write(slot_, trace.read(other.slot_, loc), loc);
  return *this;
}

Tile& Tile::operator=(const dsl::Literal& value) & {
  return *this = full_like(*this, value, value.loc);
}

Tile& Tile::operator+=(const Operand& other) & {
  return *this = Operand(*this, other.loc()) + other;
}
Tile& Tile::operator-=(const Operand& other) & {
  return *this = Operand(*this, other.loc()) - other;
}
Tile& Tile::operator*=(const Operand& other) & {
  return *this = Operand(*this, other.loc()) * other;
}
Tile& Tile::operator/=(const Operand& other) & {
  return *this = Operand(*this, other.loc()) / other;
}
Tile& Tile::operator%=(const Operand& other) & {
  return *this = Operand(*this, other.loc()) % other;
}
Tile& Tile::operator&=(const Operand& other) & {
  return *this = Operand(*this, other.loc()) & other;
}
Tile& Tile::operator|=(const Operand& other) & {
  return *this = Operand(*this, other.loc()) | other;
}
Tile& Tile::operator^=(const Operand& other) & {
  return *this = Operand(*this, other.loc()) ^ other;
}

DType Tile::dtype(Loc loc) const {
  return Trace::current("a tile's dtype", loc).type_of(slot_, loc).dtype;
}

int Tile::rank(Loc loc) const {
  const Trace& trace = Trace::current("a tile's rank", loc);
  return static_cast<int>(trace.type_of(slot_, loc).shape.size());
}

Tile Tile::t(Loc loc) const { return transpose(Operand(*this, loc), loc); }

namespace dsl {

Tile view(const Tile& x, const std::vector<ViewIndex>& indices) {
  const Loc loc = indices.front().loc;
  ir::Builder& builder =
      Trace::current("an index of a tile", loc).in_loop("an index of a tile", loc);
  const ir::Value* value = Trace::current("a tile", loc).read(x.slot(), loc);
  ir::Shape shape;
  std::vector<int64_t> dims;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i].insert && dims.size() < value->type.shape.size()) {
      shape.push_back(value->type.shape[dims.size()]);
      dims.push_back(static_cast<int64_t>(i));
    } else if (indices[i].insert) {
      shape.push_back(ir::Dim::constant(1));
    }
  }
  const size_t kept = std::count_if(indices.begin(), indices.end(),
                                    [](const ViewIndex& index) { return !index.insert; });
  if (kept != value->type.shape.size())
    raise(ErrorId::index_rank, loc, "a tile of type " + describe(value->type),
          value->type.shape.size(), kept);
  return tile_of(builder.broadcast(value, std::move(shape), std::move(dims)), loc);
}

void expect_scalar(const Tile& tile, DType dtype, Loc loc) {
  const Trace& trace = Trace::current("a tw::Scalar", loc);
  const ir::Type& type = trace.type_of(tile.slot(), loc);
  if (type != ir::Type::scalar(dtype))
    raise(ErrorId::not_a_scalar, loc, "a tw::Scalar's value", to_string(dtype), describe(type));
}

Tile scalar_literal(const LiteralValue& value, DType dtype, Loc loc) {
  Trace::current("a tw::Scalar", loc).at(loc);
  return tile_of(constant_of(value, dtype, loc), loc);
}

}  // namespace dsl

TensorRef::TensorRef(const ir::Value* loaded, dsl::TensorAccess access, Loc loc)
    : Tile(FromValue{}, loaded, loc),
      access_(std::move(access)),
      frame_(Trace::current("a tensor's element", loc).frame()),
      loc_(loc) {}

TensorRef::TensorRef(const TensorRef& other, Loc loc)
    : Tile(other, loc), access_(other.access_), frame_(other.frame_), loc_(other.loc_) {}

const dsl::TensorAccess& TensorRef::access(std::string_view what, Loc loc) const {
  Trace& trace = Trace::current(what, loc);
  trace.in_loop(what, loc);
  trace.expect_open(frame_, "the indexed element of a tensor", loc);
  return access_;
}

void TensorRef::operator=(const TensorRef& value) && { std::move(*this) = Operand(value, loc_); }

void TensorRef::operator=(const Operand& value) && {
  dsl::store(access("a store", loc_), value, nullptr, Evict::none, loc_);
}

void TensorRef::operator+=(const Operand& value) && {
  std::move(*this) = Operand(*this, loc_) + value;
}
void TensorRef::operator-=(const Operand& value) && {
  std::move(*this) = Operand(*this, loc_) - value;
}
void TensorRef::operator*=(const Operand& value) && {
  std::move(*this) = Operand(*this, loc_) * value;
}
void TensorRef::operator/=(const Operand& value) && {
  std::move(*this) = Operand(*this, loc_) / value;
}

}  // namespace tilewright
