#include "tilewright/codegen/config_needs.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <tuple>

#include "tilewright/codegen/dot_operands.h"
#include "tilewright/codegen/layout.h"
#include "tilewright/codegen/low_part.h"
#include "tilewright/codegen/matrix_layouts.h"
#include "tilewright/codegen/matrix_unit.h"
#include "tilewright/codegen/orient_dots.h"
#include "tilewright/codegen/passes.h"
#include "tilewright/codegen/roll_rows.h"
#include "tilewright/codegen/target.h"
#include "tilewright/ir/builder.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Region;
using ir::Value;

constexpr int64_t kMost = int64_t{1} << 40;
constexpr int64_t kDescriptors = 4;       // registers, two for each operand
constexpr int64_t kProduct = 26;          // registers of a warpgroup's product beside its sums
constexpr int64_t kLargestArray = 1024;   // registers of one tile, in memory if need be
constexpr int64_t kMostLasting = 512;     // registers of tiles kept at one time, the same
constexpr int kProducerThreads = 128;     // one warpgroup
constexpr int kMostMoved = 240;           // registers of a thread that others gave some
constexpr int64_t kReservedBytes = 1024;  // of shared memory, for each resident block

bool is_sequential_loop(const Op* op) {
  return op != nullptr && op->kind == OpKind::tile_loop && op->integer(ir::AttrKey::parallel) == 0;
}

/// The layout of an m by n accumulator. It is slow to find and depends on nothing else, so it is
/// found once: whoever compares configs asks for the same few hundred again and again.
const Layout& found_layout(MatrixUnit unit, int64_t m, int64_t n, int warps) {
  static std::mutex mutex;
  static std::map<std::tuple<bool, int64_t, int64_t, int>, Layout> layouts;
  const bool by_warps = unit == MatrixUnit::mma;
  std::lock_guard lock(mutex);
  auto [at, is_new] = layouts.try_emplace({by_warps, m, n, warps});
  if (is_new) at->second = by_warps ? mma_layout(m, n, warps) : dot_layout(m, n, warps, 1, 1);
  return at->second;
}

/// Walks a function and remembers the most that is needed at one point.
class Estimate {
 public:
  Estimate(const Config& config, const ir::Function& fn, const Target& target)
      : fn_(fn), config_(config), target_(target), blocks_(bind_axes(config, fn)) {
    for_each_op(fn.body(), [&](const Op& op) {
      if (op.kind != OpKind::dot) return;
      const MatrixUnit unit = unit_of(op, config, target);
      for (const Value* value : {op.operand(2), op.result()}) accumulators_[value] = unit;
      if (unit == MatrixUnit::mma) mma_shapes_.insert(extents_of(op.result()->type.shape));
    });
    walk(fn.body(), {});
    for_each_op(fn.body(), [&](const Op& op) {
      for (const Value* result : op.results) large_tile(*result);
      if (op.kind == OpKind::store) note_store(op);
    });
    for (const auto& [region, staged] : rings_) {
      int64_t sum = low_parts_[region];
      for (const auto& [value, bytes] : staged) sum += bytes;
      needs_.shared_bytes = std::max(needs_.shared_bytes, sum);
    }
  }

  const ConfigNeeds& needs() const { return needs_; }

 private:
  /// `kept`: the tiles carried by the loops around `region`.
  void walk(const Region& region, const std::set<const Value*>& kept) {
    note_registers(kept, 0);
    note_lasting(region);
    for (const Op* op : region.ops) {
      if (op->kind == OpKind::dot) {
        note_dot(*op, kept);
        continue;
      }
      std::set<const Value*> inside = kept;
      if (is_sequential_loop(op)) {
        const ir::LoopView loop(*op);
        for (const Value* init : loop.inits) inside.erase(init);  // continues as the carried value
        inside.insert(loop.carried.begin(), loop.carried.end());
      } else if (op->kind == OpKind::while_loop) {
        const ir::WhileView loop(*op);
        for (const Value* init : loop.inits) inside.erase(init);
        inside.insert(loop.carried.begin(), loop.carried.end());
      }
      for (const Region* inner : op->regions) walk(*inner, inside);
    }
  }

