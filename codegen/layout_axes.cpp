#include "tilewright/codegen/layout_axes.h"

#include <algorithm>

namespace tilewright::codegen {
namespace {

/// A digit of one axis, and its weight in its holder's number.
struct Weighed {
  Digit digit;
  int64_t weight;
};

/// The digits of `axis` by their stride.
std::vector<Weighed> digits_of(const Layout& layout, int axis) {
  std::vector<Weighed> found;
  for (Holder holder : {Holder::reg, Holder::lane, Holder::warp, Holder::cta}) {
    int64_t weight = 1;
    for (const Digit& digit : layout.digits) {
      if (digit.holder != holder || (holder == Holder::reg && digit.axis != axis)) continue;
      if (digit.axis == axis && digit.radix > 1) found.push_back({digit, weight});
      weight *= digit.radix;
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const Weighed& a, const Weighed& b) {
    return a.digit.stride < b.digit.stride;
  });
  return found;
}

constexpr int kLanes = 32;
constexpr int64_t kRun = 8;       // elements of the axis that a thread gets while there are warps
constexpr int64_t kMostRun = 32;  // and when there are no more
constexpr int64_t kMostExchanges = 256;  // printed for each thread: what compiles in seconds

void add_digit(Layout& layout, Holder holder, int64_t radix, int axis, int64_t stride) {
  if (radix > 1) layout.digits.push_back({holder, static_cast<int>(radix), axis, stride});
}

/// Deals the axes but `axis` to what is left of lanes and warps, the last axis first.
void deal_others(Layout& layout, const std::vector<int64_t>& extents, int axis, int lanes,
                 int warps) {
  for (int other = layout.rank - 1; other >= 0; --other) {
    if (other == axis) continue;
    int64_t stride = 1, left = extents[other];
    const auto deal = [&](Holder holder, int& available) {
      int radix = 1;
      while (radix < left && available % (radix * 2) == 0) radix *= 2;
      add_digit(layout, holder, radix, other, stride);
      available /= radix;
      stride *= radix;
      left = (left + radix - 1) / radix;
    };
    deal(Holder::lane, lanes);
    deal(Holder::warp, warps);
    add_digit(layout, Holder::reg, left, other, stride);
  }
  add_digit(layout, Holder::lane, lanes, -1, 0);
  add_digit(layout, Holder::warp, warps, -1, 0);
}

}  // namespace

std::optional<Layout> sorting_layout(const std::vector<int64_t>& extents, int axis, int warps) {
  int64_t total = 1;
  while (total < extents.at(axis)) total *= 2;
  const int64_t lanes = std::min<int64_t>(kLanes, total);
  int64_t of_warps = 1;
  while (total / lanes / of_warps > kRun && warps % (of_warps * 2) == 0) of_warps *= 2;
  const int64_t run = total / lanes / of_warps;
  if (run > kMostRun) return std::nullopt;
  Layout layout{static_cast<int>(extents.size()), {}};
  add_digit(layout, Holder::reg, run, axis, 1);
  add_digit(layout, Holder::lane, lanes, axis, run);
  add_digit(layout, Holder::warp, of_warps, axis, run * lanes);
  deal_others(layout, extents, axis, kLanes / static_cast<int>(lanes),
              warps / static_cast<int>(of_warps));
  int64_t bits = 0;
  while (int64_t{1} << bits < total) ++bits;
  if (layout.registers() * bits * (bits + 1) / 2 > kMostExchanges) return std::nullopt;
  return layout;
}

std::optional<AxisSplit> split_of(const Layout& layout, int axis) {
  AxisSplit split;
  int64_t stride = 1;
  int part = 0;  // run, lanes, warps, runs
  for (const auto& [digit, weight] : digits_of(layout, axis)) {
    if (digit.stride != stride) return std::nullopt;
    stride *= digit.radix;
    int at = digit.holder == Holder::lane ? 1 : digit.holder == Holder::warp ? 2 : 3;
    if (digit.holder == Holder::reg && part == 0 && split.run == 1) at = 0;
    int* const parts[] = {&split.run, &split.lanes, &split.warps, &split.runs};
    if (digit.holder == Holder::cta || at < part || *parts[at] != 1) return std::nullopt;
    if (digit.holder == Holder::reg && weight != (at == 0 ? 1 : split.run)) return std::nullopt;
    *parts[at] = digit.radix;
    if (at == 1) split.lane_weight = weight;
    if (at == 2) split.warp_weight = weight;
    part = at;
  }
  return split;
}

Layout insert_register_axis(const Layout& layout, int axis, int64_t extent) {
  Layout result{layout.rank + 1, {}};
  if (extent > 1) result.digits.push_back({Holder::reg, static_cast<int>(extent), axis, 1});
  for (Digit digit : layout.digits) {
    if (digit.axis >= axis) ++digit.axis;
    result.digits.push_back(digit);
  }
  return result;
}

}  // namespace tilewright::codegen
