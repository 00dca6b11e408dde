#include <algorithm>

#include "tilewright/codegen/config.h"
#include "tilewright/codegen/config_fields.h"
#include "tilewright/codegen/config_needs.h"
#include "tilewright/codegen/config_warpgroups.h"
#include "tilewright/codegen/matrix_unit.h"
#include "tilewright/codegen/passes.h"
#include "tilewright/codegen/tunables.h"
#include "tilewright/codegen/wide_axes.h"
#include "tilewright/ir/builder.h"
#include "tilewright/ir/error.h"

namespace tilewright {
namespace {

using ir::Op;
using ir::OpKind;

void check_block_count(const Config& config, const ir::Function& fn) {
  std::vector<std::string> chosen;
  for (size_t i = 0; i < fn.axes.size(); ++i) {
    const ir::Axis& axis = fn.axes[i];
    if (axis.pinned) continue;
    std::string name = axis.name.empty() ? fmt::format("axis {}", i) : axis.name;
    if (axis.loc.known()) name += fmt::format(" at line {}", axis.loc.line);
    chosen.push_back(std::move(name));
  }
  if (config.block.size() != chosen.size())
    raise(ErrorId::config_block_count, fn.loc, fn.name, chosen.size(), fmt::join(chosen, ", "),
          config.block.size());
}

/// `order` is empty or names each axis of the grid, of one of several grids.
void check_order(const Config& config, const ir::Function& fn) {
  if (config.order.empty()) return;
  const Op* other = nullptr;
  for (const Op* op : fn.body().ops) {
    if (op->kind != OpKind::tile_loop || op->integer(ir::AttrKey::parallel) == 0) continue;
    if (config.order.size() == op->integers(ir::AttrKey::axes).size()) return;
    other = op;
  }
  if (other == nullptr) return;
  const size_t axes = other->integers(ir::AttrKey::axes).size();
  raise(ErrorId::config_field, other->loc, "order",
        fmt::format("the {} axes of the grid of kernel {}, 0 to {}", axes, fn.name, axes - 1),
        fmt::format("[{}]", fmt::join(config.order, ",")));
}

void refuse(std::string_view field, std::string_view value, std::string_view why,
            std::string_view use) {
  raise(ErrorId::config_unsupported, {}, field, value, why, use);
}

/// A matrix unit that multiplies no dot of the kernel was not what the config's author meant.
void check_matrix(const Config& config, const ir::Function& fn, const Target& target) {
  if (config.matrix == MatrixUnit::fma) return;
  std::vector<std::string> types;
  bool taken = false;
  for_each_op(fn.body(), [&](const Op& op) {
    if (op.kind != OpKind::dot) return;
    taken |= codegen::unit_of(op, config, target) == config.matrix;
    std::string text =
        fmt::format("{} x {} into {}", to_string(op.operand(0)->type.dtype),
                    to_string(op.operand(1)->type.dtype), to_string(op.result()->type.dtype));
    if (std::find(types.begin(), types.end(), text) == types.end())
      types.push_back(std::move(text));
  });
  if (taken) return;
  refuse("matrix", to_string(config.matrix),
         types.empty() ? fmt::format("kernel {} multiplies no matrices", fn.name)
                       : fmt::format("on {} it takes none of the products of kernel {}: {}",
                                     target.name(), fn.name, fmt::join(types, ", ")),
         "fma");
}

void check_supported(const Config& config, const Target& target) {
  if (config.copy == CopyKind::tma && target.sm < 90)
    refuse("copy", "tma", target.name() + " has no bulk tensor copies (sm_90 and newer have)",
           target.has_cp_async() ? "cp_async" : "sync");
  if (config.copy == CopyKind::cp_async && !target.has_cp_async())
    refuse("copy", "cp_async", target.name() + " cannot copy asynchronously (sm_80 and newer can)",
           "sync");
  constexpr int most_warps = Target::max_threads / 32, copying_warps = 4;
  if (config.copy == CopyKind::tma && codegen::consumer_warps(config) > most_warps - copying_warps)
    refuse("warps", std::to_string(config.warps),
           fmt::format("a block has at most {} warps, and {} of them start tma copies", most_warps,
                       copying_warps),
           std::to_string(most_warps - copying_warps));
  if (config.cluster > 1 && target.sm < 90)
    refuse("cluster", std::to_string(config.cluster),
           target.name() + " has no clusters of blocks (sm_90 and newer have)", "1");
  if (config.cluster > 8 || (config.cluster & (config.cluster - 1)) != 0)
    refuse("cluster", std::to_string(config.cluster), "clusters are of 1, 2, 4 or 8 blocks", "2");
  if (config.turns > 1 && (config.copy != CopyKind::tma || config.matrix != MatrixUnit::wgmma ||
                           !config.persistent || config.split_k > 1))
    refuse("turns", std::to_string(config.turns),
           "those who take turns are warpgroups that share a persistent block's tiles, loaded by "
           "tma copies",
           "1, or copy tma, matrix wgmma and persistent");
  if (config.split_k == 1) return;
  if (config.copy != CopyKind::tma)
    refuse("split_k", std::to_string(config.split_k),
           "loops filled by tma copies are split, over a cluster of sm_90 and newer", "1");
  if (config.split_k > 8 || (config.split_k & (config.split_k - 1)) != 0)
    refuse("split_k", std::to_string(config.split_k), "clusters are of 1, 2, 4 or 8 blocks", "2");
  if (config.cluster != 1 || config.persistent)
    refuse("split_k", std::to_string(config.split_k),
           "the cluster is what shares the loop, for one tile", "cluster 1, not persistent");
}

/// Blocks of a cluster work on one tile, or have none: a line would be printed by several.
void check_printing(const Config& config, const ir::Function& fn) {
  if (config.cluster == 1 && config.split_k == 1) return;
  for_each_op(fn.body(), [&](const Op& op) {
    if (op.kind != OpKind::print) return;
    raise(ErrorId::config_unsupported, op.loc, config.cluster > 1 ? "cluster" : "split_k",
          std::max(config.cluster, config.split_k),
          fmt::format("kernel {} prints or asserts here", fn.name), "1");
  });
}

/// When registers do not suffice: says so of a row that is taken whole and could not be held.
void check_rows(const Config& config, const ir::Function& fn, int64_t needed, int64_t available) {
  const int64_t threads = int64_t{32} * config.warps;
  const int64_t chunk = std::max<int64_t>(config.reduction_loop, threads);
  const codegen::WideAxis* widest = nullptr;
  const auto axes = codegen::wide_axes(fn, chunk, codegen::written_params(fn));
  for (const codegen::WideAxis& axis : axes)
    if (widest == nullptr || axis.extent > widest->extent) widest = &axis;
  if (widest == nullptr) return;
  raise(ErrorId::config_row, widest->loc, to_json(config), widest->extent, needed, available,
        widest->obstacle.empty()
            ? "set reduction_loop to a number of elements to take at a time"
            : fmt::format("they cannot be taken in parts (reduction_loop), because {}",
                          widest->obstacle));
}

void check_limits(const Config& config, const ir::Function& fn, const Target& target) {
  const int64_t threads = int64_t{32} * config.warps;
  if (threads > Target::max_threads)
    raise(ErrorId::config_threads, {}, to_json(config), config.warps, threads,
          static_cast<int>(Target::max_threads));
  const codegen::ConfigNeeds needs = codegen::estimate_needs(config, fn, target);
  const int64_t registers = codegen::registers_available(config);
  if (needs.registers > registers) check_rows(config, fn, needs.registers, registers);
  if (needs.registers > registers)
    raise(ErrorId::config_registers, fn.loc, to_json(config), needs.registers, registers,
          config.blocks_per_sm, threads);
  if (!codegen::has_registers(needs, config))
    raise(ErrorId::config_registers, fn.loc, to_json(config), needs.instruction,
          codegen::registers_launched(config), config.blocks_per_sm, threads);
  if (needs.shared_bytes > target.shared_bytes)
    raise(ErrorId::config_shared, fn.loc, to_json(config), needs.shared_bytes, target.shared_bytes,
          target.name());
}

}  // namespace

void check_config(const Config& config, const ir::Function& fn, const Target& target) {
  codegen::check_fields(config);
  codegen::check_tunables(config, fn);
  check_supported(config, target);
  check_block_count(config, fn);
  check_order(config, fn);
  check_matrix(config, fn, target);
  check_printing(config, fn);
  codegen::check_warpgroups(config, fn, target);
  check_limits(config, fn, target);
}

}  // namespace tilewright
