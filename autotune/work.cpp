#include "tilewright/autotune/work.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "tilewright/ir/builder.h"
#include "tilewright/ir/cse.h"
#include "tilewright/ir/dce.h"
#include "tilewright/ir/error.h"

namespace tilewright::tune {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Region;
using ir::Value;

constexpr int64_t kUnknownSize = 4096;
constexpr int64_t kMostTiles = 64;  // of a loop that are looked at one by one

int64_t ceil_div(int64_t x, int64_t y) { return (x + y - 1) / y; }

bool is_slice(const Value* value) { return value->type.kind == ir::Type::Kind::slice; }

bool counts_elements(OpKind kind) {
  constexpr OpKind counted[] = {OpKind::unary,  OpKind::binary, OpKind::fma,    OpKind::compare,
                                OpKind::select, OpKind::cast,   OpKind::random, OpKind::inline_ptx};
  return std::ranges::find(counted, kind) != std::end(counted);
}

/// Operations whose work is that of the tile they take, not of the one they give.
bool counts_operand(OpKind kind) {
  constexpr OpKind counted[] = {OpKind::reduce, OpKind::combine, OpKind::scan, OpKind::sort};
  return std::ranges::find(counted, kind) != std::end(counted);
}

bool accesses(OpKind kind) { return ir::reads_tensor(kind) || ir::writes_tensor(kind); }

/// Positions of a slice that exist.
struct Range {
  int64_t begin = 0, end = 0;
  int64_t id = 0;
  int64_t extent() const { return std::max<int64_t>(0, end - begin); }
};

/// Some tiles of a loop's axis that are alike.
struct TileClass {
  Range range;
  double count = 1;
};

/// A loop being walked.
struct Level {
  const Op* loop;
  double iterations = 1;  // all of them
};

/// What is found once for a function.
struct Facts {
  explicit Facts(const ir::Function& traced)
      : fn(ir::eliminate_dead_code(ir::eliminate_common_subexpressions(traced))) {
    for_each_op(fn.body(), [&](const Op& op) { note(op); });
  }

  ir::Function fn;
  std::vector<const Op*> ops;  // those that are counted, in program order
  std::unordered_map<const Op*, int> index;
  std::unordered_map<const Op*, std::vector<const Op*>> loops_behind;  // that an access knows
  std::unordered_map<const Op*, std::vector<bool>> grid_behind;
  std::unordered_set<const Value*> placed;  // slices whose position decides what inner loops do

 private:
  void note(const Op& op) {
    if (op.kind == OpKind::tile_loop) {
      const ir::LoopView loop(op);
      for (const Value* bound : loop.begins) note_placed(bound);
      for (const Value* bound : loop.limits) note_placed(bound);
    }
    if (op.kind == OpKind::if_else) note_placed(op.operand(0));
    if (op.kind == OpKind::slice)
      for (const Value* bound : op.operands) note_placed(bound);
    const bool tile = !op.results.empty() && op.result()->type.is_tile();
    if (op.kind == OpKind::dot || accesses(op.kind) || counts_operand(op.kind) ||
        (tile && counts_elements(op.kind))) {
      index.emplace(&op, static_cast<int>(ops.size()));
      ops.push_back(&op);
    }
    if (accesses(op.kind)) note_access(op);
  }

  /// Everything that a value is computed from.
  static void collect(const Value* value, std::unordered_set<const Value*>& found) {
    if (!found.insert(value).second || value->def == nullptr) return;
    for (const Value* operand : value->def->operands) collect(operand, found);
  }

  void note_placed(const Value* bound) {
    std::unordered_set<const Value*> found;
    collect(bound, found);
    for (const Value* value : found)
      if (is_slice(value) && value->def == nullptr) placed.insert(value);
  }

  void note_access(const Op& op) {
    std::unordered_set<const Value*> found;
    const ir::AccessView access(op);
    for (const Value* at : access.indices) collect(at, found);
    std::vector<const Op*>& loops = loops_behind[&op];
    std::vector<bool>& axes = grid_behind[&op];
    for (const Region* region = op.parent; region != nullptr && region->parent != nullptr;
         region = region->parent->parent) {
      const Op* loop = region->parent;
      if (loop->kind != OpKind::tile_loop) continue;
      const ir::LoopView view(*loop);
      bool known = false;
      for (size_t i = 0; i < view.slices.size(); ++i) known |= found.contains(view.slices[i]);
      for (const Value* carried : view.carried) known |= found.contains(carried);
      if (known) loops.push_back(loop);
      if (loop->integer(AttrKey::parallel) != 0)
        for (const Value* slice : view.slices) axes.push_back(found.contains(slice));
    }
  }
};

/// One walk over the loops with numbers for sizes.
class Walk {
 public:
  Walk(const Facts& facts, const std::vector<int64_t>& blocks, Work& work)
      : facts_(facts), fn_(facts.fn), blocks_(blocks), work_(work), axes_(facts.fn.axes.size()) {}