  static bool is_collective(const Op& op) {
    return op.kind == OpKind::reduce || op.kind == OpKind::combine || op.kind == OpKind::scan ||
           op.kind == OpKind::sort;
  }

  /// What is kept for `value`: conversions to wider types are made again.
  static const Value* uncast(const Value* value) {
    while (value->def != nullptr && value->def->kind == OpKind::cast &&
           size_of(value->def->operand(0)->type.dtype) < size_of(value->type.dtype))
      value = value->def->operand(0);
    return value;
  }

  /// Tiles of `region` that are made before an operation that threads do together, and read after.
  void note_lasting(const Region& region) {
    std::map<const Value*, size_t> last;
    for (size_t i = 0; i < region.ops.size(); ++i) {
      for (const Value* operand : region.ops[i]->operands) last[operand] = i;
      for (const Region* inner : region.ops[i]->regions)
        ir::for_each_op(*inner, [&](const Op& op) {
          for (const Value* operand : op.operands) last[operand] = i;
        });
    }
    std::set<const Value*> made;
    for (size_t i = 0; i < region.ops.size(); ++i) {
      const Op& op = *region.ops[i];
      std::erase_if(made, [&](const Value* value) { return last[value] <= i; });
      if (is_collective(op)) {
        std::set<const Value*> held;
        for (const Value* value : made) held.insert(uncast(value));
        int64_t bytes = 0;
        for (const Value* value : held)
          bytes += tile_elements(value->type.shape, blocks_) * size_of(value->type.dtype);
        needs_.lasting = std::max(needs_.lasting, bytes / (int64_t{4} * 32 * config_.warps));
        if (needs_.lasting > kMostLasting)
          needs_.registers = std::max(needs_.registers, needs_.lasting);
      }
      for (const Value* result : op.results)
        if (result->type.is_tile()) made.insert(result);
    }
  }

  void note_registers(const std::set<const Value*>& kept, int64_t more) {
    for (const Value* value : kept) more += registers(*value);
    needs_.registers = std::max(needs_.registers, more + kAddressing);
  }

  void note_dot(const Op& dot, const std::set<const Value*>& kept) {
    const int64_t fragments = fragment_registers(dot);
    if (accumulators_.at(dot.result()) == MatrixUnit::wgmma)
      needs_.instruction = std::max(needs_.instruction, product_columns(dot) / 2 + kProduct);
    note_registers(kept,
                   fragments + (kept.contains(dot.operand(2)) ? 0 : registers(*dot.result())));
    for (int i = 0; i < 2; ++i) note_operand(dot, i);
  }

  /// Rings of what an operand is loaded from, and a slot of their own for those that are computed
  /// and then written to shared memory.
  void note_operand(const Op& dot, int operand) {
    const Value* value = dot.operand(operand);
    const OperandHome home = home_of(dot, operand);
    const int64_t bytes = tile_elements(value->type.shape, blocks_) * size_of(value->type.dtype);
    const bool by_wgmma = accumulators_.at(dot.result()) == MatrixUnit::wgmma;
    if (by_wgmma && has_parts(dot) && home != OperandHome::registers)
      low_parts_[dot.parent] += bytes;
    if (home == OperandHome::copied) return note_ring(dot, load_behind(value, true));
    if (home == OperandHome::staged) rings_[dot.parent][value] = bytes;
    if (accumulators_.at(dot.result()) == MatrixUnit::fma) return;
    for (const Op* load : loads_behind(value)) note_ring(dot, load);
  }

