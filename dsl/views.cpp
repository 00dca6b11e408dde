// Views of tensors.
#include <algorithm>

#include "tilewright/dsl/tensor.h"
#include "tilewright/dsl/trace.h"
#include "tilewright/dsl/window.h"
#include "tilewright/ir/error.h"

namespace tilewright {
namespace {

using dsl::Position;
using dsl::Trace;
using dsl::WindowDim;

std::string name_of(const Tensor& tensor, Loc loc) {
  const ir::Param& param = Trace::current("a view of a tensor", loc).param(tensor, loc);
  return param.name.empty() ? "a tensor" : fmt::format("tensor '{}'", param.name);
}

std::string text_of(const dsl::Bound& bound) {
  return bound.known() ? std::to_string(*bound.known()) : "a run-time position";
}

Position block_begin(const dsl::Bound& number, int64_t size, Loc loc) {
  if (const auto known = number.known()) return {*known * size, nullptr};
  ir::Builder& builder = Trace::current("a view of a tensor", loc).at(loc);
  const ir::Value* at = number.value(loc);
  return {0, builder.binary(ir::Fn::mul, at, builder.index(size))};
}

}  // namespace

dsl::Window Tensor::window(Loc loc) const {
  if (window_ != nullptr) return *window_;
  Trace& trace = Trace::current("a tensor", loc);
  return dsl::Window::all(trace.function(), trace.param(*this, loc));
}

Tensor Tensor::with(dsl::Window window, Loc loc) const {
  window.frame = Trace::current("a view of a tensor", loc).frame();
  Tensor view = *this;
  view.window_ = std::make_shared<const dsl::Window>(std::move(window));
  return view;
}

int Tensor::position_of(int axis, std::string_view what, Loc loc) const {
  const int count = rank(loc), at = axis < 0 ? axis + count : axis;
  if (at < 0 || at >= count) raise(ErrorId::bad_axis, loc, what, axis, count);
  return at;
}

Tensor Tensor::slice(int axis, const dsl::Bound& begin, const dsl::Bound& end, Loc loc) const {
  const int at = position_of(axis, "slice", loc);
  const auto first = begin.known(), last = end.known();
  dsl::Window window = this->window(loc);
  const WindowDim from = window.dims[at];
  const bool outside =
      (first && *first < 0) || (first && last && *last < *first) ||
      (from.size && ((first && *first > *from.size) || (last && *last > *from.size)));
  if (outside) raise_bounds(text_of(begin), text_of(end), at, loc);
  WindowDim& dim = window.dims[at];
  dim.begin = dsl::add(Position::of(begin, loc), from.begin, loc);
  dim.end = dsl::add(Position::of(end, loc), from.begin, loc);
  dim.size = first && last ? std::optional(*last - *first) : std::nullopt;
  keep_within(from, first.has_value(), last && from.size && !from.clipped, dim, loc);
  return with(std::move(window), loc);
}

Tensor Tensor::narrow(int axis, const dsl::Bound& begin, Size size, Loc loc) const {
  dsl::known_size(size, "the size of tensor.narrow", loc);
  if (const auto known = begin.known()) return slice(axis, begin, *known + size.value(), loc);
  const int at = position_of(axis, "narrow", loc);
  dsl::Window window = this->window(loc);
  const WindowDim from = window.dims[at];
  if (size < 0 || (from.size && size > *from.size))
    raise_bounds(text_of(begin), fmt::format("the one {} after it", size), at, loc);
  WindowDim& dim = window.dims[at];
  dim.begin = dsl::add(Position::of(begin, loc), from.begin, loc);
  dim.end = dsl::add(dim.begin, {size.value(), nullptr}, loc);
  dim.size = size.value();
  keep_within(from, false, false, dim, loc);
  return with(std::move(window), loc);
}

/// Keeps `dim` within the view `from` that it is made of; what lies outside the parameter is no
/// access's anyway. `begin_inside`, `end_inside`: known to be within it.
void Tensor::keep_within(const WindowDim& from, bool begin_inside, bool end_inside, WindowDim& dim,
                         Loc loc) const {
  if (is_whole(from, loc)) return;
  if (!begin_inside && !from.lower) dim.lower = from.begin;
  if (end_inside) return;
  dim.end = dsl::minimum(dim.end, from.end, loc);
  dim.clipped = true;
}

/// Whether it is all of a dimension of the parameter.
bool Tensor::is_whole(const WindowDim& dim, Loc loc) const {
  Trace& trace = Trace::current("a view of a tensor", loc);
  return dim.begin.is(0) &&
         dim.end == dsl::end_of(trace.function(), trace.param(*this, loc), dim.dim);
}

void Tensor::raise_bounds(const std::string& begin, const std::string& end, int axis,
                          Loc loc) const {
  const auto size = window(loc).dims[axis].size;
  raise(ErrorId::view_bounds, loc, begin, end, axis, name_of(*this, loc),
        size ? std::to_string(*size) : "that is not known when tracing");
}

Tensor Tensor::select(int axis, const dsl::Bound& position, Loc loc) const {
  const int at = position_of(axis, "select", loc);
  dsl::Window window = this->window(loc);
  const WindowDim dim = window.dims[at];
  const auto known = position.known();
  if (known && dim.size && (*known < 0 || *known >= *dim.size))
    raise_bounds(text_of(position), std::to_string(*known + 1), at, loc);
  if (!known && !is_whole(dim, loc))
    raise(ErrorId::view_index, loc, "select", name_of(*this, loc),
          "a position known at run time only, in a dimension that is part of a tensor's, could be "
          "outside of the view; select it first");
  window.at[dim.dim] = dsl::add(Position::of(position, loc), dim.begin, loc);
  window.dims.erase(window.dims.begin() + at);
  return with(std::move(window), loc);
}

Tensor Tensor::tile(std::initializer_list<Size> block, std::initializer_list<dsl::Bound> at,
                    Loc loc) const {
  const int count = rank(loc);
  if (std::ssize(block) != count || std::ssize(at) != count)
    raise(ErrorId::view_index, loc, "tile", name_of(*this, loc),
          fmt::format("{} dimensions need as many block sizes and block numbers; found {} and {}",
                      count, block.size(), at.size()));
  dsl::Window window = this->window(loc);
  for (int d = 0; d < count; ++d) {
    const int64_t size = dsl::known_size(std::data(block)[d], "a block of tensor.tile", loc);
    if (size <= 0) raise(ErrorId::bad_block, loc, size);
    const dsl::Bound& number = std::data(at)[d];
    const WindowDim from = window.dims[d];
    const auto known = number.known();
    if (known && (*known < 0 || (from.size && *known * size > *from.size)))
      raise_bounds(std::to_string(*known * size), std::to_string((*known + 1) * size), d, loc);
    WindowDim& dim = window.dims[d];
    dim.begin = dsl::add(block_begin(number, size, loc), from.begin, loc);
    // The last block may reach past the end: its size stays, what is past the end reads as 0.
    dim.end = dsl::add(dim.begin, {size, nullptr}, loc);
    dim.size = size;
    keep_within(from, known.has_value(), known && from.size && (*known + 1) * size <= *from.size,
                dim, loc);
  }
  return with(std::move(window), loc);
}

Tensor Tensor::permute(std::initializer_list<int> dims, Loc loc) const {
  const int count = rank(loc);
  dsl::Window window = this->window(loc);
  std::vector<WindowDim> permuted;
  std::vector<bool> taken(count);
  for (int dim : dims) {
    const int at = dim < 0 ? dim + count : dim;
    if (at < 0 || at >= count || taken[at]) raise(ErrorId::bad_axis, loc, "permute", dim, count);
    taken[at] = true;
    permuted.push_back(window.dims[at]);
  }
  if (std::ssize(dims) != count)
    raise(ErrorId::view_index, loc, "permute", name_of(*this, loc),
          fmt::format("{} dimensions are given, it has {}", dims.size(), count));
  window.dims = std::move(permuted);
  return with(std::move(window), loc);
}

Tensor Tensor::t(Loc loc) const {
  if (rank(loc) != 2) raise(ErrorId::sizes_rank, loc, 2, name_of(*this, loc), rank(loc));
  return permute({1, 0}, loc);
}

}  // namespace tilewright
