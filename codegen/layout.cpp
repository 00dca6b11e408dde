#include "tilewright/codegen/layout.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <tuple>

#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

constexpr int kLanes = 32;
constexpr int kSmallThread = 16;  // registers up to which an exact layout is always taken

int64_t ceil_div(int64_t x, int64_t y) { return (x + y - 1) / y; }

bool is_replication(const Digit& digit) { return digit.axis < 0 || digit.stride == 0; }

/// The part of the coordinate along `axis` that index `index` of `holder` contributes. Registers
/// are numbered per axis, so that only the digits of `axis` divide their index.
int64_t contribution(const Layout& layout, Holder holder, int axis, int index) {
  int64_t coordinate = 0;
  for (const Digit& digit : layout.digits) {
    if (digit.holder != holder || (holder == Holder::reg && digit.axis != axis)) continue;
    if (digit.axis == axis) coordinate += index % digit.radix * digit.stride;
    index /= digit.radix;
  }
  return coordinate;
}

/// `layout` over other axes: axis a becomes to[a]. Threads that differed along an axis that
/// vanishes (to[a] < 0) become replicas; its registers go.
Layout remap(const Layout& layout, int rank, const std::vector<int>& to) {
  Layout result{rank, {}};
  for (Digit digit : layout.digits) {
    if (digit.axis >= 0) digit.axis = to.at(digit.axis);
    if (digit.axis < 0) {
      if (digit.holder == Holder::reg) continue;
      digit.stride = 0;
    }
    result.digits.push_back(digit);
  }
  return result;
}

/// The digits of one holder, without radix 1 and with neighbours that continue each other joined:
/// equal for equal maps. Of the registers, those along `axis`.
std::vector<Digit> canonical(const Layout& layout, Holder holder, int axis) {
  std::vector<Digit> result;
  for (Digit digit : layout.digits) {
    if (digit.holder != holder || digit.radix == 1) continue;
    if (holder == Holder::reg && digit.axis != axis) continue;
    if (is_replication(digit)) digit.axis = -1, digit.stride = 0;
    Digit* last = result.empty() ? nullptr : &result.back();
    if (last != nullptr && last->axis == digit.axis && digit.stride == last->stride * last->radix)
      last->radix *= digit.radix;
    else
      result.push_back(digit);
  }
  return result;
}

/// How one axis is dealt out: units of `vector` elements to lanes, warps, and registers.
struct Split {
  int vector = 1, lanes = 1, warps = 1;
  int64_t units = 1;  // per thread

  int64_t registers() const { return vector * units; }
};

/// Every way to deal `extent` elements, in accesses of `vector`, to at most `lanes` lanes and
/// `warps` warps; most lanes, then most warps first. Exact ones only, if asked for.
std::vector<Split> splits(int64_t extent, int vector, int lanes, int warps, bool exact) {
  std::vector<Split> result;
  const int64_t units = std::max<int64_t>(1, ceil_div(extent, vector));  // of nothing, too
  for (int l = lanes; l >= 1; l /= 2) {
    if (l > 1 && l / 2 >= units) continue;  // half of them would have nothing
    if (exact && units % l != 0) continue;
    const int64_t per_lane = ceil_div(units, l);
    for (int w = warps; w >= 1; --w) {
      if (warps % w != 0 || w > per_lane) continue;
      if (exact && per_lane % w != 0) continue;
      result.push_back({vector, l, w, ceil_div(per_lane, w)});
    }
  }
  return result;
}

void add_digit(Layout& layout, Holder holder, int64_t radix, int axis, int64_t stride) {
  if (radix > 1) layout.digits.push_back({holder, static_cast<int>(radix), axis, stride});
}

/// The threads that no axis uses hold what the others do.
void add_replicas(Layout& layout, int warps) {
  add_digit(layout, Holder::lane, kLanes / layout.size(Holder::lane), -1, 0);
  add_digit(layout, Holder::warp, warps / layout.size(Holder::warp), -1, 0);
}

/// The splits of `extents` along `order` with the fewest registers; among equals the one with the
/// most lanes, then warps, on the fastest axis.
class BlockedSearch {
 public:
  BlockedSearch(const std::vector<int64_t>& extents, const std::vector<int>& order, int vector,
                bool exact)
      : extents_(extents), order_(order), vector_(vector), exact_(exact) {}

