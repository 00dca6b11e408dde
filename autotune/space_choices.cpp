#include "tilewright/autotune/space_choices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "tilewright/codegen/known_value.h"
#include "tilewright/codegen/matrix_unit.h"
#include "tilewright/codegen/passes.h"
#include "tilewright/codegen/repitch.h"
#include "tilewright/ir/builder.h"

namespace tilewright::tune {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

constexpr int64_t kUnknownSize = 4096;
constexpr int64_t kLargestBlock = 8192;  // of an axis that no dot has
constexpr int64_t kLongRow = 2048;       // elements, from which a row may be walked in parts

int64_t ceil_pow2(int64_t x) { return static_cast<int64_t>(std::bit_ceil(uint64_t(x))); }

/// What an axis is to the kernel.
struct AxisUse {
  int64_t size = kUnknownSize;
  bool grid = false;
  bool rows = false, columns = false, inner = false;  // of some dot
  bool in_tiles = false;
  int inner_bytes = 1;  // of an element along k
};

struct Uses {
  explicit Uses(const ir::Function& fn) : axes(fn.axes.size()) {
    for_each_op(fn.body(), [&](const Op& op) {
      if (op.kind == OpKind::tile_loop) note_loop(fn, op);
      if (op.kind == OpKind::dot) note_dot(op);
      if (op.kind == OpKind::reduce) note_rows(op);
      for (const Value* result : op.results)
        if (result->type.is_tile())
          for (const ir::Dim& dim : result->type.shape)
            if (dim.is_block()) axes.at(static_cast<size_t>(dim.axis)).in_tiles = true;
    });
  }

  std::vector<AxisUse> axes;
  std::vector<const Op*> dots;
  std::vector<int64_t> grid;  // axes of the grid, in order
  bool sequential = false;    // there is a sequential loop
  int64_t longest_row = 0;    // constant extent that is reduced

 private:
  void note_loop(const ir::Function& fn, const Op& op) {
    const ir::LoopView loop(op);
    const auto& walked = op.integers(AttrKey::axes);
    const bool parallel = op.integer(AttrKey::parallel) != 0;
    if (parallel && grid.empty()) grid = walked;
    sequential |= !parallel;
    for (size_t i = 0; i < walked.size(); ++i) {
      AxisUse& axis = axes.at(static_cast<size_t>(walked[i]));
      axis.grid = parallel;
      const auto begin = codegen::known_value(fn, loop.begins[i]);
      const auto limit = codegen::known_value(fn, loop.limits[i]);
      if (begin && limit) axis.size = std::max<int64_t>(1, *limit - *begin);
    }
  }

  void note_dot(const Op& op) {
    dots.push_back(&op);
    const ir::Shape &a = op.operand(0)->type.shape, &b = op.operand(1)->type.shape;
    if (a[0].is_block()) axes.at(static_cast<size_t>(a[0].axis)).rows = true;
    if (b[1].is_block()) axes.at(static_cast<size_t>(b[1].axis)).columns = true;
    if (!a[1].is_block()) return;
    AxisUse& axis = axes.at(static_cast<size_t>(a[1].axis));
    axis.inner = true;
    axis.inner_bytes = std::max(axis.inner_bytes, size_of(op.operand(0)->type.dtype));
  }

