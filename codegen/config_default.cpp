#include <algorithm>
#include <bit>
#include <optional>
#include <span>
#include <tuple>

#include "tilewright/codegen/config.h"
#include "tilewright/codegen/config_default_grids.h"
#include "tilewright/codegen/config_default_nested.h"
#include "tilewright/codegen/config_default_warpgroups.h"
#include "tilewright/codegen/config_needs.h"
#include "tilewright/codegen/grids.h"
#include "tilewright/codegen/known_value.h"
#include "tilewright/codegen/matrix_unit.h"
#include "tilewright/codegen/passes.h"
#include "tilewright/codegen/sink_loads.h"
#include "tilewright/codegen/wide_axes.h"
#include "tilewright/ir/builder.h"

namespace tilewright {
namespace {

using codegen::known_value;

using ir::Op;
using ir::OpKind;
using ir::Value;

constexpr int64_t kUnknownSize = 4096;  // of an axis whose bounds depend on the tile
constexpr int64_t kLongestRow = 32768;  // elements of a row that a block's registers hold
constexpr int64_t kWideRow = 16384;     // elements of a row that 8 warps hold
constexpr int64_t kWholeRow = 512;      // elements of a row, taken whole, that fill a block
constexpr int64_t kLongRow = 1024;      // elements of a reduced row that fill a block by themselves

int64_t floor_pow2(int64_t x) { return static_cast<int64_t>(std::bit_floor(uint64_t(x))); }
int64_t ceil_pow2(int64_t x) { return static_cast<int64_t>(std::bit_ceil(uint64_t(x))); }
int64_t ceil_div(int64_t x, int64_t y) { return (x + y - 1) / y; }
int64_t covered(int64_t size, int64_t block) { return ceil_div(size, block) * block; }

/// What an axis is to the kernel.
struct AxisUse {
  int64_t size = kUnknownSize;
  bool known = false;
  bool grid = false;
  bool rows = false, columns = false, inner = false;  // m, n and k of some dot
  bool in_tiles = false;                              // some tile has it as a dimension
  bool reduced = false;
  int stores_along = 0, loads_along = 0;  // accesses whose contiguous dimension it is
};

/// The kernel as far as a default config depends on it.
struct Analysis {
  explicit Analysis(const ir::Function& fn) : fn(fn), axes(fn.axes.size()) {
    for_each_op(fn.body(), [&](const Op& op) { visit(op); });
  }

  const ir::Function& fn;
  std::vector<AxisUse> axes;
  std::vector<const Op*> dots;
  bool reduces = false;
  int access_bytes = 1;         // of the widest element loaded or stored
  int64_t constant_volume = 1;  // of the constant dimensions of a tile

 private:
  void visit(const Op& op) {
    if (op.kind == OpKind::tile_loop) visit_loop(op);
    if (op.kind == OpKind::dot) visit_dot(op);
    if (op.kind == OpKind::reduce || op.kind == OpKind::combine)
      visit_reduce(op, op.integers(ir::AttrKey::axes));
    if (op.kind == OpKind::scan || op.kind == OpKind::sort)
      visit_reduce(op, {op.integer(ir::AttrKey::axis)});
    if (op.kind == OpKind::load || ir::writes_tensor(op.kind)) visit_access(op);
    for (const Value* result : op.results)
      if (result->type.is_tile()) visit_tile(result->type.shape);
  }

  void visit_loop(const Op& op) {
    const ir::LoopView loop(op);
    const auto& walked = op.integers(ir::AttrKey::axes);
    for (size_t i = 0; i < walked.size(); ++i) {
      AxisUse& axis = axes.at(walked[i]);
      axis.grid = op.integer(ir::AttrKey::parallel) != 0;
      const auto begin = known_value(fn, loop.begins[i]), limit = known_value(fn, loop.limits[i]);
      if (!begin || !limit) continue;
      axis.known = true;
      axis.size = std::max<int64_t>(1, *limit - *begin);
    }
  }

  void visit_dot(const Op& op) {
    dots.push_back(&op);
    const ir::Shape &a = op.operand(0)->type.shape, &b = op.operand(1)->type.shape;
    if (a[0].is_block()) axes.at(a[0].axis).rows = true;
    if (b[1].is_block()) axes.at(b[1].axis).columns = true;
    if (a[1].is_block()) axes.at(a[1].axis).inner = true;
  }

