// Reductions, clipped at the limits of their axes.
#include <algorithm>
#include <cstring>

#include "tilewright/ir/error.h"
#include "tilewright/runtime/interpreter_frame.h"

namespace tilewright::interpreter {
namespace {

bool contains(const std::vector<int64_t>& values, int64_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

/// Whether every stored element at position `first` or later along dimension `axis` is `value`.
bool tail_is(const Step& step, const void* x, int64_t axis, int64_t first,
             const numeric::Element& value) {
  const Extents& extents = step.in_extents;
  int64_t outer = 1, inner = 1;
  for (int64_t d = 0; d < axis; ++d) outer *= extents[d];
  for (size_t d = axis + 1; d < extents.size(); ++d) inner *= extents[d];
  return std::visit(
      [&](auto expected) {
        const auto* elements = static_cast<const decltype(expected)*>(x);
        for (int64_t o = 0; o < outer; ++o)
          for (int64_t i = first * inner; i < extents[axis] * inner; ++i)
            if (!(elements[o * extents[axis] * inner + i] == expected)) return false;
        return true;
      },
      value);
}

/// How many positions count along each dimension: all of those kept, of those reduced the ones
/// below the limit. An axis without a guard must not run past its limit, or hold the identity
/// there.
Extents counted(const Step& step, const Frame& frame) {
  Extents result = step.in_extents;
  for (int64_t axis : step.op->integers(ir::AttrKey::axes)) {
    const int limit = step.limits.at(axis);
    if (limit < 0) continue;
    result[axis] = frame.cells[limit].slice.size();
    if (result[axis] == step.in_extents[axis] || !step.op->has(ir::AttrKey::guard)) continue;
    if (!contains(step.op->integers(ir::AttrKey::guard), axis) &&
        !tail_is(step, frame.operand(step, 0), axis, result[axis],
                 numeric::identity(step.op->fn(), step.in_dtype())))
      fail(step, fmt::format("axis {} runs past its limit with values that are not the identity, "
                             "but has no guard",
                             axis));
  }
  return result;
}

/// Combines n > 0 elements of `size` bytes with *into, as a tree. `scratch` has room for them.
void fold(numeric::BinaryKernel combine, const std::byte* values, int64_t n, int64_t size,
          std::byte* scratch, std::byte* into) {
  for (int64_t half = n / 2; n > 1; n -= half, half = n / 2) {
    combine(values, values + (n - half) * size, scratch, half);
    if (n % 2 != 0) std::memmove(scratch + half * size, values + half * size, size);
    values = scratch;
  }
  combine(into, values, into, 1);
}

/// Fills n stored elements with one value.
void fill(const numeric::Element& value, void* to, int64_t n) {
  std::visit([&](auto x) { std::fill_n(static_cast<decltype(x)*>(to), n, x); }, value);
}

/// Steps of the result, in elements, along each dimension of the operand: 0 along those reduced.
std::vector<int64_t> result_strides(const Step& step) {
  std::vector<int64_t> strides(step.in_extents.size());
  int64_t stride = 1;
  for (size_t d = strides.size(); d-- > 0;) {
    if (contains(step.op->integers(ir::AttrKey::axes), static_cast<int64_t>(d))) continue;
    strides[d] = stride;
    stride *= step.in_extents[d];
  }
  return strides;
}

/// Combines every counted element of `x` with its element of `to`. `strides`: of the result; the
/// last dimension of the tile makes the rows.
void combine_rows(const Step& step, const Extents& counted, const std::vector<int64_t>& strides,
                  const std::byte* x, std::byte* to) {
  const int64_t size = numeric::storage_size(step.out_dtype());
  const size_t outer = counted.size() - 1;
  const int64_t row = counted[outer];
  std::vector<std::byte> scratch(row * size);
  std::vector<int64_t> at(outer);
  if (count(counted) == 0) return;
  while (true) {
    int64_t from = 0, result = 0;
    for (size_t d = 0; d < outer; ++d) {
      from = from * step.in_extents[d] + at[d];
      result += at[d] * strides[d];
    }
    const std::byte* values = x + from * step.in_extents[outer] * size;
    std::byte* into = to + result * size;
    if (strides[outer] != 0)
      step.binary(into, values, into, row);
    else
      fold(step.binary, values, row, size, scratch.data(), into);
    size_t d = outer;
    while (d-- > 0) {
      if (++at[d] < counted[d]) break;
      at[d] = 0;
    }
    if (d == static_cast<size_t>(-1)) return;
  }
}

}  // namespace

void run_reduce(const Step& step, Frame& frame) {
  const DType dtype = step.out_dtype();
  const int64_t n = count(step.out_extents);
  auto* to = frame.result<std::byte>(step);
  fill(numeric::identity(step.op->fn(), is_narrow_float(dtype) ? DType::f32 : dtype), to, n);
  if (!step.in_extents.empty())
    combine_rows(step, counted(step, frame), result_strides(step),
                 frame.operand<std::byte>(step, 0), to);
  else
    step.binary(to, frame.operand(step, 0), to, n);
  if (is_narrow_float(dtype)) numeric::cast_kernel(dtype, DType::f32)(to, to, n);
}

}  // namespace tilewright::interpreter