  std::vector<Split> run(int warps) {
    descend(kLanes, warps, 1);
    return best_;
  }

 private:
  void descend(int lanes, int warps, int64_t registers) {
    if (registers >= best_registers_) return;
    const size_t depth = current_.size();
    if (depth == order_.size()) {
      best_ = current_;
      best_registers_ = registers;
      return;
    }
    const int64_t extent = extents_[order_[depth]];
    for (const Split& split : splits(extent, depth == 0 ? vector_ : 1, lanes, warps, exact_)) {
      current_.push_back(split);
      descend(lanes / split.lanes, warps / split.warps, registers * split.registers());
      current_.pop_back();
    }
  }

  const std::vector<int64_t>& extents_;
  const std::vector<int>& order_;
  const int vector_;
  const bool exact_;
  std::vector<Split> current_, best_;
  int64_t best_registers_ = std::numeric_limits<int64_t>::max();
};

int64_t registers_of(const std::vector<Split>& all) {
  int64_t product = 1;
  for (const Split& split : all) product *= split.registers();
  return product;
}

/// The two ways in which the lanes of a warp can be numbered over rows and columns that matter. In
/// `paired` order lane bit 0 is a row and bits 1.. are columns: then neighbouring lanes (i and i^1,
/// or i and i^2) read the same address of either operand. A 16-byte access in which they do takes 2
/// wavefronts instead of 4 (NVIDIA says so of sm_70 and sm_75); elsewhere the order costs nothing.
enum class LaneOrder { columns_first, paired };

struct DotCandidate {
  Split m, n;
  LaneOrder order = LaneOrder::columns_first;
  bool m_strided = false, n_strided = false;  // k is the contiguous axis of the operand's buffer

  int64_t registers() const { return m.registers() * n.registers(); }
};

/// Wavefronts of one fragment read of `bytes` per lane by `lanes` different lanes; `shared_pairs`
/// says whether neighbouring lanes read one address. Lanes that read one k of several rows where k
/// is contiguous are all at one place within 16 aligned bytes, so only every fourth bank serves
/// them.
int64_t wavefronts(int bytes, int lanes, bool shared_pairs, bool strided) {
  if (strided) return ceil_div(lanes, 8);
  if (bytes >= 16) return shared_pairs ? 2 : 4;
  return bytes == 8 && !shared_pairs ? 2 : 1;
}

/// Less is better: quarters of a cycle of a multiprocessor per step of k and warp (it multiplies
/// for 4 warps at once and serves one wavefront per cycle), and as much again for each register
/// that fragments take, which favours square thread tiles; then elements that a warp reads; then
/// narrow columns, which coalesce the stores of the result badly.
std::tuple<int64_t, int64_t, int64_t> dot_cost(const DotCandidate& c, int element_bytes) {
  const bool paired = c.order == LaneOrder::paired;
  const bool m_shared = c.m.lanes == 1 || c.n.lanes > 1;
  const bool n_shared = c.n.lanes == 1 || (paired && c.m.lanes > 1);
  const int64_t time =
      c.registers() + c.m.units + c.n.units + c.m.registers() + c.n.registers() +
      4 * (c.m.units * wavefronts(c.m.vector * element_bytes, c.m.lanes, m_shared, c.m_strided) +
           c.n.units * wavefronts(c.n.vector * element_bytes, c.n.lanes, n_shared, c.n_strided));
  const int64_t distinct = c.m.registers() * c.m.lanes + c.n.registers() * c.n.lanes;
  return {time, distinct, -c.n.lanes * c.n.vector};
}

/// Every power of two up to `vector` that divides `extent`, widest first.
std::vector<int> vectors(int64_t extent, int vector) {
  std::vector<int> result;
  for (int64_t v = std::gcd(extent, int64_t{vector}); v >= 1; v /= 2)
    if (extent % v == 0) result.push_back(static_cast<int>(v));
  return result;
}

class DotSearch {
 public:
  DotSearch(int warps, int element_bytes, bool exact)
      : warps_(warps), element_bytes_(element_bytes), exact_(exact) {}