  /// As the operands will be when some products have been transposed.
  OperandHome home_of(const Op& dot, int operand) const {
    if (accumulators_.at(dot.result()) != MatrixUnit::wgmma)
      return operand_home(fn_, dot, operand, config_, target_);
    const auto extents = extents_of(dot.result()->type.shape);
    const int first = is_transposed_for_wgmma(fn_, dot, extents[0], extents[1]) ? 1 : 0;
    const bool loaded = load_behind(dot.operand(operand), false) != nullptr;
    if (loaded &&
        (operand != first || (wgmma_reads_as_stored(fn_, dot, operand) && !has_parts(dot))))
      return OperandHome::copied;
    return operand == first ? OperandHome::registers : OperandHome::staged;
  }

  void note_ring(const Op& dot, const Op* load) {
    const ir::Type& type = load->result()->type;
    const bool in_loop = load->parent == dot.parent && is_sequential_loop(dot.parent->parent);
    const int64_t bytes = tile_elements(type.shape, blocks_) * size_of(type.dtype);
    rings_[dot.parent][load->result()] = in_loop ? bytes * config_.stages : bytes;
  }

  /// A tile's register array, however short its life, must stay small enough to compile.
  void large_tile(const Value& value) {
    if (!value.type.is_tile()) return;
    const int64_t array = tile_elements(value.type.shape, blocks_) / (32 * config_.warps);
    if (array > kLargestArray) needs_.registers = std::max(needs_.registers, array);
  }

  static int64_t words_of(DType dtype) { return size_of(dtype) > 4 ? 2 : 1; }

  int64_t registers(const Value& value) {
    if (!value.type.is_value()) return 0;
    const int64_t elements = tile_elements(value.type.shape, blocks_);
    const int64_t words = words_of(value.type.dtype);
    if (elements / (32 * config_.warps) > kLargestArray)
      return elements / (32 * config_.warps) * words;
    const auto accumulator = accumulators_.find(&value);
    return words * (accumulator == accumulators_.end()
                        ? blocked(value.type.shape)
                        : accumulator_layout(value.type.shape, accumulator->second))
                       .registers();
  }

  /// Columns of one product of a warpgroup.
  int64_t product_columns(const Op& dot) const {
    auto extents = extents_of(dot.result()->type.shape);
    if (is_transposed_for_wgmma(fn_, dot, extents[0], extents[1]))
      std::swap(extents[0], extents[1]);
    const int64_t along_rows = wgmma_groups_along_rows(extents[0], config_.warps);
    return extents[1] * along_rows * 4 / config_.warps;
  }

  /// Those of the operands' elements that a thread multiplies at once.
  int64_t fragment_registers(const Op& dot) {
    const ir::Shape& shape = dot.result()->type.shape;
    if (tile_elements(shape, blocks_) / (32 * config_.warps) > kLargestArray) return 0;
    const MatrixUnit unit = accumulators_.at(dot.result());
    const Layout layout = accumulator_layout(shape, unit);
    // Of each 16 rows four words, of each 8 columns two; two parts of each; a second accumulator.
    const int64_t words = 2 * layout.registers(0) + layout.registers(1);
    const DotPrecision precision = ir::precision_of(dot);
    const int64_t partial = precision == DotPrecision::two_level ? layout.registers() : 0;
    if (unit == MatrixUnit::wgmma) return kDescriptors + partial;  // operands in shared memory
    if (unit == MatrixUnit::mma)
      return (precision == DotPrecision::tf32x3 ? 2 : 1) * words + partial;
    return (layout.registers(0) + layout.registers(1)) * words_of(dot.operand(0)->type.dtype);
  }

  /// A store of 16-bit results of mma, which a thread holds two by two.
  void note_store(const Op& store) {
    const ir::Type& type = store.operand(1)->type;
    if (!type.is_tile() || size_of(type.dtype) > 2) return;
    if (mma_shapes_.contains(extents_of(type.shape)))
      needs_.exchange_bytes += tile_elements(type.shape, blocks_) * size_of(type.dtype);
  }

