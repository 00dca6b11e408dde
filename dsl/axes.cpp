#include "tilewright/dsl/axes.h"

#include <algorithm>

#include "tilewright/ir/error.h"

namespace tilewright::dsl {

std::vector<int64_t> positions(std::string_view what, const Axes* axes, int rank, Loc loc) {
  std::vector<int64_t> result;
  for (int dim = 0; axes == nullptr && dim < rank; ++dim) result.push_back(dim);
  for (int dim : axes == nullptr ? std::vector<int>{} : axes->dims) {
    const int64_t at = dim < 0 ? dim + rank : dim;
    if (at < 0 || at >= rank || std::find(result.begin(), result.end(), at) != result.end())
      raise(ErrorId::bad_axis, loc, what, dim, rank);
    result.push_back(at);
  }
  std::sort(result.begin(), result.end());
  return result;
}

int64_t position(std::string_view what, const Axes& axes, int rank, Loc loc) {
  if (axes.dims.size() != 1) raise(ErrorId::single_axis, loc, what, axes.dims.size());
  return positions(what, &axes, rank, loc)[0];
}

const ir::Value* restore_dims(ir::Builder& builder, const ir::Value* x,
                              const std::vector<int64_t>& axes) {
  ir::Shape shape = x->type.shape;
  for (int64_t axis : axes) shape.insert(shape.begin() + axis, ir::Dim::constant(1));
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < static_cast<int64_t>(shape.size()); ++i)
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) kept.push_back(i);
  return builder.broadcast(x, shape, kept);
}

}  // namespace tilewright::dsl