  DotCandidate run(int64_t m, int64_t n, int vector_m, int vector_n) {
    for (int vm : vectors(m, vector_m))
      for (const Split& row : splits(m, vm, kLanes, warps_, exact_))
        for (int vn : vectors(n, vector_n))
          for (const Split& col : splits(n, vn, kLanes / row.lanes, warps_ / row.warps, exact_)) {
            DotCandidate candidate{row, col, LaneOrder::columns_first, vector_m == 1,
                                   vector_n == 1};
            consider(candidate);
            candidate.order = LaneOrder::paired;
            if (row.lanes > 1 && col.lanes > 1) consider(candidate);
          }
    return best_;
  }

 private:
  void consider(const DotCandidate& candidate) {
    const auto cost = dot_cost(candidate, element_bytes_);
    if (found_ && cost >= best_cost_) return;
    found_ = true;
    best_ = candidate;
    best_cost_ = cost;
  }

  const int warps_, element_bytes_;
  const bool exact_;
  bool found_ = false;
  DotCandidate best_;
  std::tuple<int64_t, int64_t, int64_t> best_cost_;
};

Layout build_dot(const DotCandidate& c, int warps) {
  Layout layout{2, {}};
  const Split &m = c.m, &n = c.n;
  add_digit(layout, Holder::reg, n.vector, 1, 1);
  add_digit(layout, Holder::reg, m.vector, 0, 1);
  const bool paired = c.order == LaneOrder::paired;
  if (paired) add_digit(layout, Holder::lane, 2, 0, m.vector);
  add_digit(layout, Holder::lane, n.lanes, 1, n.vector);
  add_digit(layout, Holder::lane, paired ? m.lanes / 2 : m.lanes, 0,
            paired ? 2 * m.vector : m.vector);
  add_digit(layout, Holder::reg, n.units, 1, n.vector * n.lanes);
  add_digit(layout, Holder::reg, m.units, 0, m.vector * m.lanes);
  add_digit(layout, Holder::warp, n.warps, 1, n.registers() * n.lanes);
  add_digit(layout, Holder::warp, m.warps, 0, m.registers() * m.lanes);
  add_replicas(layout, warps);
  return layout;
}

}  // namespace

int Layout::size(Holder holder) const {
  int product = 1;
  for (const Digit& digit : digits)
    if (digit.holder == holder) product *= digit.radix;
  return product;
}

int Layout::registers(int axis) const {
  int product = 1;
  for (const Digit& digit : digits)
    if (digit.holder == Holder::reg && digit.axis == axis) product *= digit.radix;
  return product;
}

int Layout::registers() const { return size(Holder::reg); }

int64_t Layout::covered(int axis) const {
  int64_t last = 0;
  for (const Digit& digit : digits)
    if (digit.axis == axis) last += (digit.radix - 1) * digit.stride;
  return last + 1;
}

bool Layout::overhangs(const std::vector<int64_t>& extents) const {
  for (int axis = 0; axis < rank; ++axis)
    if (covered(axis) > extents.at(axis)) return true;
  return false;
}

bool Layout::replicated() const {
  return std::any_of(digits.begin(), digits.end(), [](const Digit& digit) {
    return digit.holder != Holder::reg && digit.radix > 1 && is_replication(digit);
  });
}

int Layout::vector(int axis) const {
  for (const Digit& digit : digits)
    if (digit.holder == Holder::reg && digit.axis == axis)
      return digit.stride == 1 ? digit.radix : 1;
  return 1;
}

std::vector<int64_t> Layout::coordinates(const std::vector<int>& reg, int lane, int warp) const {
  std::vector<int64_t> result(rank);
  for (int axis = 0; axis < rank; ++axis)
    result[axis] = register_offset(axis, reg.at(axis)) +
                   contribution(*this, Holder::lane, axis, lane) +
                   contribution(*this, Holder::warp, axis, warp);
  return result;
}

int64_t Layout::register_offset(int axis, int reg) const {
  return contribution(*this, Holder::reg, axis, reg);
}

int64_t Layout::thread_offset(int axis, int thread) const {
  const int lanes = size(Holder::lane);
  return contribution(*this, Holder::lane, axis, thread % lanes) +
         contribution(*this, Holder::warp, axis, thread / lanes);
}