  void note_rows(const Op& op) {
    for (const int64_t i : op.integers(AttrKey::axes)) {
      const ir::Dim dim = op.operand(0)->type.shape.at(static_cast<size_t>(i));
      if (!dim.is_block()) longest_row = std::max(longest_row, dim.extent);
    }
  }
};

std::vector<int64_t> powers(int64_t from, int64_t to) {
  std::vector<int64_t> values;
  for (int64_t x = from; x <= to; x *= 2) values.push_back(x);
  return values;
}

/// Tile sizes worth trying along an axis.
std::vector<int64_t> block_sizes(const AxisUse& axis) {
  const int64_t whole = ceil_pow2(axis.size);
  std::vector<int64_t> values;
  int64_t least = 1;
  if (axis.rows || axis.columns) {
    values = {8, 16, 32, 64, 96, 128, 160, 192, 256};
    if (!axis.columns) values = {8, 16, 32, 64, 128, 192, 256};
    least = 8;
  }
  if (axis.inner) {
    const int64_t fewest = std::max(1, 32 / axis.inner_bytes);
    for (const int64_t size : powers(fewest, 256 / axis.inner_bytes)) values.push_back(size);
    least = std::max(least, fewest);
  }
  if (values.empty()) values = axis.in_tiles ? powers(1, kLargestBlock) : std::vector<int64_t>{1};
  values.push_back(std::min(whole, values.back()));
  std::erase_if(values, [&](int64_t size) { return size > std::max(whole, least); });
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

std::vector<std::vector<int>> orders(size_t axes) {
  std::vector<std::vector<int>> all = {{}};
  if (axes < 2 || axes > 3) return all;
  std::vector<int> order(axes);
  std::iota(order.begin(), order.end(), 0);
  while (std::next_permutation(order.begin(), order.end())) all.push_back(order);
  return all;
}

using UnitAndCopy = std::pair<MatrixUnit, CopyKind>;

/// The units that take a dot of the kernel, with the copies that suit them; the best last.
std::vector<UnitAndCopy> units_for(const Uses& uses, const Target& target) {
  const CopyKind plain = target.has_cp_async() ? CopyKind::cp_async : CopyKind::sync;
  std::vector<UnitAndCopy> all;
  if (uses.dots.empty()) return {{MatrixUnit::fma, plain}};
  const auto taken = [&](MatrixUnit unit) {
    return std::ranges::any_of(uses.dots, [&](const Op* dot) {
      return codegen::find_instruction(unit, *dot, target) != nullptr;
    });
  };
  all.emplace_back(MatrixUnit::fma, CopyKind::sync);
  if (plain != CopyKind::sync) all.emplace_back(MatrixUnit::fma, plain);
  if (taken(MatrixUnit::mma)) {
    all.emplace_back(MatrixUnit::mma, CopyKind::sync);
    if (plain != CopyKind::sync) all.emplace_back(MatrixUnit::mma, plain);
    if (target.sm >= 90) all.emplace_back(MatrixUnit::mma, CopyKind::tma);
  } else if (target.sm >= 90) {
    all.emplace_back(MatrixUnit::fma, CopyKind::tma);
  }
  if (taken(MatrixUnit::wgmma)) all.emplace_back(MatrixUnit::wgmma, CopyKind::tma);
  return all;
}

template <class T>
std::string text_of(const T& value) {
  if constexpr (std::is_same_v<T, bool>)
    return value ? "true" : "false";
  else if constexpr (std::is_same_v<T, std::vector<int>>)
    return fmt::format("[{}]", fmt::join(value, ","));
  else
    return fmt::format("{}", value);
}

/// A field with a list of values.
template <class T>
FieldChoice field(std::string name, T Config::*member, std::vector<T> values) {
  FieldChoice choice;
  choice.name = std::move(name);
  for (const auto& value : values) choice.values.push_back(text_of<T>(value));
  choice.find = [member, values](const Config& config) {
    const auto at = std::find(values.begin(), values.end(), config.*member);
    return at == values.end() ? -1 : static_cast<int>(at - values.begin());
  };
  choice.set = [member, values](Config& config, int i) {
    config.*member = values[static_cast<size_t>(i)];
  };
  return choice;
}

FieldChoice block_choice(std::string name, size_t position, const std::vector<int64_t>& values) {
  FieldChoice choice;
  choice.name = std::move(name);
  choice.is_block = true;
  for (const int64_t value : values) choice.values.push_back(std::to_string(value));
  choice.find = [position, values](const Config& config) {
    if (position >= config.block.size()) return -1;
    const auto at = std::ranges::find(values, config.block[position]);
    return at == values.end() ? -1 : static_cast<int>(at - values.begin());
  };
  choice.set = [position, values](Config& config, int i) {
    if (config.block.size() <= position) config.block.resize(position + 1, 1);
    config.block[position] = values[static_cast<size_t>(i)];
  };
  return choice;
}

FieldChoice unit_choice(const std::vector<UnitAndCopy>& values) {
  FieldChoice choice;
  choice.name = "matrix and copy";
  choice.is_unit = choice.is_core = true;
  for (const auto& [unit, copy] : values)
    choice.values.push_back(fmt::format("{} {}", to_string(unit), to_string(copy)));
  choice.find = [values](const Config& config) {
    const auto at = std::ranges::find(values, UnitAndCopy(config.matrix, config.copy));
    return at == values.end() ? -1 : static_cast<int>(at - values.begin());
  };
  choice.set = [values](Config& config, int i) {
    std::tie(config.matrix, config.copy) = values[static_cast<size_t>(i)];
  };
  return choice;
}

bool needs_padding(const ir::Function& fn) {
  return !codegen::params_to_repitch(fn, codegen::written_params(fn)).empty();
}

/// Choices that kernels with dots have, and others do not.
void add_dot_choices(const Uses& uses, const ir::Function& fn, const Target& target,
                     std::vector<FieldChoice>& choices) {
  const bool bulk = target.sm >= 90;
  const auto some = [](bool has, std::vector<int> values) {
    if (!has) values.resize(1);
    return values;
  };
  FieldChoice stages =
      field<int>("stages", &Config::stages,
                 uses.sequential ? std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8} : std::vector<int>{2});
  stages.is_stages = true;
  choices.push_back(std::move(stages));
  choices.push_back(field<int>("cluster", &Config::cluster, some(bulk, {1, 2, 4, 8})));
  choices.push_back(
      field<int>("split_k", &Config::split_k, some(bulk && uses.sequential, {1, 2, 4, 8})));
  choices.push_back(field<int>("turns", &Config::turns, some(bulk && uses.sequential, {1, 2})));
  choices.push_back(
      field<bool>("repitch", &Config::repitch,
                  needs_padding(fn) ? std::vector<bool>{false, true} : std::vector<bool>{false}));
}

}  // namespace