  /// `along`: the dimensions whose elements meet.
  void visit_reduce(const Op& op, const std::vector<int64_t>& along) {
    reduces = true;
    for (int64_t i : along) {
      const ir::Dim dim = op.operand(0)->type.shape.at(i);
      if (dim.is_block()) axes.at(dim.axis).reduced = true;
    }
  }

  void visit_access(const Op& op) {
    const ir::AccessView access(op);
    const ir::Param* param = fn.param_of(access.tensor);
    if (param == nullptr) return;
    access_bytes = std::max(access_bytes, size_of(param->spec.dtype));
    const auto is_slice = [](const Value* index) {
      return index->type.kind == ir::Type::Kind::slice;
    };
    // Accesses to tiles of fewer dimensions (a row's sum, a bias) move few bytes and count nothing.
    const auto rank = std::count_if(access.indices.begin(), access.indices.end(), is_slice);
    if (rank < most_dimensions_) return;
    if (rank > most_dimensions_)
      for (AxisUse& axis : axes) axis.stores_along = axis.loads_along = 0;
    most_dimensions_ = rank;
    for (size_t d = 0; d < access.indices.size(); ++d) {
      const Value* index = access.indices[d];
      if (!is_slice(index) || !index->type.shape[0].is_block()) continue;
      if (param->spec.strides.at(d) != 1 || param->spec.sizes.at(d) == 1) continue;
      AxisUse& axis = axes.at(index->type.shape[0].axis);
      ++(ir::writes_tensor(op.kind) ? axis.stores_along : axis.loads_along);
    }
  }

  void visit_tile(const ir::Shape& shape) {
    int64_t volume = 1;
    for (const ir::Dim& dim : shape) {
      if (dim.is_block()) axes.at(dim.axis).in_tiles = true;
      if (!dim.is_block()) volume *= std::max<int64_t>(1, dim.extent);
    }
    constant_volume = std::max(constant_volume, volume);
  }

  int64_t most_dimensions_ = 0;
};

/// Builds a config while its blocks are still known by axis.
class Draft {
 public:
  Draft(const Analysis& kernel, const Target& target)
      : kernel_(kernel), target_(target), blocks_(kernel.fn.axes.size(), 1) {
    config_.copy = target.has_cp_async() ? CopyKind::cp_async : CopyKind::sync;
    for (size_t i = 0; i < blocks_.size(); ++i)
      if (kernel.fn.axes[i].pinned) blocks_[i] = kernel.fn.axes[i].block;
  }

  bool free(size_t axis) const { return !kernel_.fn.axes[axis].pinned; }
  int64_t block(size_t axis) const { return blocks_[axis]; }
  /// Gives a free axis at most `size`, less when the axis is short, but not less than `least`.
  void set_block(size_t axis, int64_t size, int64_t least = 1) {
    if (free(axis))
      blocks_[axis] = std::max(least, std::min(size, ceil_pow2(kernel_.axes[axis].size)));
  }
  /// At most `most`, and of those sizes the largest with which the last tile wastes at most a
  /// quarter of the work; where there is none, the largest that wastes least.
  void set_fitting_block(size_t axis, int64_t most) {
    const int64_t size = kernel_.axes[axis].size;
    int64_t block = std::min(floor_pow2(std::max<int64_t>(1, most)), ceil_pow2(size));
    int64_t best = block;
    for (; block >= 32; block /= 2) {
      if (covered(size, block) < covered(size, best)) best = block;
      if (covered(size, best) * 4 <= size * 5) break;
    }
    if (free(axis)) blocks_[axis] = best;
  }

  Config& config() { return config_; }

  int64_t grid() const {
    int64_t tiles = 1;
    for (size_t i = 0; i < blocks_.size(); ++i)
      if (kernel_.axes[i].grid)
        tiles *= ceil_div(kernel_.axes[i].size, std::max<int64_t>(1, blocks_[i]));
    return tiles;
  }

  /// Elements of the largest tile.
  int64_t largest_tile() const {
    int64_t most = 1;
    for_each_op(kernel_.fn.body(), [&](const Op& op) {
      for (const Value* result : op.results)
        if (result->type.is_tile())
          most = std::max(most, codegen::tile_elements(result->type.shape, blocks_));
    });
    return most;
  }

  int64_t largest_accumulator() const {
    int64_t most = 1;
    for (const Op* dot : kernel_.dots)
      most = std::max(most, codegen::tile_elements(dot->result()->type.shape, blocks_));
    return most;
  }