  void region(const Region& region, double runs) {
    for (const Op* op : region.ops) visit(*op, runs);
  }

  bool guessed_sizes = false, guessed_branches = false, sampled = false, guessed_loops = false;

 private:
  void visit(const Op& op, double runs) {
    if (op.kind == OpKind::tile_loop) return loop(op, runs);
    if (op.kind == OpKind::if_else) return branch(op, runs);
    if (const auto at = facts_.index.find(&op); at != facts_.index.end())
      count(op, runs, work_.ops[static_cast<size_t>(at->second)]);
    guessed_loops |= op.kind == OpKind::while_loop;
    for (const Region* inner : op.regions) region(*inner, runs);
  }

  void branch(const Op& op, double runs) {
    if (const auto condition = number(op.operand(0)))
      return region(*op.regions[*condition != 0 ? 0 : 1], runs);
    guessed_branches = true;
    for (const Region* side : op.regions) region(*side, runs);
  }

  // --- loops

  void loop(const Op& op, double runs) {
    const ir::LoopView view(op);
    const auto& axes = op.integers(AttrKey::axes);
    std::vector<std::vector<TileClass>> classes;
    double iterations = 1;
    std::vector<int64_t> counts;
    for (size_t i = 0; i < axes.size(); ++i) {
      classes.push_back(tiles(view, i, blocks_.at(static_cast<size_t>(axes[i]))));
      double tiles = 0;
      for (const TileClass& one : classes.back()) tiles += one.count;
      counts.push_back(static_cast<int64_t>(tiles + 0.5));
      iterations *= tiles;
    }
    const bool parallel = op.integer(AttrKey::parallel) != 0;
    // Of several grids, one after the other, the largest.
    if (parallel && (work_.grid.empty() || iterations > work_.programs)) {
      work_.grid = counts;
      work_.programs = iterations;
    }
    bool inner = false;
    for_each_op(*view.body, [&](const Op& one) { inner |= one.kind == OpKind::tile_loop; });
    if (!parallel && !inner) work_.steps += runs * iterations;
    if (iterations > 0) each(op, view, axes, classes, 0, runs, 1, iterations);
  }

  /// Walks the body for every combination of the axes' classes.
  void each(const Op& op, const ir::LoopView& view, const std::vector<int64_t>& axes,
            const std::vector<std::vector<TileClass>>& classes, size_t i, double runs,
            double iterations, double all) {
    if (i == classes.size()) {
      levels_.push_back({&op, all});
      region(*view.body, runs * iterations);
      levels_.pop_back();
      return;
    }
    for (const TileClass& one : classes[i]) {
      slices_[view.slices[i]] = one.range;
      note_extent(static_cast<size_t>(axes[i]), one.range.extent());
      each(op, view, axes, classes, i + 1, runs, iterations * one.count, all);
    }
  }

  void note_extent(size_t axis, int64_t extent) {
    axes_[axis] = extent;
    int64_t &most = work_.largest[axis], &least = work_.smallest[axis];
    most = std::max(most, extent);
    least = least == 0 ? extent : std::min(least, extent);
  }

  std::vector<TileClass> tiles(const ir::LoopView& view, size_t i, int64_t block) {
    block = std::max<int64_t>(1, block);
    const int64_t begin = number(view.begins[i]).value_or(0);
    std::optional<int64_t> limit = number(view.limits[i]);
    if (!limit) {
      guessed_sizes = true;
      limit = begin + kUnknownSize;
    }
    const int64_t count = *limit <= begin ? 0 : ceil_div(*limit - begin, block);
    const auto at = [&](int64_t id) {
      const int64_t from = begin + id * block;
      return Range{from, std::min(from + block, *limit), id};
    };
    std::vector<TileClass> result;
    if (count == 0) return result;
    const int64_t full = (*limit - begin) / block;
    if (!facts_.placed.contains(view.slices[i])) {
      if (full > 0) result.push_back({at(0), static_cast<double>(full)});
      if (full < count) result.push_back({at(full), 1});
      return result;
    }
    const int64_t looked_at = std::min(count, kMostTiles);
    sampled |= looked_at < count;
    const double each = static_cast<double>(count) / static_cast<double>(looked_at);
    for (int64_t j = 0; j < looked_at; ++j)
      result.push_back({at(looked_at == count ? j : (2 * j + 1) * count / (2 * looked_at)), each});
    return result;
  }

