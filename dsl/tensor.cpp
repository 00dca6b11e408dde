#include "tilewright/dsl/tensor.h"

#include "tilewright/dsl/elementwise.h"
#include "tilewright/dsl/operand.h"
#include "tilewright/dsl/trace.h"
#include "tilewright/ir/error.h"

namespace tilewright {
namespace {

using dsl::TensorIndex;
using dsl::Trace;

const ir::Param& param_of(const Tensor& tensor, std::string_view what, Loc loc) {
  return Trace::current(what, loc).param(tensor, loc);
}

std::string name_of(const ir::Param& param) {
  return param.name.empty() ? "a tensor" : fmt::format("tensor '{}'", param.name);
}

/// The IR's index: a slice, or an i64 scalar.
const ir::Value* index_value(ir::Builder& builder, const TensorIndex& index, int64_t size) {
  if (index.value() != nullptr) return index.value();
  if (index.kind() == TensorIndex::Kind::scalar) return builder.index(index.position());
  return builder.slice(builder.index(0), builder.index(size), ir::Dim::constant(size));
}

TensorSpec result_spec(const std::vector<Size>& sizes, DType dtype, Loc loc) {
  std::vector<int64_t> values;
  for (Size size : sizes) {
    if (size < 0) raise(ErrorId::bad_size, loc, size);
    values.push_back(size.value());
  }
  return contiguous_spec(dtype, std::move(values));
}

}  // namespace

dsl::TensorIndex::TensorIndex(const TileIndex& index, Loc loc)
    : kind_(index.single() ? Kind::scalar : Kind::tile), loc_(loc) {
  value_ = index.single() ? Operand(index, loc).value() : index.slice(loc);
}

dsl::TensorIndex::TensorIndex(const Tile& scalar, Loc loc)
    : kind_(Kind::scalar),
      value_(integer_scalar(Operand(scalar, loc), "an index of a tensor", loc)),
      loc_(loc) {}

DType Tensor::dtype(Loc loc) const { return param_of(*this, "a tensor's dtype", loc).spec.dtype; }

int Tensor::rank(Loc loc) const { return param_of(*this, "a tensor's rank", loc).spec.rank(); }

Size Tensor::size(int dim, Loc loc) const {
  const ir::Param& param = param_of(*this, "a tensor's size", loc);
  const int at = dim < 0 ? dim + param.spec.rank() : dim;
  if (at < 0 || at >= param.spec.rank())
    raise(ErrorId::bad_axis, loc, "size of " + name_of(param), dim, param.spec.rank());
  return param.spec.sizes[at];
}

std::vector<Size> Tensor::sizes(Loc loc) const {
  const ir::Param& param = param_of(*this, "a tensor's sizes", loc);
  return {param.spec.sizes.begin(), param.spec.sizes.end()};
}

void Tensor::expect_rank(int rank, Loc loc) const {
  const ir::Param& param = param_of(*this, "a tensor's sizes", loc);
  if (rank != param.spec.rank())
    raise(ErrorId::sizes_rank, loc, rank, name_of(param), param.spec.rank());
}

TensorRef Tensor::subscript(const std::vector<TensorIndex>& indices) const {
  const Loc loc = indices.front().loc();
  Trace& trace = Trace::current("an index of a tensor", loc);
  const ir::Param& param = trace.param(*this, loc);
  ir::Builder& builder = trace.in_loop("an index of a tensor", loc);
  if (static_cast<int>(indices.size()) != param.spec.rank())
    raise(ErrorId::index_rank, loc, name_of(param), param.spec.rank(), indices.size());
  std::vector<const ir::Value*> values;
  for (size_t i = 0; i < indices.size(); ++i)
    values.push_back(index_value(builder, indices[i], param.spec.sizes[i]));
  const ir::Value* loaded = builder.load(param.value, values);
  return TensorRef(loaded, param.value, std::move(values), loc);
}

Tensor empty(std::initializer_list<Size> sizes, DType dtype, Loc loc) {
  return empty(std::vector<Size>(sizes), dtype, loc);
}

Tensor empty(const std::vector<Size>& sizes, DType dtype, Loc loc) {
  return Trace::current("tw::empty", loc).add_result(result_spec(sizes, dtype, loc), loc);
}

Tensor empty_like(const Tensor& tensor, Loc loc) {
  return empty(tensor.sizes(loc), tensor.dtype(loc), loc);
}

}  // namespace tilewright
