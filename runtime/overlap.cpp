// Which elements of two views are the same memory.
#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <utility>

#include "tilewright/runtime/view.h"

namespace tilewright {
namespace {

// One dimension of the question "is there x_d in [low, high] for every d with sum x_d * stride_d =
// delta": x is the difference of the two views' positions.
struct Term {
  int64_t stride = 0, low = 0, high = 0;
};

struct Terms {
  std::array<Term, TensorView::max_rank> terms;
  size_t count = 0;
  int budget = 4096;  // steps before giving up
};

// For a handful of items (std::sort makes g++ 12 see accesses past a short array's end).
template <class Item, class Before>
void insertion_sort(std::span<Item> items, Before before) {
  for (size_t i = 1; i < items.size(); ++i)
    for (size_t j = i; j > 0 && before(items[j], items[j - 1]); --j)
      std::swap(items[j], items[j - 1]);
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

// Exact unless the budget runs out, which counts as "yes". Terms are sorted, widest stride first.
bool solvable(Terms& problem, size_t first, int64_t delta) {
  if (first == problem.count) return delta == 0;
  if (--problem.budget < 0) return true;
  int64_t low = 0, high = 0;  // what the later terms can add up to
  for (size_t i = first + 1; i < problem.count; ++i) {
    low += problem.terms[i].low * problem.terms[i].stride;
    high += problem.terms[i].high * problem.terms[i].stride;
  }
  const Term& term = problem.terms[first];
  const int64_t from = std::max(term.low, -floor_div(high - delta, term.stride));
  const int64_t to = std::min(term.high, floor_div(delta - low, term.stride));
  for (int64_t x = from; x <= to; ++x)
    if (solvable(problem, first + 1, delta - x * term.stride)) return true;
  return false;
}

bool same_layout(const TensorView& a, const TensorView& b) {
  if (a.dtype() != b.dtype() || a.rank() != b.rank()) return false;
  for (int d = 0; d < a.rank(); ++d) {
    if (a.size(d) != b.size(d)) return false;
    if (a.size(d) != 1 && a.stride(d) != b.stride(d)) return false;
  }
  return true;
}

// The dimensions of both views as terms, or false when the strides differ.
bool difference_terms(const TensorView& a, const TensorView& b, Terms& problem) {
  if (a.rank() != b.rank()) return false;
  for (int d = 0; d < a.rank(); ++d) {
    if (a.size(d) == 1 && b.size(d) == 1) continue;
    const int64_t stride = a.size(d) == 1 ? b.stride(d) : a.stride(d);
    if (b.size(d) != 1 && b.stride(d) != stride) return false;
    if (stride == 0) continue;  // contributes nothing to the address
    problem.terms[problem.count++] = {stride, 1 - b.size(d), a.size(d) - 1};
  }
  insertion_sort(std::span(problem.terms).first(problem.count),
                 [](const Term& x, const Term& y) { return x.stride > y.stride; });
  return true;
}

}  // namespace

ByteRange byte_range(const TensorView& view) {
  uint64_t last = 0;  // unsigned: strides out of any bounds are refused elsewhere
  const std::span<const int64_t> sizes = view.sizes(), strides = view.strides();
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0 || (sizes[d] > 1 && strides[d] < 0)) return {};
    if (sizes[d] > 1)
      last += static_cast<uint64_t>(sizes[d] - 1) * static_cast<uint64_t>(strides[d]);
  }
  const auto begin = reinterpret_cast<uintptr_t>(view.data());
  return {begin, begin + (last + 1) * static_cast<uint64_t>(size_of(view.dtype()))};
}

Overlap overlap(const TensorView& a, const TensorView& b) {
  if (!byte_range(a).overlaps(byte_range(b))) return Overlap::none;
  if (a.data() == b.data() && same_layout(a, b)) return Overlap::exact;
  const int64_t bytes = reinterpret_cast<intptr_t>(b.data()) - reinterpret_cast<intptr_t>(a.data());
  Terms problem;
  if (a.dtype() != b.dtype() || bytes % size_of(a.dtype()) != 0) return Overlap::partial;
  if (!difference_terms(a, b, problem)) return Overlap::partial;
  return solvable(problem, 0, bytes / size_of(a.dtype())) ? Overlap::partial : Overlap::none;
}

bool overlaps_itself(const TensorView& view) {
  if (view.empty()) return false;
  std::array<std::pair<int64_t, int64_t>, TensorView::max_rank> dims;  // stride, size
  size_t count = 0;
  for (int d = 0; d < view.rank(); ++d)
    if (view.size(d) > 1) dims[count++] = {view.stride(d), view.size(d)};
  insertion_sort(std::span(dims).first(count), std::less<>());
  int64_t reach = 0;  // largest offset of the dimensions seen so far
  for (size_t i = 0; i < count; ++i) {
    if (dims[i].first <= reach) return true;
    reach += dims[i].first * (dims[i].second - 1);
  }
  return false;
}

}  // namespace tilewright
