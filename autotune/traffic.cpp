#include "tilewright/autotune/traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "tilewright/autotune/calibration.h"
#include "tilewright/autotune/count_traffic.h"
#include "tilewright/autotune/occupancy.h"
#include "tilewright/codegen/config_needs.h"
#include "tilewright/codegen/dot_operands.h"
#include "tilewright/codegen/matrix_unit.h"
#include "tilewright/codegen/passes.h"
#include "tilewright/codegen/roll_rows.h"
#include "tilewright/ir/builder.h"

namespace tilewright::tune {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

constexpr int64_t kLine = 128;        // bytes of a line of the cache
constexpr int64_t kSector = 32;       // bytes that are read of it at least
constexpr double kPartOfLine = 0.25;  // of a line's cost, for asking for another part of it
constexpr double kUsableL2 = 0.8;     // of the cache, before what is kept is lost again

int64_t round(double x) { return static_cast<int64_t>(std::llround(x)); }

bool is_sequential_loop(const Op* op) {
  return op != nullptr && op->kind == OpKind::tile_loop && op->integer(ir::AttrKey::parallel) == 0;
}

/// How the grid's tiles that run at the same time lie: along each axis, how many of its tiles are
/// among them.
class Window {
 public:
  Window(const Work& work, const Config& config, double concurrent) : tiles_(work.grid) {
    const size_t n = tiles_.size();
    walk_.resize(n);
    std::iota(walk_.begin(), walk_.end(), 0);
    if (config.order.size() == n) walk_ = config.order;
    covered_.assign(n, 1);
    if (n == 0) return;
    double left = std::min(std::max(1.0, concurrent), work.programs);
    waves_ = work.programs / left;
    if (n == 2 && config.group > 1 && tiles(0) > 1 && tiles(1) > 1) {
      const double rows = std::min<double>(config.group, tiles(0));
      cover(1, std::min<double>(tiles(1), std::ceil(left / rows)));
      cover(0, std::max(rows, std::min<double>(tiles(0), std::ceil(left / tiles(1)))));
      band_ = rows;
      return;
    }
    for (size_t i = n; i-- > 0;) {
      cover(i, std::min<double>(tiles(i), std::ceil(left)));
      left = std::max(1.0, left / tiles(i));
    }
    band_ = covered_[static_cast<size_t>(walk_[0])];
  }

  double waves() const { return waves_; }

  /// Different tiles at a time of an access that knows these axes.
  double different(const std::vector<bool>& known) const {
    double product = 1;
    for (size_t i = 0; i < known.size() && i < covered_.size(); ++i)
      if (known[i]) product *= covered_[i];
    return product;
  }

  /// How often the walk comes back to what an access with these axes has read, when a wave's
  /// tiles stay in the cache for the next wave.
  double returns(const std::vector<bool>& known) const {
    if (walk_.empty()) return 1;
    const auto slowest = static_cast<size_t>(walk_[0]);
    if (known.size() != walk_.size() || known[slowest]) return 1;
    return std::max(1.0, static_cast<double>(tiles_[slowest]) / band_);
  }

 private:
  int64_t tiles(size_t i) const { return tiles_[static_cast<size_t>(walk_[i])]; }
  void cover(size_t i, double count) { covered_[static_cast<size_t>(walk_[i])] = count; }

  std::vector<int64_t> tiles_;
  std::vector<int> walk_;
  std::vector<double> covered_;
  double waves_ = 1, band_ = 1;
};

/// Loads whose elements a dot's operands are, through shared memory.
std::set<const Op*> staged_loads(const ir::Function& fn, const Config& config,
                                 const Target& target) {
  std::set<const Op*> staged;
  for_each_op(fn.body(), [&](const Op& op) {
    if (op.kind != OpKind::dot) return;
    for (int i = 0; i < 2; ++i) {
      if (const Op* load = codegen::load_behind(op.operand(static_cast<size_t>(i)), true))
        staged.insert(load);
      if (codegen::unit_of(op, config, target) == MatrixUnit::fma) continue;
      for (const Op* load : codegen::loads_behind(op.operand(static_cast<size_t>(i))))
        staged.insert(load);
    }
  });
  return staged;
}

int64_t extent(const ir::Dim& dim, const std::vector<int64_t>& axes) {
  return dim.is_block() ? axes.at(static_cast<size_t>(dim.axis)) : dim.extent;
}

/// Lists the tiles that a block works with.
class WorkingSet {
 public:
  WorkingSet(const Work& work, const ir::Function& fn, const Config& config,
             const std::set<const Op*>& staged)
      : work_(work), fn_(fn), config_(config), staged_(staged) {}

  std::vector<WorkingTile> tiles() {
    for (const OpWork& one : work_.ops)
      if (one.read && one.op->kind == OpKind::load && one.op->result()->type.is_tile())
        add_load(*one.op, one.param);
    for_each_op(fn_.body(), [&](const Op& op) {
      if (is_sequential_loop(&op)) add_carried(op);
      if (op.kind == OpKind::dot && !kept_.contains(op.result()) && !kept_.contains(op.operand(2)))
        add_kept(op.result());
    });
    return std::move(tiles_);
  }

