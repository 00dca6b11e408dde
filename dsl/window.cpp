#include "tilewright/dsl/window.h"

#include <algorithm>

#include "tilewright/dsl/trace.h"

namespace tilewright::dsl {

Position Position::of(const Bound& bound, Loc loc) {
  if (const auto known = bound.known()) return {*known, nullptr};
  return {0, bound.value(loc)};
}

Position end_of(const ir::Function& fn, const ir::Param& param, int dim) {
  if (const ir::Value* size = fn.size_value(param, dim)) return {0, size};
  return {param.spec.sizes[dim], nullptr};
}

Window Window::all(const ir::Function& fn, const ir::Param& param) {
  Window window;
  for (int d = 0; d < param.spec.rank(); ++d) {
    const Position end = end_of(fn, param, d);
    const auto size = end.value == nullptr ? std::optional(end.known) : std::nullopt;
    window.dims.push_back({d, {0, nullptr}, end, size});
  }
  window.at.resize(param.spec.sizes.size());
  return window;
}

Position add(const Position& x, const Position& y, Loc loc) {
  if (x.value == nullptr && y.value == nullptr) return {x.known + y.known, nullptr};
  if (x.is(0)) return y;
  if (y.is(0)) return x;
  const ir::Value* left = scalar_of(x, loc);
  const ir::Value* right = scalar_of(y, loc);
  return {0, Trace::current("a view of a tensor", loc).at(loc).binary(ir::Fn::add, left, right)};
}

Position minimum(const Position& x, const Position& y, Loc loc) {
  if (x.value == nullptr && y.value == nullptr) return {std::min(x.known, y.known), nullptr};
  const ir::Value* left = scalar_of(x, loc);
  const ir::Value* right = scalar_of(y, loc);
  return {0, Trace::current("a view of a tensor", loc).at(loc).binary(ir::Fn::min, left, right)};
}

const ir::Value* scalar_of(const Position& position, Loc loc) {
  if (position.value != nullptr) return position.value;
  return Trace::current("a view of a tensor", loc).at(loc).index(position.known);
}

}  // namespace tilewright::dsl