  Config finish() {
    config_.block.clear();
    for (size_t i = 0; i < blocks_.size(); ++i)
      if (free(i)) config_.block.push_back(blocks_[i]);
    return config_;
  }

  bool fits() {
    const codegen::ConfigNeeds needs = codegen::estimate_needs(finish(), kernel_.fn, target_);
    return codegen::has_registers(needs, config_) &&
           needs.shared_bytes + needs.exchange_bytes <= target_.shared_bytes;
  }

  /// The free axis with the largest block above 1, among those of the grid if `grid_only`.
  std::optional<size_t> largest_axis(bool grid_only) const {
    std::optional<size_t> largest;
    for (size_t i = 0; i < blocks_.size(); ++i)
      if (free(i) && blocks_[i] > (largest ? blocks_[*largest] : 1) &&
          (kernel_.axes[i].grid || !grid_only))
        largest = i;
    return largest;
  }

  /// Shrinks until it fits: fewer stages, more warps, smaller blocks.
  void make_fit() {
    while (!fits()) {
      const bool too_many_registers =
          !codegen::has_registers(codegen::estimate_needs(finish(), kernel_.fn, target_), config_);
      const std::optional<size_t> largest = largest_axis(false);
      if (!too_many_registers && config_.stages > 1)
        --config_.stages;
      else if (too_many_registers && config_.warps < 8)
        config_.warps *= 2;
      else if (largest)
        set_block(*largest, blocks_[*largest] / 2);
      else if (too_many_registers && config_.warps < 32)
        config_.warps *= 2;
      else
        return;  // what the kernel pins does not fit; check_config will say so
    }
  }