 private:
  WorkingTile make(const ir::Type& type, std::string name) const {
    WorkingTile tile;
    tile.name = std::move(name);
    tile.bytes = tile.edge_bytes = size_of(type.dtype);
    std::string sizes;
    for (const ir::Dim& dim : type.shape) {
      const int64_t most = extent(dim, work_.largest);
      tile.bytes *= most;
      tile.edge_bytes *= extent(dim, work_.smallest);
      sizes += fmt::format("{}{}", sizes.empty() ? "" : ",", most);
    }
    tile.shape = fmt::format("{}[{}]", to_string(type.dtype), sizes);
    return tile;
  }

  void add_load(const Op& load, int param) {
    WorkingTile tile =
        make(load.result()->type, param < 0 ? "?" : fn_.params[static_cast<size_t>(param)].name);
    tile.staged = staged_.contains(&load);
    if (tile.staged && is_sequential_loop(load.parent->parent))
      tile.further_stages = tile.bytes * (config_.stages - 1);
    tiles_.push_back(std::move(tile));
  }

  void add_carried(const Op& op) {
    const ir::LoopView loop(op);
    for (size_t i = 0; i < loop.carried.size(); ++i) {
      const bool again = kept_.contains(loop.inits[i]);  // an outer loop's, carried on
      kept_.insert(loop.carried[i]);
      kept_.insert(op.results.at(i));
      kept_.insert(loop.body->yields().at(i));
      if (!again && loop.carried[i]->type.is_tile()) add_kept(loop.carried[i]);
    }
  }

  void add_kept(const Value* value) {
    kept_.insert(value);
    WorkingTile tile = make(value->type, value->name.empty() ? "accumulator" : value->name);
    tile.accumulator = true;
    tiles_.push_back(std::move(tile));
  }

  const Work& work_;
  const ir::Function& fn_;
  const Config& config_;
  const std::set<const Op*>& staged_;
  std::set<const Value*> kept_;
  std::vector<WorkingTile> tiles_;
};

/// Adds up what accesses of each tensor move.
class TensorSums {
 public:
  TensorSums(const Work& work, const ir::Function& fn, const Config& config,
             const std::set<const Op*>& staged)
      : work_(work), fn_(fn), config_(config), staged_(staged) {}

  std::vector<TensorTraffic> sums(const Surroundings& around) {
    const Window window(work_, config_, around.concurrent);
    double wave_bytes = 0, all_bytes = 0;
    for (const OpWork& one : work_.ops) {
      if (one.param < 0) continue;
      wave_bytes += bytes(one, one.distinct) / work_.programs * window.different(one.grid_axes);
    }
    for (const ir::Param& param : fn_.params)
      if (param.is_tensor()) all_bytes += unique_bytes(param);
    const double usable = kUsableL2 * around.l2_bytes;
    std::vector<TensorTraffic> result;
    for (size_t i = 0; i < fn_.params.size(); ++i) {
      const ir::Param& param = fn_.params[i];
      TensorTraffic tensor;
      double read = 0, written = 0, l2 = 0, memory = 0, stored = 0;
      for (const OpWork& one : work_.ops) {
        if (one.param != static_cast<int>(i)) continue;
        if (one.read) read += bytes(one, one.elements);
        if (one.written) written += bytes(one, one.elements);
        l2 += bytes(one, one.elements) / (one.written ? 1 : sharers(one));
        if (one.written) stored += bytes(one, one.elements);
        if (!one.read || one.written) continue;
        // What another load has just read is still in the cache.
        const bool kept = wave_bytes <= usable;
        const double once = from_memory(one, window, kept);
        memory = kept ? std::max(memory, once) : memory + once;
      }
      if (read + written == 0) continue;
      const double unique = unique_bytes(param);
      tensor.param = static_cast<int>(i);
      if (around.describe) {
        tensor.name = param.name.empty() ? fmt::format("tensor {}", i) : param.name;
        tensor.spec = to_string(param.spec);
      }
      tensor.unique_bytes = round(unique);
      tensor.read_bytes = round(read);
      tensor.written_bytes = round(written);
      tensor.l2_bytes = round(l2);
      tensor.lines = lines(static_cast<int>(i));
      // What fits the cache as a whole is read once.
      tensor.memory_bytes = round((all_bytes <= usable ? std::min(memory, unique) : memory) +
                                  std::min(stored, std::max(unique, 1.0)));
      result.push_back(std::move(tensor));
    }
    return result;
  }

 private:
  double bytes(const OpWork& one, double elements) const {
    return elements * size_of(fn_.params[static_cast<size_t>(one.param)].spec.dtype);
  }

  /// Bytes of the elements; one that several positions share (stride 0) counts once.
  static double unique_bytes(const ir::Param& param) {
    double elements = 1;
    for (size_t d = 0; d < param.spec.sizes.size(); ++d)
      if (param.spec.strides[d] != 0)
        elements *= static_cast<double>(std::max<int64_t>(0, param.spec.sizes[d]));
    return elements * size_of(param.spec.dtype);
  }

