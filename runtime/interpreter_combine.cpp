// Reductions and scans by a function of the kernel, which is run for many elements at once.
#include <algorithm>
#include <cstring>

#include "tilewright/ir/builder.h"
#include "tilewright/ir/error.h"
#include "tilewright/runtime/interpreter_frame.h"

namespace tilewright::interpreter {
namespace {

using Bytes = std::vector<std::byte>;
/// For each value that is combined, elements one after the other.
using Lists = std::vector<Bytes>;

/// One element, `n` times.
void repeat(const void* from, int64_t size, int64_t n, void* to) {
  if (size == 4)
    std::fill_n(static_cast<uint32_t*>(to), n, *static_cast<const uint32_t*>(from));
  else
    std::fill_n(static_cast<uint64_t*>(to), n, *static_cast<const uint64_t*>(from));
}

template <class T>
void choose(const void* condition, const void* x, const void* y, void* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    static_cast<T*>(to)[i] = static_cast<const int64_t*>(condition)[i] != 0
                                 ? static_cast<const T*>(x)[i]
                                 : static_cast<const T*>(y)[i];
}

/// The region of a combine or scan. What it computes from scalars of the kernel is worked out once.
class Combiner {
 public:
  Combiner(const Step& step, Frame& frame)
      : block_(step.regions.at(0)), region_(*step.op->regions.at(0)), frame_(frame) {
    for (const Step& inner : block_.steps)
      if (inner.op->kind == ir::OpKind::constant) inner.run(inner, frame);
  }

  /// out[v] = f(left, right)[v] for `n` pairs of elements; out may be left or right.
  void run(const std::vector<const void*>& left, const std::vector<const void*>& right, int64_t n,
           const std::vector<void*>& out) {
    of_slot_.clear();
    for (size_t v = 0; v < left.size(); ++v) {
      of_slot_[block_.args[v]] = left[v];
      of_slot_[block_.args[left.size() + v]] = right[v];
    }
    scratch_.resize(block_.steps.size());
    spread_.clear();
    for (size_t i = 0; i < block_.steps.size(); ++i) evaluate(block_.steps[i], n, scratch_[i]);
    // All are read before any is written: the function may exchange values.
    Lists results;
    for (size_t v = 0; v < out.size(); ++v) {
      const ir::Value* yielded = region_.yields().at(v);
      const int64_t bytes = n * numeric::storage_size(yielded->type.dtype);
      const auto* from =
          static_cast<const std::byte*>(elements(block_.yields[v], yielded->type.dtype, n));
      results.emplace_back(from, from + bytes);
    }
    for (size_t v = 0; v < out.size(); ++v)
      std::memcpy(out[v], results[v].data(), results[v].size());
  }

 private:
  /// The elements in a slot; a scalar of the kernel is repeated.
  const void* elements(int slot, DType dtype, int64_t n) {
    if (auto found = of_slot_.find(slot); found != of_slot_.end()) return found->second;
    const int64_t size = numeric::storage_size(dtype);
    Bytes& bytes = spread_.emplace_back(n * size);
    repeat(frame_.cells[slot].tile->data(), size, n, bytes.data());
    return of_slot_[slot] = bytes.data();
  }

  void evaluate(const Step& step, int64_t n, Bytes& to) {
    if (step.op->kind == ir::OpKind::constant) return;
    std::vector<const void*> in;
    for (size_t i = 0; i < step.in.size(); ++i)
      in.push_back(elements(step.in[i], step.op->operand(i)->type.dtype, n));
    const int64_t size = numeric::storage_size(step.out_dtype());
    to.resize(n * size);
    if (step.unary != nullptr)
      step.unary(in[0], to.data(), n);
    else if (step.binary != nullptr)
      step.binary(in[0], in[1], to.data(), n);
    else if (step.ternary != nullptr)
      step.ternary(in[0], in[1], in[2], to.data(), n);
    else if (step.op->kind == ir::OpKind::select)
      (size == 4 ? choose<uint32_t> : choose<uint64_t>)(in[0], in[1], in[2], to.data(), n);
    else
      fail(step, "stands in a function that combines elements");
    of_slot_[step.out[0]] = to.data();
  }

  const Block& block_;
  const ir::Region& region_;
  Frame& frame_;
  std::unordered_map<int, const void*> of_slot_;
  std::vector<Bytes> scratch_;
  std::vector<Bytes> spread_;
};

/// Offsets, in elements, of every position along the given dimensions, the last fastest.
std::vector<int64_t> offsets(const Extents& extents, const Extents& counted,
                             const std::vector<bool>& along) {
  std::vector<int64_t> result = {0};
  int64_t stride = count(extents);
  for (size_t d = 0; d < extents.size(); ++d) {
    stride = extents[d] == 0 ? 0 : stride / extents[d];
    if (!along[d]) continue;
    std::vector<int64_t> next;
    for (const int64_t base : result)
      for (int64_t i = 0; i < counted[d]; ++i) next.push_back(base + i * stride);
    result = std::move(next);
  }
  return result;
}

/// What a combine or scan works on: its elements as rows, one for each position along its axes, of
/// one element for each of the other positions.
struct Rows {
  Rows(const Step& step, Frame& frame, const std::vector<int64_t>& axes)
      : step(step), frame(frame), values(step.out.size()), along(step.in_extents.size(), false) {
    for (const int64_t axis : axes) along.at(axis) = true;
    Extents counted = step.in_extents;
    for (const int64_t axis : axes) {
      const int limit = step.limits.at(axis);
      if (limit >= 0) counted[axis] = std::min(counted[axis], frame.cells[limit].slice.size());
    }
    std::vector<bool> across = along;
    across.flip();
    rows = offsets(step.in_extents, counted, along);
    columns = offsets(step.in_extents, step.in_extents, across);
    if (step.op->has(ir::AttrKey::guard)) check_tail(counted);
  }

