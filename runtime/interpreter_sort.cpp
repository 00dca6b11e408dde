// Sorting along an axis; tiles joined along a new axis, and taken apart again.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "tilewright/ir/error.h"
#include "tilewright/runtime/interpreter_frame.h"

namespace tilewright::interpreter {
namespace {

/// Positions before, along and after one axis.
struct AxisExtents {
  int64_t outer = 1, axis = 1, inner = 1;

  AxisExtents(const Extents& extents, int64_t at) : axis(extents.at(at)) {
    for (int64_t d = 0; d < at; ++d) outer *= extents[d];
    for (size_t d = at + 1; d < extents.size(); ++d) inner *= extents[d];
  }
};

/// The first `n` positions of a line of keys, `stride` elements apart, in stable order; NaN last.
template <class T>
void order(const T* keys, int64_t stride, bool descending, std::vector<int64_t>& positions) {
  const auto before = [&](int64_t a, int64_t b) {
    const T x = keys[a * stride], y = keys[b * stride];
    if (x != x || y != y) return x == x && y != y;
    return descending ? y < x : x < y;
  };
  std::iota(positions.begin(), positions.end(), 0);
  std::stable_sort(positions.begin(), positions.end(), before);
}

using Order = void (*)(const void*, int64_t, int64_t, bool, std::vector<int64_t>&);

template <class T>
void order_of(const void* keys, int64_t first, int64_t stride, bool descending,
              std::vector<int64_t>& positions) {
  order(static_cast<const T*>(keys) + first, stride, descending, positions);
}

Order order_for(DType dtype) {
  switch (numeric::storage_of(dtype)) {
    case numeric::Storage::f32:
      return order_of<float>;
    case numeric::Storage::f64:
      return order_of<double>;
    case numeric::Storage::i64:
      break;
  }
  return order_of<int64_t>;
}

}  // namespace

void run_sort(const Step& step, Frame& frame) {
  const int64_t axis = step.op->integer(ir::AttrKey::axis);
  const bool descending = step.op->integer(ir::AttrKey::descending) != 0;
  const AxisExtents in(step.in_extents, axis), out(step.out_extents, axis);
  const int limit = step.limits.at(axis);
  const int64_t counted = limit < 0 ? in.axis : std::min(in.axis, frame.cells[limit].slice.size());
  std::vector<std::byte*> to;
  for (size_t v = 0; v < step.out.size(); ++v)
    to.push_back(static_cast<std::byte*>(Frame::fresh(
        frame.cells[step.out[v]],
        count(step.out_extents) * numeric::storage_size(step.op->operand(v)->type.dtype))));
  const Order order = order_for(step.in_dtype());
  std::vector<int64_t> positions(counted);
  for (int64_t o = 0; o < in.outer; ++o)
    for (int64_t i = 0; i < in.inner; ++i) {
      order(frame.operand(step, 0), o * in.axis * in.inner + i, in.inner, descending, positions);
      for (int64_t p = 0; p < out.axis; ++p) {
        const int64_t source = p < counted ? positions[p] : p;  // past the limit: left in place
        for (size_t v = 0; v < to.size(); ++v) {
          const int64_t size = numeric::storage_size(step.op->operand(v)->type.dtype);
          std::memcpy(
              to[v] + ((o * out.axis + p) * in.inner + i) * size,
              frame.operand<std::byte>(step, v) + ((o * in.axis + source) * in.inner + i) * size,
              size);
        }
      }
    }
}

void run_join(const Step& step, Frame& frame) {
  const AxisExtents out(step.out_extents, step.op->integer(ir::AttrKey::axis));
  const int64_t bytes = out.inner * numeric::storage_size(step.out_dtype());
  auto* to = frame.result<std::byte>(step);
  for (int64_t o = 0; o < out.outer; ++o)
    for (int64_t v = 0; v < out.axis; ++v, to += bytes)
      std::memcpy(to, frame.operand<std::byte>(step, v) + o * bytes, bytes);
}

void run_pick(const Step& step, Frame& frame) {
  const AxisExtents in(step.in_extents, step.op->integer(ir::AttrKey::axis));
  const int64_t bytes = in.inner * numeric::storage_size(step.out_dtype());
  const int64_t position = step.op->integer(ir::AttrKey::position);
  const auto* from = frame.operand<std::byte>(step, 0);
  auto* to = frame.result<std::byte>(step);
  for (int64_t o = 0; o < in.outer; ++o)
    std::memcpy(to + o * bytes, from + (o * in.axis + position) * bytes, bytes);
}

}  // namespace tilewright::interpreter