  // --- elements

  void count(const Op& op, double runs, OpWork& work) {
    std::vector<int64_t> extents;
    if (op.kind == OpKind::dot) {
      extents = extents_of(op.result()->type.shape);
      extents.push_back(extents_of(op.operand(0)->type.shape)[1]);
    } else if (accesses(op.kind)) {
      extents = accessed(op);
    } else {
      extents = extents_of((counts_operand(op.kind) ? op.operand(0) : op.result())->type.shape);
    }
    double elements = 1;
    for (int64_t extent : extents) elements *= static_cast<double>(extent);
    work.runs += runs;
    work.elements += elements * runs;
    if (!accesses(op.kind)) return;
    const std::vector<const Op*>& known = facts_.loops_behind.at(&op);
    double distinct = elements * runs;
    for (const Level& level : levels_)
      if (level.loop->integer(AttrKey::parallel) == 0 &&
          std::ranges::find(known, level.loop) == known.end())
        distinct /= level.iterations;
    work.distinct += distinct;
  }

  std::vector<int64_t> extents_of(const ir::Shape& shape) const {
    std::vector<int64_t> extents;
    for (const ir::Dim& dim : shape)
      extents.push_back(dim.is_block() ? axes_.at(static_cast<size_t>(dim.axis))
                                             .value_or(blocks_.at(static_cast<size_t>(dim.axis)))
                                       : dim.extent);
    return extents;
  }

  /// The elements of an access along each dimension, clipped to the slices and the tensor.
  std::vector<int64_t> accessed(const Op& op) {
    const ir::AccessView access(op);
    const ir::Param* param = fn_.param_of(access.tensor);
    std::vector<int64_t> extents;
    if (access.gathers()) {
      const Value* value = access.value != nullptr ? access.value : op.result();
      return extents_of(value->type.shape);
    }
    for (size_t d = 0; d < access.indices.size(); ++d) {
      const std::optional<int64_t> size = param != nullptr && param->spec.sizes.at(d) >= 0
                                              ? std::optional(param->spec.sizes.at(d))
                                              : std::nullopt;
      extents.push_back(is_slice(access.indices[d]) ? clipped(access.indices[d], size) : 1);
    }
    return extents;
  }

  int64_t clipped(const Value* slice, std::optional<int64_t> size) {
    Range range;
    if (const auto at = slices_.find(slice); at != slices_.end()) {
      range = at->second;
    } else {
      const int64_t extent = extents_of(slice->type.shape)[0];
      const Op* def = slice->def;
      const auto begin = def == nullptr ? std::nullopt : number(def->operand(0));
      const auto limit = def == nullptr ? std::nullopt : number(def->operand(1));
      range.begin = begin.value_or(0);
      range.end = range.begin + extent;
      if (limit) range.end = std::min(range.end, *limit);
    }
    if (size) range.end = std::min(range.end, *size);
    range.begin = std::max<int64_t>(0, range.begin);
    return range.extent();
  }

  // --- scalars

  std::optional<int64_t> number(const Value* value) {
    const Op* op = value->def;
    if (op == nullptr || !value->type.is_scalar() || is_float(value->type.dtype))
      return std::nullopt;
    switch (op->kind) {
      case OpKind::constant:
        return op->integer(AttrKey::value);
      case OpKind::dim:
        return size_of_dimension(*op);
      case OpKind::slice_begin:
      case OpKind::slice_end:
      case OpKind::slice_id:
        return of_slice(*op);
      case OpKind::cast:
        return number(op->operand(0));
      case OpKind::binary:
      case OpKind::compare:
        return of_two(*op);
      default:
        return std::nullopt;
    }
  }

  std::optional<int64_t> size_of_dimension(const Op& op) {
    const ir::Param* param = fn_.param_of(op.operand(0));
    if (param == nullptr) return std::nullopt;
    const int64_t size = param->spec.sizes.at(static_cast<size_t>(op.integer(AttrKey::axis)));
    if (size >= 0) return size;
    guessed_sizes = true;
    return kUnknownSize;
  }