  int64_t size(size_t v) const { return numeric::storage_size(step.op->operand(v)->type.dtype); }
  const std::byte* identity(size_t v) const { return frame.operand<std::byte>(step, values + v); }

  /// The elements of value v, row by row.
  Bytes gather(size_t v) const {
    const int64_t bytes = size(v);
    const auto* from = frame.operand<std::byte>(step, v);
    Bytes result(rows.size() * columns.size() * bytes);
    std::byte* to = result.data();
    for (const int64_t row : rows)
      for (const int64_t column : columns) {
        std::memcpy(to, from + (row + column) * bytes, bytes);
        to += bytes;
      }
    return result;
  }

  /// Without a guard, what is past the limit of an axis must not matter.
  void check_tail(const Extents& counted) const {
    const auto& guard = step.op->integers(ir::AttrKey::guard);
    for (size_t d = 0; d < along.size(); ++d) {
      if (!along[d] || counted[d] == step.in_extents[d]) continue;
      if (std::find(guard.begin(), guard.end(), static_cast<int64_t>(d)) != guard.end()) continue;
      std::vector<bool> all(along.size(), true);
      for (size_t v = 0; v < values; ++v) {
        const auto* elements = frame.operand<std::byte>(step, v);
        int64_t stride = 1;
        for (size_t later = d + 1; later < along.size(); ++later) stride *= step.in_extents[later];
        for (int64_t i = 0; i < count(step.in_extents); ++i)
          if (i / stride % step.in_extents[d] >= counted[d] &&
              std::memcmp(elements + i * size(v), identity(v), size(v)) != 0)
            fail(step, fmt::format("axis {} runs past its limit with values that are not the "
                                   "identity, but has no guard",
                                   d));
      }
    }
  }

  const Step& step;
  Frame& frame;
  size_t values;
  std::vector<bool> along;
  std::vector<int64_t> rows, columns;
};

/// Pointers to element `first` of every list.
template <class P>
std::vector<P> at(Lists& lists, const Rows& rows, int64_t first) {
  std::vector<P> result;
  for (size_t v = 0; v < lists.size(); ++v)
    result.push_back(lists[v].data() + first * rows.size(v));
  return result;
}

}  // namespace

void run_combine(const Step& step, Frame& frame) {
  const Rows rows(step, frame, step.op->integers(ir::AttrKey::axes));
  Combiner combiner(step, frame);
  const auto columns = static_cast<int64_t>(rows.columns.size());
  Lists lists;
  for (size_t v = 0; v < rows.values; ++v) lists.push_back(rows.gather(v));
  // As a tree: the last half of the rows onto the first.
  for (auto n = static_cast<int64_t>(rows.rows.size()); n > 1; n -= n / 2) {
    const int64_t half = n / 2;
    combiner.run(at<const void*>(lists, rows, 0),
                 at<const void*>(lists, rows, (n - half) * columns), half * columns,
                 at<void*>(lists, rows, 0));
  }
  for (size_t v = 0; v < rows.values; ++v) {
    void* to = Frame::fresh(frame.cells[step.out[v]], columns * rows.size(v));
    if (rows.rows.empty())
      repeat(rows.identity(v), rows.size(v), columns, to);
    else
      std::memcpy(to, lists[v].data(), columns * rows.size(v));
  }
}

void run_scan(const Step& step, Frame& frame) {
  const Rows rows(step, frame, {step.op->integer(ir::AttrKey::axis)});
  const bool reverse = step.op->integer_or(ir::AttrKey::reverse, 0) != 0;
  const bool exclusive = step.op->integer_or(ir::AttrKey::exclusive, 0) != 0;
  Combiner combiner(step, frame);
  const auto columns = static_cast<int64_t>(rows.columns.size());
  const auto n = static_cast<int64_t>(rows.rows.size());
  Lists so_far, lists;
  std::vector<std::byte*> out;
  for (size_t v = 0; v < rows.values; ++v) {
    lists.push_back(rows.gather(v));
    so_far.emplace_back(columns * rows.size(v));
    repeat(rows.identity(v), rows.size(v), columns, so_far[v].data());
    const int64_t elements = count(step.in_extents);
    out.push_back(
        static_cast<std::byte*>(Frame::fresh(frame.cells[step.out[v]], elements * rows.size(v))));
    repeat(rows.identity(v), rows.size(v), elements, out[v]);
  }
  const auto emit = [&](int64_t row) {
    for (size_t v = 0; v < rows.values; ++v)
      for (int64_t c = 0; c < columns; ++c)
        std::memcpy(out[v] + (rows.rows[row] + rows.columns[c]) * rows.size(v),
                    so_far[v].data() + c * rows.size(v), rows.size(v));
  };
  for (int64_t i = 0; i < n; ++i) {
    const int64_t row = reverse ? n - 1 - i : i;
    if (exclusive) emit(row);
    if (i == 0)
      for (size_t v = 0; v < rows.values; ++v)
        std::memcpy(so_far[v].data(), lists[v].data() + row * columns * rows.size(v),
                    columns * rows.size(v));
    else
      combiner.run(at<const void*>(so_far, rows, 0), at<const void*>(lists, rows, row * columns),
                   columns, at<void*>(so_far, rows, 0));
    if (!exclusive) emit(row);
  }
}

}  // namespace tilewright::interpreter
