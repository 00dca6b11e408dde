#include "tilewright/codegen/shared_layout.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

constexpr int kBanks = 32;
constexpr int kBankBytes = 4;
constexpr int kRowOfBanks = kBanks * kBankBytes;
constexpr int kLanes = 32;
constexpr int kMostRows = 64;  // after which every swizzle repeats

/// The distinct words that one phase of an access touches, by bank.
class Phase {
 public:
  void touch(int64_t word) {
    const int bank = static_cast<int>(word % kBanks);
    for (int i = 0; i < depth_[bank]; ++i)
      if (words_[bank][i] == word) return;
    words_[bank][depth_[bank]++] = word;
    deepest_ = std::max(deepest_, depth_[bank]);
    ++count_;
  }

  /// Wavefronts beyond the least that could move as many words; empties the phase.
  int finish() {
    const int conflicts = deepest_ - (count_ + kBanks - 1) / kBanks;
    depth_.fill(0);
    deepest_ = count_ = 0;
    return conflicts;
  }

 private:
  // No more than 32 words in a phase: 32 lanes of one, 16 of two or 8 of four.
  std::array<std::array<int64_t, kBanks>, kBanks> words_;
  std::array<int, kBanks> depth_ = {};
  int deepest_ = 0, count_ = 0;
};

int64_t offset_of(const SharedLayout& layout, const int64_t* at) {
  if (layout.order.empty()) return 0;
  int64_t row = 0;
  for (size_t i = 0; i + 1 < layout.order.size(); ++i)
    row = row * layout.extents[layout.order[i]] + at[layout.order[i]];
  const int64_t unit = layout.swizzle_unit;
  int64_t column = at[layout.order.back()], before = 0;
  int64_t row_length = layout.extents[layout.order.back()] + layout.padding;
  if (layout.has_panels()) {
    int64_t rows = 1;
    for (size_t i = 0; i + 1 < layout.order.size(); ++i) rows *= layout.extents[layout.order[i]];
    before = column / layout.panel * layout.panel * rows;
    column %= layout.panel;
    row_length = layout.panel;
  }
  if (unit > 0)
    column =
        (column / unit ^ row / layout.swizzle_rows % layout.swizzle_period) * unit + column % unit;
  return before + row * row_length + column;
}

int conflicts_of(const SharedLayout& layout, int element_bytes, const WarpAccess& access,
                 Phase& phase) {
  const int lanes_per_phase = kLanes / std::max(1, access.bytes / kBankBytes);
  int conflicts = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((access.active >> lane & 1) != 0) {
      const int64_t first =
          offset_of(layout, &access.coordinates[lane * access.rank]) * element_bytes;
      for (int64_t word = first / kBankBytes; word * kBankBytes < first + access.bytes; ++word)
        phase.touch(word);
    }
    if ((lane + 1) % lanes_per_phase == 0) conflicts += phase.finish();
  }
  return conflicts;
}

/// The register positions of a layout, `step` apart along `axis`: calls visit for each.
template <class Visit>
void for_each_register(const Layout& layout, int axis, int step, const Visit& visit) {
  std::vector<int> reg(layout.rank, 0);
  for (;;) {
    visit(reg);
    int a = layout.rank - 1;
    for (; a >= 0; --a) {
      reg[a] += a == axis ? step : 1;
      if (reg[a] < layout.registers(a)) break;
      reg[a] = 0;
    }
    if (a < 0) return;
  }
}

/// Paddings that keep rows aligned, least first.
std::vector<SharedLayout> padded(const SharedLayout& plain, int element_bytes, int unit) {
  std::vector<SharedLayout> result;
  const int64_t row = plain.extents[plain.order.back()];
  const int64_t align = (unit - row % unit) % unit;
  const int64_t step = std::max<int64_t>(unit, kBankBytes / element_bytes);
  for (int64_t more = 0; more == 0 || more * element_bytes < kRowOfBanks; more += step) {
    result.push_back(plain);
    result.back().padding = align + more;
  }
  return result;
}

/// Swizzles of `unit` wide chunks, those that repeat after the fewest rows first: what a thread
/// reads at rows that are a multiple of that apart has one pattern.
std::vector<SharedLayout> swizzled(const SharedLayout& plain, int element_bytes, int unit) {
  std::vector<SharedLayout> result;
  const int64_t row = plain.extents[plain.order.back()];
  const int64_t chunks = row / unit;
  if (plain.order.size() < 2 || row % unit != 0) return result;
  const int most = std::max(1, kRowOfBanks / (unit * element_bytes));
  for (int repeat = 2; repeat <= kMostRows; repeat *= 2)
    for (int period = std::min(repeat, most); period >= 2; period /= 2) {
      if (chunks % period != 0) continue;
      result.push_back(plain);
      result.back().swizzle_unit = unit;
      result.back().swizzle_rows = repeat / period;
      result.back().swizzle_period = period;
    }
  return result;
}

}  // namespace