  /// Blocks of a cluster that one copy from L2 serves.
  int sharers(const OpWork& one) const {
    if (config_.cluster == 1 || config_.copy != CopyKind::tma || !staged_.contains(one.op))
      return 1;
    const size_t along = config_.order.empty() ? 0 : static_cast<size_t>(config_.order[0]);
    if (along >= one.grid_axes.size() || one.grid_axes[along]) return 1;
    return static_cast<int>(std::min<int64_t>(config_.cluster, work_.grid.at(along)));
  }

  /// See TensorTraffic::lines; of the narrowest access.
  double lines(int param) const {
    const TensorSpec& spec = fn_.params[static_cast<size_t>(param)].spec;
    int64_t row = 0;  // bytes of a tile's row
    bool shifted = false;
    for (const OpWork& one : work_.ops) {
      if (one.param != param || !staged_.contains(one.op)) continue;
      const ir::AccessView access(*one.op);
      for (size_t d = 0; d < spec.strides.size(); ++d) {
        const bool slice = access.indices[d]->type.kind == ir::Type::Kind::slice;
        const int64_t bytes = spec.strides[d] * size_of(spec.dtype);
        if (spec.strides[d] == 1 && slice)
          row = extent(access.indices[d]->type.shape[0], work_.largest) * size_of(spec.dtype);
        else if (slice)
          shifted |= (config_.repitch ? (bytes + 15) / 16 * 16 : bytes) % kLine != 0;
      }
    }
    if (row == 0) return 1;
    const double whole = static_cast<double>(kLine) / static_cast<double>(std::max(row, kSector));
    return shifted ? 1 + whole : 1 + kPartOfLine * std::max(0.0, whole - 1);
  }

  double from_memory(const OpWork& one, const Window& window, bool kept) const {
    const double all = bytes(one, one.elements) / sharers(one);
    const double each = bytes(one, one.distinct) / work_.programs;
    double different = 1;  // tiles of this tensor, over the whole grid
    for (size_t i = 0; i < one.grid_axes.size() && i < work_.grid.size(); ++i)
      if (one.grid_axes[i]) different *= static_cast<double>(work_.grid[i]);
    const double once = each * different;
    const double waves = each * window.different(one.grid_axes) * window.waves();
    const double most = std::max(once, waves);
    return std::min(all, kept ? std::min(most, once * window.returns(one.grid_axes)) : most);
  }

  const Work& work_;
  const ir::Function& fn_;
  const Config& config_;
  const std::set<const Op*>& staged_;
};

int64_t sum(const std::vector<TensorTraffic>& tensors, int64_t TensorTraffic::*field) {
  int64_t total = 0;
  for (const TensorTraffic& tensor : tensors) total += tensor.*field;
  return total;
}

}  // namespace

int64_t Traffic::read_bytes() const { return sum(tensors, &TensorTraffic::read_bytes); }
int64_t Traffic::written_bytes() const { return sum(tensors, &TensorTraffic::written_bytes); }
int64_t Traffic::l2_bytes() const { return sum(tensors, &TensorTraffic::l2_bytes); }
int64_t Traffic::memory_bytes() const { return sum(tensors, &TensorTraffic::memory_bytes); }

int64_t Traffic::working_bytes() const {
  int64_t total = 0;
  for (const WorkingTile& tile : working) total += tile.bytes;
  return total;
}

int64_t Traffic::further_stage_bytes() const {
  int64_t total = 0;
  for (const WorkingTile& tile : working) total += tile.further_stages;
  return total;
}

double Traffic::intensity() const {
  return bytes() == 0 ? 0 : operations() / static_cast<double>(bytes());
}

Traffic count_traffic(const Work& work, const ir::Function& fn, const Config& config,
                      const Target& target, const Surroundings& surroundings) {
  Traffic traffic;
  const std::set<const Op*> staged = staged_loads(fn, config, target);
  traffic.programs = round(work.programs);
  traffic.notes = work.notes;
  for (const OpWork& one : work.ops) {
    if (one.op->kind == OpKind::dot)
      traffic.dot_operations += 2 * one.elements;
    else if (one.op->kind == OpKind::fma)
      traffic.other_operations += 2 * one.elements;
    else if (one.param < 0 && one.op->kind != OpKind::cast)
      traffic.other_operations += one.elements;
  }
  if (surroundings.describe) traffic.working = WorkingSet(work, fn, config, staged).tiles();
  traffic.tensors = TensorSums(work, fn, config, staged).sums(surroundings);
  return traffic;
}

Traffic traffic_of(const ir::Function& fn, const Config& config, const Target& target) {
  const WorkCounter counter(codegen::roll_rows(fn, config, codegen::written_params(fn)));
  const Work work = counter.count(codegen::bind_axes(config, counter.function()));
  const Occupancy occupancy = occupancy_of(fn, config, target);
  const Surroundings around = {
      static_cast<double>(target.multiprocessors) * occupancy.resident / config.split_k,
      Calibration::typical(target).l2_bytes};
  return count_traffic(work, counter.function(), config, target, around);
}

}  // namespace tilewright::tune