std::string to_string(const Layout& layout) {
  constexpr std::array<char, 4> letters = {'r', 'l', 'w', 'c'};
  std::string text;
  for (const Digit& digit : layout.digits) {
    if (!text.empty()) text += ' ';
    text += fmt::format("{}{}", letters[static_cast<int>(digit.holder)], digit.radix);
    if (digit.axis >= 0) text += fmt::format(":{}@{}", digit.stride, digit.axis);
  }
  return text;
}

Layout drop_axes(const Layout& layout, const std::vector<int64_t>& axes) {
  std::vector<int> to(layout.rank);
  int kept = 0;
  for (int axis = 0; axis < layout.rank; ++axis)
    to[axis] = std::find(axes.begin(), axes.end(), axis) == axes.end() ? kept++ : -1;
  return remap(layout, kept, to);
}

Layout operand_of_broadcast(const Layout& result, const std::vector<int64_t>& dims,
                            const std::vector<bool>& stretched) {
  std::vector<int> to(result.rank, -1);
  for (size_t i = 0; i < dims.size(); ++i)
    if (!stretched.at(i)) to.at(dims[i]) = static_cast<int>(i);
  return remap(result, static_cast<int>(dims.size()), to);
}

Layout permute(const Layout& operand, const std::vector<int64_t>& dims) {
  std::vector<int> to(operand.rank, -1);
  for (size_t i = 0; i < dims.size(); ++i) to.at(dims[i]) = static_cast<int>(i);
  return remap(operand, operand.rank, to);
}

Layout scalar_layout(int warps) { return blocked_layout({}, {}, 1, warps); }

bool same_distribution(const Layout& a, const Layout& b) {
  if (a.rank != b.rank || a.threads() != b.threads()) return false;
  for (int axis = 0; axis < a.rank; ++axis)
    if (canonical(a, Holder::reg, axis) != canonical(b, Holder::reg, axis)) return false;
  for (Holder holder : {Holder::lane, Holder::warp, Holder::cta})
    if (canonical(a, holder, -1) != canonical(b, holder, -1)) return false;
  return true;
}

Layout blocked_layout(const std::vector<int64_t>& extents, const std::vector<int>& order,
                      int vector, int warps) {
  internal_check(order.size() == extents.size(), "a blocked layout's order names every axis");
  if (!order.empty()) vector = static_cast<int>(std::gcd(extents[order[0]], int64_t{vector}));
  std::vector<Split> chosen = BlockedSearch(extents, order, vector, true).run(warps);
  if (registers_of(chosen) > kSmallThread) {
    std::vector<Split> overhanging = BlockedSearch(extents, order, vector, false).run(warps);
    if (registers_of(overhanging) < registers_of(chosen)) chosen = std::move(overhanging);
  }
  Layout layout{static_cast<int>(extents.size()), {}};
  for (size_t i = 0; i < order.size(); ++i) {
    const Split& split = chosen[i];
    int64_t stride = 1;
    const auto add = [&](Holder holder, int64_t radix) {
      add_digit(layout, holder, radix, order[i], stride);
      stride *= radix;
    };
    add(Holder::reg, split.vector);
    add(Holder::lane, split.lanes);
    add(Holder::warp, split.warps);
    add(Holder::reg, split.units);
  }
  add_replicas(layout, warps);
  return layout;
}

Layout dot_layout(int64_t m, int64_t n, int warps, int vector_m, int vector_n, int element_bytes) {
  DotCandidate chosen = DotSearch(warps, element_bytes, true).run(m, n, vector_m, vector_n);
  if (chosen.registers() > kSmallThread) {
    const DotCandidate other = DotSearch(warps, element_bytes, false).run(m, n, vector_m, vector_n);
    if (other.registers() < chosen.registers()) chosen = other;
  }
  return build_dot(chosen, warps);
}

Layout dot_operand_layout(const Layout& acc, bool left, int64_t k) {
  internal_check(acc.rank == 2, "the accumulator of a dot has two dimensions");
  Layout layout = remap(acc, 2, left ? std::vector<int>{0, -1} : std::vector<int>{-1, 1});
  add_digit(layout, Holder::reg, k, left ? 1 : 0, 1);
  return layout;
}

}  // namespace tilewright::codegen