std::vector<int64_t> SharedLayout::declared() const {
  std::vector<int64_t> result;
  for (int axis : order) result.push_back(extents.at(axis));
  if (result.empty()) return result;
  if (has_panels()) {
    result.insert(result.begin(), result.back() / panel);
    result.back() = panel;
  }
  result.back() += padding;
  return result;
}

int64_t SharedLayout::size() const {
  int64_t product = 1;
  for (int64_t extent : declared()) product *= extent;
  return product;
}

int64_t SharedLayout::offset(const std::vector<int64_t>& coordinates) const {
  internal_check(coordinates.size() == order.size(), "an element has one coordinate per axis");
  return offset_of(*this, coordinates.data());
}

std::vector<WarpAccess> warp_accesses(const Layout& layout, const std::vector<int64_t>& extents,
                                      int axis, int vector, int element_bytes) {
  internal_check(layout.size(Holder::lane) == kLanes, "a warp has 32 lanes");
  internal_check(vector == 1 || layout.vector(axis) % vector == 0,
                 "an access is wider than the run of elements that a thread holds");
  const int rank = layout.rank;
  std::vector<int64_t> pattern(kLanes * rank);
  for (int lane = 0; lane < kLanes; ++lane)
    for (int a = 0; a < rank; ++a) pattern[lane * rank + a] = layout.thread_offset(a, lane);
  // A shift by this many elements along any axis moves every lane by whole rows of banks and whole
  // periods of any swizzle, in every shared layout.
  const int64_t indistinguishable = std::max<int64_t>(kMostRows, kRowOfBanks / element_bytes);
  std::map<std::vector<int64_t>, WarpAccess> found;
  for (int warp = 0; warp < layout.size(Holder::warp); ++warp)
    for_each_register(layout, axis, vector, [&](const std::vector<int>& reg) {
      std::vector<int64_t> shift(rank), key(rank + 1);
      for (int a = 0; a < rank; ++a) {
        shift[a] = layout.register_offset(a, reg[a]) + layout.thread_offset(a, warp * kLanes);
        key[a] = shift[a] % indistinguishable;
      }
      WarpAccess access{.rank = rank, .coordinates = pattern, .bytes = vector * element_bytes};
      for (int lane = 0; lane < kLanes; ++lane) {
        bool inside = true;
        for (int a = 0; a < rank; ++a)
          inside &= (access.coordinates[lane * rank + a] += shift[a]) < extents.at(a);
        access.active |= static_cast<uint32_t>(inside) << lane;
      }
      if (access.active == 0) return;
      key[rank] = access.active;
      const auto [at, is_new] = found.try_emplace(std::move(key), std::move(access));
      if (!is_new) ++at->second.count;
    });
  std::vector<WarpAccess> result;
  for (auto& [key, access] : found) result.push_back(std::move(access));
  return result;
}

int bank_conflicts(const SharedLayout& layout, int element_bytes, const WarpAccess& access) {
  Phase phase;
  return conflicts_of(layout, element_bytes, access, phase);
}

int64_t weighted_conflicts(const SharedLayout& layout, int element_bytes,
                           const std::vector<WeightedAccesses>& groups, int64_t enough) {
  Phase phase;
  int64_t total = 0;
  for (const WeightedAccesses& group : groups)
    for (const WarpAccess& access : group.accesses) {
      total +=
          int64_t{group.weight} * access.count * conflicts_of(layout, element_bytes, access, phase);
      if (total >= enough) return total;
    }
  return total;
}

SharedLayout choose_shared_layout(const std::vector<int64_t>& extents,
                                  const std::vector<int>& order, int element_bytes, int unit,
                                  const std::vector<WeightedAccesses>& groups, bool save_memory) {
  internal_check(order.size() == extents.size(), "a shared layout's order names every axis");
  const SharedLayout plain{.order = order, .extents = extents};
  if (order.empty()) return plain;
  std::vector<SharedLayout> candidates = padded(plain, element_bytes, unit);
  std::vector<SharedLayout> swizzles = swizzled(plain, element_bytes, unit);
  // The one that is neither comes first always.
  candidates.insert(save_memory ? candidates.begin() + 1 : candidates.end(), swizzles.begin(),
                    swizzles.end());
  const SharedLayout* best = nullptr;
  int64_t fewest = std::numeric_limits<int64_t>::max();
  for (const SharedLayout& candidate : candidates) {
    const int64_t conflicts = weighted_conflicts(candidate, element_bytes, groups, fewest);
    if (best != nullptr && conflicts >= fewest) continue;
    best = &candidate;
    fewest = conflicts;
    if (fewest == 0) break;
  }
  return *best;
}

}  // namespace tilewright::codegen
