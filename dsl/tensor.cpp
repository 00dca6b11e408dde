#include "tilewright/dsl/tensor.h"

#include "tilewright/dsl/elementwise.h"
#include "tilewright/dsl/operand.h"
#include "tilewright/dsl/ops.h"
#include "tilewright/dsl/tensor_access.h"
#include "tilewright/dsl/trace.h"
#include "tilewright/dsl/window.h"
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

/// The number that stands for `value` in the IR.
ir::Attr fill_of(const dsl::Literal& value, DType dtype, Loc loc) {
  if (dtype == DType::boolean) {
    const bool* truth = std::get_if<bool>(&value.value);
    const int64_t* number = std::get_if<int64_t>(&value.value);
    if (truth != nullptr) return int64_t{*truth};
    if (number != nullptr && (*number == 0 || *number == 1)) return *number;
    raise(ErrorId::fill_value, loc, dsl::text_of(value.value), to_string(dtype));
  }
  if (!dsl::is_number_of(value.value, dtype))
    raise(ErrorId::fill_value, loc, dsl::text_of(value.value), to_string(dtype));
  if (const double* real = std::get_if<double>(&value.value)) return *real;
  const int64_t number = std::get<int64_t>(value.value);
  return is_float(dtype) ? ir::Attr(static_cast<double>(number)) : ir::Attr(number);
}

// A result's spec, and the scalar parameter that holds its first size when that is dynamic.
std::pair<TensorSpec, int> result_spec(const std::vector<Size>& sizes, DType dtype, Loc loc) {
  std::vector<int64_t> values;
  int size_param = -1;
  for (Size size : sizes) {
    if (size.dynamic() && values.empty()) {
      const auto [param, limit] = Trace::current("tw::empty", loc).plain_size(size, loc);
      size_param = param;
      values.push_back(limit);
      continue;
    }
    const int64_t known = dsl::known_size(size, "a size of a result other than the first", loc);
    if (known < 0) raise(ErrorId::bad_size, loc, known);
    values.push_back(known);
  }
  TensorSpec spec = contiguous_spec(dtype, std::move(values));
  spec.dynamic = size_param >= 0;
  return {std::move(spec), size_param};
}

}  // namespace

dsl::TensorIndex::TensorIndex(const TileIndex& index, Loc loc)
    : kind_(index.single() ? Kind::scalar : Kind::tile), loc_(loc) {
  value_ = index.single() ? Operand(index, loc).value() : index.slice(loc);
}

dsl::TensorIndex::TensorIndex(const Tile& positions, Loc loc) : kind_(Kind::scalar), loc_(loc) {
  const Operand operand(positions, loc);
  const ir::Type& type = operand.value()->type;
  if (!type.is_tile()) {
    value_ = integer_scalar(operand, "an index of a tensor", loc);
    return;
  }
  if (!is_integer(type.dtype))
    raise(ErrorId::index_kind, loc,
          type.dtype == DType::boolean
              ? "the elements of an index tile are positions; which elements to access is said by "
                "a mask: a.load({rows, cols}, {.mask = m})"
              : "the elements of an index tile are positions, so they are integers",
          dsl::describe(type));
  kind_ = Kind::positions;
  value_ = builder_at("an index of a tensor", loc).cast(operand.value(), DType::i64);
}

dsl::TensorIndex::TensorIndex(Size position, Loc loc)
    : kind_(Kind::scalar), position_(position), loc_(loc) {
  if (position.dynamic()) value_ = Trace::current("an index", loc).value_of(position, loc);
}

DType Tensor::dtype(Loc loc) const { return param_of(*this, "a tensor's dtype", loc).spec.dtype; }

int Tensor::rank(Loc loc) const {
  const ir::Param& param = param_of(*this, "a tensor's rank", loc);
  return window_ == nullptr ? param.spec.rank() : static_cast<int>(window_->dims.size());
}