 private:
  const Analysis& kernel_;
  const Target& target_;
  std::vector<int64_t> blocks_;
  Config config_;
};

// --- kernels with a dot

/// A tile of a dot's result and the warps that share it.
struct DotTile {
  int64_t rows, columns;
  int warps;
  int inner_bytes = 64;  ///< of a row of operands, per step: accesses of 16
  int resident = 1;      ///< blocks that are to fit a multiprocessor
};

// Largest first: the larger, the fewer bytes per multiplication. A smaller one is better when the
// grid would otherwise leave multiprocessors idle.
constexpr DotTile kFmaTiles[] = {
    {128, 128, 8}, {128, 64, 4}, {64, 64, 4}, {64, 32, 4}, {32, 32, 4}};
// With mma a warp should have 64 by 64, or shared memory is read more than it can be. Two blocks of
// four warps take turns at barriers; where they do not fit, eight warps of one block.
constexpr DotTile kMmaTiles[] = {{128, 256, 8, 128},  {128, 128, 4, 64, 2}, {128, 128, 8, 64},
                                 {128, 64, 4, 64, 2}, {64, 64, 4, 128, 2},  {64, 32, 4, 128, 2},
                                 {32, 32, 4, 128, 2}};

/// mma where it takes a dot of the kernel.
MatrixUnit choose_unit(const Analysis& kernel, const Target& target) {
  const bool taken = std::any_of(kernel.dots.begin(), kernel.dots.end(), [&](const Op* dot) {
    return codegen::find_instruction(MatrixUnit::mma, *dot, target) != nullptr;
  });
  return taken ? MatrixUnit::mma : MatrixUnit::fma;
}

void set_dot_blocks(const Analysis& kernel, const DotTile& tile, Draft& draft) {
  const bool mma = draft.config().matrix == MatrixUnit::mma;
  int bytes = 1;
  for (const Op* dot : kernel.dots) bytes = std::max(bytes, size_of(dot->operand(0)->type.dtype));
  const int64_t inner = tile.inner_bytes / bytes;
  const int64_t least = mma ? 32 / bytes : 1;  // an instruction's depth
  for (size_t i = 0; i < kernel.axes.size(); ++i) {
    const AxisUse& axis = kernel.axes[i];
    if (axis.inner && !axis.grid)
      draft.set_block(i, axis.rows || axis.columns ? std::max<int64_t>(32, inner) : inner, least);
    else if (axis.rows)
      draft.set_block(i, tile.rows);
    else if (axis.columns)
      draft.set_block(i, tile.columns);
    else if (axis.inner)
      draft.set_block(i, inner, least);
    else
      draft.set_block(i, axis.in_tiles && !axis.grid ? 32 : 1);
  }
  // Warps without pieces of their own still copy.
  const int64_t warps = floor_pow2(std::max<int64_t>(1, draft.largest_accumulator() / 32));
  draft.config().warps = mma ? tile.warps : static_cast<int>(std::min<int64_t>(tile.warps, warps));
}

/// As many stages, up to 4, as the longest loop around a dot can use and shared memory holds.
/// Returns how many it can use.
int64_t set_stages(const Analysis& kernel, const Target& target, const DotTile& tile,
                   Draft& draft) {
  int64_t steps = 1;
  for (size_t i = 0; i < kernel.axes.size(); ++i)
    if (!kernel.axes[i].grid && kernel.axes[i].inner)
      steps = std::max(steps, ceil_div(kernel.axes[i].size, draft.block(i)));
  int& stages = draft.config().stages;
  const int64_t most = std::min<int64_t>(steps, draft.config().copy == CopyKind::cp_async ? 4 : 2);
  for (stages = static_cast<int>(most); stages > 1; --stages) {
    const codegen::ConfigNeeds needs = codegen::estimate_needs(draft.finish(), kernel.fn, target);
    // With room for padding.
    if (draft.config().matrix == MatrixUnit::mma) {
      const int64_t bytes = needs.shared_bytes + needs.shared_bytes / 8 + needs.exchange_bytes;
      if (bytes <= target.shared_bytes / tile.resident) break;
      continue;
    }
    // More than 2 only while two blocks fit a multiprocessor.
    const int64_t room = stages > 2 ? target.shared_bytes / 2 : target.shared_bytes;
    if (needs.shared_bytes + needs.shared_bytes / 4 <= room) break;
  }
  return most;
}

Config dot_config(const Analysis& kernel, const Target& target) {
  const MatrixUnit unit = choose_unit(kernel, target);
  const std::span<const DotTile> tiles =
      unit == MatrixUnit::mma ? std::span<const DotTile>(kMmaTiles) : kFmaTiles;
  std::optional<Draft> best;
  for (const DotTile& tile : tiles) {
    best.emplace(kernel, target);
    best->config().matrix = unit;
    set_dot_blocks(kernel, tile, *best);
    if (best->grid() < target.multiprocessors && &tile != &tiles.back()) continue;
    const int64_t usable = set_stages(kernel, target, tile, *best);
    // Copies must be under way while a matrix unit works.
    if (unit == MatrixUnit::mma && best->config().stages < std::min<int64_t>(3, usable)) continue;
    if (best->fits()) break;
  }
  best->make_fit();
  const int64_t grid_axes = std::count_if(kernel.axes.begin(), kernel.axes.end(),
                                          [](const AxisUse& axis) { return axis.grid; });
  best->config().group = grid_axes > 1 ? 8 : 1;
  return best->finish();
}

// --- elementwise kernels and reductions

/// Free axes that tiles have, in the order in which they get their share of a block's elements:
/// contiguous in what is stored, contiguous in what is loaded, reduced, others from the last on.
std::vector<size_t> by_importance(const Analysis& kernel) {
  std::vector<size_t> result;
  for (size_t i = 0; i < kernel.axes.size(); ++i)
    if (kernel.axes[i].in_tiles && !kernel.fn.axes[i].pinned) result.push_back(i);
  const auto rank = [&](size_t i) {
    const AxisUse& axis = kernel.axes[i];
    return std::tuple(-axis.stores_along, -axis.loads_along, !axis.reduced, -static_cast<int>(i));
  };
  std::stable_sort(result.begin(), result.end(),
                   [&](size_t a, size_t b) { return rank(a) < rank(b); });
  return result;
}

void set_elementwise_blocks(const Analysis& kernel, const Target& target, Draft& draft) {
  const int64_t elements = std::clamp<int64_t>(8192 / kernel.access_bytes, 1024, 4096);
  const std::vector<size_t> order = by_importance(kernel);
  const bool constant_rows = kernel.reduces && kernel.constant_volume >= kWholeRow;
  int64_t left = constant_rows ? 1 : std::max<int64_t>(1, elements / kernel.constant_volume);
  // A second axis along which memory is contiguous, as in a transposition, needs its share.
  const auto contiguous = [&](size_t i) {
    return kernel.axes[i].stores_along + kernel.axes[i].loads_along > 0;
  };
  const bool two = std::count_if(order.begin(), order.end(), contiguous) > 1;
  for (size_t i : order) {
    const AxisUse& axis = kernel.axes[i];
    int64_t share = left;
    if (two && contiguous(i)) share = std::min<int64_t>(share, 64);
    // Columns that are reduced over other rows: narrow, so that there are many blocks.
    if (kernel.reduces && axis.grid && !axis.reduced) share = std::min<int64_t>(share, 128);
    if (axis.reduced) share = std::min(share, kLongRow);
    draft.set_fitting_block(i, share);
    left = axis.reduced && draft.block(i) >= kLongRow ? 1
                                                      : std::max<int64_t>(1, left / draft.block(i));
  }
  // Small problems: halve the largest block of the grid until there is work for everyone.
  while (draft.grid() < target.multiprocessors && draft.largest_tile() > 256) {
    const std::optional<size_t> largest = draft.largest_axis(true);
    if (!largest) break;
    draft.set_block(*largest, draft.block(*largest) / 2);
  }
}

/// Elements of a row to take at a time; 0 when a block can hold whole rows, or must.
int chunk_of_rows(const Analysis& kernel) {
  if (kernel.constant_volume <= kLongestRow) return 0;
  const int chunk = std::clamp(16384 / kernel.access_bytes, 1024, 8192);
  const auto axes = codegen::wide_axes(kernel.fn, chunk, codegen::written_params(kernel.fn));
  const bool any =
      std::any_of(axes.begin(), axes.end(), [](const auto& axis) { return axis.obstacle.empty(); });
  return any ? chunk : 0;
}

/// Whether a block holds rows of twice the length because they are halves, and nothing of them has
/// to be kept as floats; `draft` becomes such a config then.
bool fits_as_halves(const Analysis& kernel, const Target& target, Draft& draft) {
  constexpr int64_t most = 80;  // registers that a row may take of 128
  if (kernel.constant_volume > 2 * kLongestRow) return false;
  Draft whole = draft;
  whole.config().reduction_loop = 0;
  whole.config().warps = 16;
  const ir::Function fn =
      codegen::sink_loads(kernel.fn, whole.config(), codegen::written_params(kernel.fn));
  const bool fits = codegen::estimate_needs(whole.finish(), fn, target).lasting <= most;
  if (fits && whole.fits()) draft.config() = whole.config();
  return fits && whole.fits();
}

Config elementwise_config(const Analysis& kernel, const Target& target) {
  Draft draft(kernel, target);
  set_elementwise_blocks(kernel, target, draft);
  const int chunk = draft.config().reduction_loop = chunk_of_rows(kernel);
  if (chunk > 0 && fits_as_halves(kernel, target, draft)) return draft.finish();
  // Two 16-byte accesses a thread; twice that for long rows, whose reductions cost less with fewer
  // warps.
  const int64_t tile =
      chunk > 0 ? std::min<int64_t>(chunk, draft.largest_tile()) : draft.largest_tile();
  const int64_t long_row = kernel.access_bytes <= 2 ? kWholeRow : 2048;
  const int64_t rows = kernel.reduces && tile > long_row ? 2 : 1;
  const int64_t per_thread = rows * std::clamp(32 / kernel.access_bytes, 8, 16);
  const bool wide = kernel.reduces && chunk == 0 && tile > kWideRow / 2 && tile <= kWideRow;
  const int64_t most = wide ? 8 : tile <= 32768 ? 16 : 32;
  draft.config().warps =
      static_cast<int>(std::clamp<int64_t>(ceil_pow2(ceil_div(tile, 32 * per_thread)), 1, most));
  // Several rows in flight: the compiler takes more registers than it needs where it may.
  draft.config().blocks_per_sm = !wide ? 1 : kernel.access_bytes <= 2 ? 3 : 2;
  if (!draft.fits()) draft.config().blocks_per_sm = 1;
  draft.make_fit();
  return draft.finish();
}

}  // namespace

Config default_config(const ir::Function& fn, const Target& target) {
  if (codegen::count_grids(fn) > 1) return codegen::default_grids_config(fn, target);
  if (const auto config = codegen::default_warpgroup_config(fn, target)) return *config;
  const Analysis kernel(fn);
  Config config =
      kernel.dots.empty() ? elementwise_config(kernel, target) : dot_config(kernel, target);
  codegen::fit_outer_tiles(fn, config);
  return config;
}

}  // namespace tilewright
