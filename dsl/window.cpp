#include "tilewright/dsl/window.h"

#include <algorithm>

#include "tilewright/dsl/trace.h"

namespace tilewright::dsl {

Position Position::of(const Bound& bound, Loc loc) {
  if (const auto known = bound.known()) return {*known, nullptr};
  return {0, bound.value(loc)};
}

Window Window::all(const TensorSpec& spec) {
  Window window;
  for (int d = 0; d < spec.rank(); ++d)
    window.dims.push_back({d, {0, nullptr}, {spec.sizes[d], nullptr}, spec.sizes[d]});
  window.at.resize(spec.sizes.size());
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