Size Tensor::size(int dim, Loc loc) const {
  const ir::Param& param = param_of(*this, "a tensor's size", loc);
  const int at = position_of(dim, "size of " + name_of(param), loc);
  Trace& trace = Trace::current("a tensor's size", loc);
  const auto size_of = [&](int dim) {
    return param.size_param >= 0 && dim == 0 ? trace.dynamic_size(*this)
                                             : Size(param.spec.sizes[dim]);
  };
  if (window_ == nullptr) return size_of(at);
  const dsl::WindowDim& shown = window_->dims[at];
  if (!shown.size && is_whole(shown, loc)) return size_of(shown.dim);
  if (!shown.size)
    raise(ErrorId::view_index, loc, fmt::format("the size of dimension {}", at), name_of(param),
          "this view begins and ends at positions known at run time only");
  return *shown.size;
}

std::vector<Size> Tensor::sizes(Loc loc) const {
  std::vector<Size> sizes;
  for (int d = 0; d < rank(loc); ++d) sizes.push_back(size(d, loc));
  return sizes;
}

void Tensor::expect_rank(int rank, Loc loc) const {
  const ir::Param& param = param_of(*this, "a tensor's sizes", loc);
  if (rank != this->rank(loc))
    raise(ErrorId::sizes_rank, loc, rank, name_of(param), this->rank(loc));
}

TensorRef Tensor::subscript(const std::vector<TensorIndex>& indices) const {
  const Loc loc = indices.front().loc();
  dsl::TensorAccess access = dsl::make_access(*this, indices);
  const ir::Value* loaded = dsl::load(access, nullptr, Evict::none, loc);
  return TensorRef(loaded, std::move(access), loc);
}

Tile Tensor::load(std::initializer_list<TensorIndex> indices, const LoadOptions& options,
                  Loc loc) const {
  const dsl::TensorAccess access = dsl::make_access(*this, indices);
  if (options.other.given() && !options.mask.given()) raise(ErrorId::other_without_mask, loc);
  const ir::Value* mask = dsl::mask_of(options.mask, access, loc);
  const Tile loaded = dsl::tile_of(dsl::load(access, mask, options.evict, loc), loc);
  if (!options.other.given()) return loaded;
  return where({dsl::tile_of(mask, loc), loc}, {loaded, loc}, options.other.operand(), loc);
}

void Tensor::store(std::initializer_list<TensorIndex> indices, const Operand& value,
                   const StoreOptions& options, Loc loc) const {
  const dsl::TensorAccess access = dsl::make_access(*this, indices);
  dsl::store(access, value, dsl::mask_of(options.mask, access, loc), options.evict, loc);
}

Tensor empty(std::initializer_list<Size> sizes, DType dtype, Loc loc) {
  return empty(std::vector<Size>(sizes), dtype, loc);
}

Tensor empty(const std::vector<Size>& sizes, DType dtype, Loc loc) {
  auto [spec, size_param] = result_spec(sizes, dtype, loc);
  return Trace::current("tw::empty", loc).add_result(std::move(spec), loc, {}, size_param);
}

Tensor empty_like(const Tensor& tensor, Loc loc) {
  return empty(tensor.sizes(loc), tensor.dtype(loc), loc);
}

Tensor full_tensor(std::initializer_list<Size> sizes, const dsl::Literal& value, DType dtype,
                   Loc loc) {
  Trace& trace = Trace::current("tw::full_tensor", loc);
  for (Size size : sizes) dsl::known_size(size, "a tensor that is filled first", loc);
  return trace.add_result(result_spec(sizes, dtype, loc).first, loc, fill_of(value, dtype, loc));
}

Tensor zeros_tensor(std::initializer_list<Size> sizes, DType dtype, Loc loc) {
  return full_tensor(sizes, is_float(dtype) ? dsl::Literal(0.0, loc) : dsl::Literal(0, loc), dtype,
                     loc);
}

}  // namespace tilewright