  std::vector<int64_t> extents_of(const ir::Shape& shape) const {
    std::vector<int64_t> extents;
    for (const ir::Dim& dim : shape)
      extents.push_back(dim.is_block() ? blocks_.at(dim.axis) : dim.extent);
    return extents;
  }

  const Layout& accumulator_layout(const ir::Shape& shape, MatrixUnit unit) const {
    const std::vector<int64_t> extents = extents_of(shape);
    return found_layout(unit, extents[0], extents[1], config_.warps);
  }

  Layout blocked(const ir::Shape& shape) const {
    const std::vector<int64_t> extents = extents_of(shape);
    std::vector<int> order;
    for (int axis = static_cast<int>(extents.size()) - 1; axis >= 0; --axis) order.push_back(axis);
    return blocked_layout(extents, order, 1, config_.warps);
  }

  const ir::Function& fn_;
  const Config& config_;
  const Target& target_;
  const std::vector<int64_t> blocks_;
  std::map<const Value*, MatrixUnit> accumulators_;
  std::set<std::vector<int64_t>> mma_shapes_;  // extents of what mma computes
  std::map<const Region*, std::map<const Value*, int64_t>> rings_;
  std::map<const Region*, int64_t> low_parts_;  // bytes
  ConfigNeeds needs_;
};

}  // namespace

std::vector<int64_t> bind_axes(const Config& config, const ir::Function& fn) {
  std::vector<int64_t> blocks;
  size_t next = 0;
  for (const ir::Axis& axis : fn.axes)
    blocks.push_back(axis.pinned ? axis.block : config.block.at(next++));
  return blocks;
}

int64_t tile_elements(const ir::Shape& shape, const std::vector<int64_t>& blocks) {
  int64_t product = 1;
  for (const ir::Dim& dim : shape) {
    const int64_t extent = dim.is_block() ? blocks.at(dim.axis) : dim.extent;
    product = extent > 0 && product > kMost / extent ? kMost : product * extent;
  }
  return product;
}

ConfigNeeds estimate_needs(const Config& config, const ir::Function& fn, const Target& target) {
  if (config.reduction_loop > 0)
    return Estimate(config, roll_rows(fn, config, written_params(fn)), target).needs();
  return Estimate(config, fn, target).needs();
}

int64_t registers_launched(const Config& config) {
  // A producer's warpgroup is launched with as many registers as the others.
  const int64_t producer = config.copy == CopyKind::tma ? kProducerThreads : 0;
  const int64_t threads = (int64_t{32} * consumer_warps(config) + producer) * config.blocks_per_sm;
  return std::min<int64_t>(Target::max_registers, Target::registers_per_block / threads / 8 * 8);
}

RegisterSplit split_registers(const Config& config) {
  if (config.copy != CopyKind::tma || config.warps % 4 != 0) return {};
  const int groups = consumer_warps(config) / 4;
  const int launched = static_cast<int>(registers_launched(config)) / 8 * 8;
  if (launched >= kMostMoved) return {};
  const int all = launched * (groups + 1);
  // The producer walks tiles and coordinates: fewer than 32 registers would spill.
  const int consumer = std::min(kMostMoved, (all - 32) / groups / 8 * 8);
  return {std::min(all - groups * consumer, launched) / 8 * 8, consumer};
}

int64_t registers_available(const Config& config) {
  return std::max<int64_t>(registers_launched(config), split_registers(config).consumer);
}

bool has_registers(const ConfigNeeds& needs, const Config& config) {
  return needs.registers <= registers_available(config) &&
         needs.instruction <= registers_launched(config);
}

int64_t shared_available(const Config& config, const Target& target) {
  const int64_t all = target.shared_bytes + kReservedBytes;
  return all / config.blocks_per_sm - kReservedBytes;
}

}  // namespace tilewright::codegen