  std::optional<int64_t> of_slice(const Op& op) const {
    const auto at = slices_.find(op.operand(0));
    if (at == slices_.end()) return std::nullopt;
    if (op.kind == OpKind::slice_begin) return at->second.begin;
    return op.kind == OpKind::slice_end ? at->second.end : at->second.id;
  }

  std::optional<int64_t> of_two(const Op& op) {
    const auto x = number(op.operand(0)), y = number(op.operand(1));
    if (!x || !y) return std::nullopt;
    struct Rule {
      ir::Fn fn;
      int64_t (*apply)(int64_t, int64_t);
    };
    static constexpr Rule rules[] = {
        {ir::Fn::add, [](int64_t a, int64_t b) { return a + b; }},
        {ir::Fn::sub, [](int64_t a, int64_t b) { return a - b; }},
        {ir::Fn::mul, [](int64_t a, int64_t b) { return a * b; }},
        {ir::Fn::div, [](int64_t a, int64_t b) { return b == 0 ? 0 : a / b; }},
        {ir::Fn::rem, [](int64_t a, int64_t b) { return b == 0 ? a : a % b; }},
        {ir::Fn::min, [](int64_t a, int64_t b) { return std::min(a, b); }},
        {ir::Fn::max, [](int64_t a, int64_t b) { return std::max(a, b); }},
        {ir::Fn::eq, [](int64_t a, int64_t b) { return int64_t{a == b}; }},
        {ir::Fn::ne, [](int64_t a, int64_t b) { return int64_t{a != b}; }},
        {ir::Fn::lt, [](int64_t a, int64_t b) { return int64_t{a < b}; }},
        {ir::Fn::le, [](int64_t a, int64_t b) { return int64_t{a <= b}; }},
        {ir::Fn::gt, [](int64_t a, int64_t b) { return int64_t{a > b}; }},
        {ir::Fn::ge, [](int64_t a, int64_t b) { return int64_t{a >= b}; }}};
    for (const Rule& rule : rules)
      if (rule.fn == op.fn()) return rule.apply(*x, *y);
    return std::nullopt;
  }

  const Facts& facts_;
  const ir::Function& fn_;
  const std::vector<int64_t>& blocks_;
  Work& work_;
  std::vector<std::optional<int64_t>> axes_;  // real extent of the present tile
  std::unordered_map<const Value*, Range> slices_;
  std::vector<Level> levels_;
};

OpWork begin_work(const Op& op, const Facts& facts) {
  OpWork work;
  work.op = &op;
  if (!accesses(op.kind)) return work;
  const ir::AccessView access(op);
  if (const ir::Param* param = facts.fn.param_of(access.tensor))
    work.param = static_cast<int>(param - facts.fn.params.data());
  work.read = ir::reads_tensor(op.kind);
  work.written = ir::writes_tensor(op.kind);
  work.grid_axes = facts.grid_behind.at(&op);
  return work;
}

}  // namespace

struct WorkCounter::State {
  explicit State(const ir::Function& fn) : facts(fn) {}
  Facts facts;
};

WorkCounter::WorkCounter(const ir::Function& fn) : state_(std::make_unique<State>(fn)) {}
WorkCounter::~WorkCounter() = default;
WorkCounter::WorkCounter(WorkCounter&&) noexcept = default;
WorkCounter& WorkCounter::operator=(WorkCounter&&) noexcept = default;

const ir::Function& WorkCounter::function() const { return state_->facts.fn; }

Work WorkCounter::count(const std::vector<int64_t>& blocks) const {
  const Facts& facts = state_->facts;
  Work work;
  work.ops.resize(facts.ops.size());
  for (size_t i = 0; i < facts.ops.size(); ++i) work.ops[i] = begin_work(*facts.ops[i], facts);
  work.largest.resize(facts.fn.axes.size());
  work.smallest.resize(facts.fn.axes.size());
  Walk walk(facts, blocks, work);
  walk.region(facts.fn.body(), 1);
  if (walk.guessed_sizes)
    work.notes.push_back(fmt::format(
        "sizes and bounds that are known at launch only are taken to be {}", kUnknownSize));
  if (walk.guessed_branches)
    work.notes.emplace_back("both sides of conditions on run-time values are counted");
  if (walk.guessed_loops)
    work.notes.emplace_back("loops with run-time conditions are counted as one iteration");
  if (walk.sampled)
    work.notes.push_back(fmt::format(
        "loops whose bounds depend on the tile are counted from {} of the tiles", kMostTiles));
  return work;
}

}  // namespace tilewright::tune