std::vector<FieldChoice> choices_for(const ir::Function& fn, const Target& target) {
  const Uses uses(fn);
  std::vector<FieldChoice> choices;
  size_t position = 0;
  for (size_t i = 0; i < fn.axes.size(); ++i) {
    if (fn.axes[i].pinned) continue;
    choices.push_back(
        block_choice(fn.axes[i].name.empty() ? fmt::format("axis {}", i) : fn.axes[i].name,
                     position++, block_sizes(uses.axes[i])));
  }
  const bool dots = !uses.dots.empty();
  choices.push_back(unit_choice(units_for(uses, target)));
  FieldChoice warps = field<int>(
      "warps", &Config::warps,
      dots ? std::vector<int>{1, 2, 4, 8, 12, 16} : std::vector<int>{1, 2, 4, 8, 16, 32});
  warps.is_core = true;
  choices.push_back(std::move(warps));
  if (dots) add_dot_choices(uses, fn, target, choices);
  choices.push_back(field<int>(
      "group", &Config::group,
      uses.grid.size() == 2 ? std::vector<int>{1, 2, 4, 8, 16, 32} : std::vector<int>{1}));
  choices.push_back(field<std::vector<int>>("order", &Config::order, orders(uses.grid.size())));
  choices.push_back(
      field<bool>("persistent", &Config::persistent,
                  uses.grid.empty() ? std::vector<bool>{false} : std::vector<bool>{false, true}));
  choices.push_back(field<int>("blocks_per_sm", &Config::blocks_per_sm, {1, 2, 3, 4}));
  choices.push_back(field<int>("vector", &Config::vector,
                               dots ? std::vector<int>{16} : std::vector<int>{16, 8, 4}));
  std::vector<int> parts = {0};
  for (int part = 1024; part < uses.longest_row && uses.longest_row >= kLongRow && part <= 8192;
       part *= 2)
    parts.push_back(part);
  FieldChoice chunks = field<int>("reduction_loop", &Config::reduction_loop, parts);
  chunks.is_core = true;
  choices.push_back(std::move(chunks));
  return choices;
}

Canonical::Canonical(const ir::Function& fn, const Target&) {
  const Uses uses(fn);
  grid_axes_ = uses.grid.size();
  dots_ = !uses.dots.empty();
  padded_ = dots_ && needs_padding(fn);
  rows_ = uses.longest_row >= kLongRow;
  for (const ir::Tunable& tunable : fn.tunables)
    if (!tunable.values.empty() && tunable.value != tunable.values.front())
      tunables_[tunable.name] = tunable.value;
  for (const int64_t axis : uses.grid) {
    grid_sizes_.push_back(uses.axes[static_cast<size_t>(axis)].size);
    int position = 0;
    for (int64_t i = 0; i < axis; ++i) position += !fn.axes[static_cast<size_t>(i)].pinned;
    const ir::Axis& own = fn.axes[static_cast<size_t>(axis)];
    grid_blocks_.push_back(own.pinned ? -1 : position);
    pinned_.push_back(own.pinned ? own.block : 0);
  }
}

Config Canonical::operator()(Config config) const {
  std::vector<int> as_written(config.order.size());
  std::iota(as_written.begin(), as_written.end(), 0);
  if (config.order == as_written) config.order.clear();
  bool one_row = grid_axes_ != 2;
  for (size_t i = 0; i < grid_sizes_.size(); ++i) {
    const int at = grid_blocks_[i];
    if (at >= static_cast<int>(config.block.size())) continue;
    const int64_t block = at < 0 ? pinned_[i] : config.block[static_cast<size_t>(at)];
    one_row |= grid_sizes_[i] <= block;
  }
  if (one_row) config.group = 1;
  if (!padded_) config.repitch = false;
  if (!rows_) config.reduction_loop = 0;
  config.tunables = tunables_;
  return config;
}

bool Canonical::sensible(const Config& config) const {
  if (config.copy != CopyKind::tma && (config.cluster > 1 || config.split_k > 1)) return false;
  if (config.matrix == MatrixUnit::wgmma && config.blocks_per_sm > 2) return false;
  if (config.cluster > 1 && config.matrix != MatrixUnit::wgmma) return false;
  if (config.turns > 1 && config.warps > 4) return false;  // none leaves registers for its tiles
  if (config.repitch && config.copy != CopyKind::tma) return false;
  if (config.warps == 12 && config.matrix != MatrixUnit::wgmma) return false;  // three warpgroups
  return true;
}

}  // namespace tilewright::tune
