#include "tilewright/codegen/grids.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tilewright/codegen/matrix_unit.h"
#include "tilewright/ir/builder.h"
#include "tilewright/ir/dce.h"

namespace tilewright::codegen {
namespace {

using ir::Op;
using ir::OpKind;

bool is_grid(const Op& op) {
  return op.kind == OpKind::tile_loop && op.integer(ir::AttrKey::parallel) != 0;
}

/// Whether barriers of the grid can order the grids of one kernel. Bulk copies would need proxy
/// fences around them, and a cluster's blocks take tiles together.
bool takes_grid_barriers(const Config& config) {
  return config.persistent && config.copy != CopyKind::tma && config.cluster == 1 &&
         config.split_k == 1;
}

/// The grids of one kernel and the barriers between them.
using Members = std::set<const Op*>;

std::vector<Members> group_grids(const ir::Function& fn, bool with_barriers) {
  std::vector<Members> groups;
  const Op* barrier = nullptr;
  for (const Op* op : fn.body().ops) {
    if (op->kind == OpKind::grid_barrier) barrier = op;
    if (!is_grid(*op)) continue;
    if (groups.empty() || barrier == nullptr || !with_barriers)
      groups.emplace_back();
    else
      groups.back().insert(barrier);
    groups.back().insert(op);
    barrier = nullptr;
  }
  return groups;
}

ir::Function extract(const ir::Function& fn, const Members& members) {
  return ir::eliminate_dead_code(ir::Rewriter::run(fn, [&](ir::Rewriter&, const Op& op) {
    return (is_grid(op) || op.kind == OpKind::grid_barrier) && !members.contains(&op);
  }));
}

bool fits_order(const Config& config, const ir::Function& fn) {
  return std::ranges::any_of(fn.body().ops, [&](const Op* op) {
    return is_grid(*op) && op->integers(ir::AttrKey::axes).size() == config.order.size();
  });
}

Config config_of(const Config& whole, const ir::Function& part, const Target& target) {
  Config config = whole;
  if (!fits_order(config, part)) config.order.clear();
  bool dots = false, unit = false;
  ir::for_each_op(part.body(), [&](const Op& op) {
    dots |= op.kind == OpKind::dot;
    unit |= op.kind == OpKind::dot && unit_of(op, config, target) == config.matrix;
  });
  if (!unit) config.matrix = MatrixUnit::fma;
  if (dots) return config;
  if (config.copy == CopyKind::tma) config.copy = CopyKind::cp_async;
  config.cluster = config.split_k = 1;
  config.repitch = false;
  return config;
}

}  // namespace

int count_grids(const ir::Function& fn) {
  return static_cast<int>(
      std::ranges::count_if(fn.body().ops, [](const Op* op) { return is_grid(*op); }));
}

std::vector<GridPart> split_grids(const ir::Function& fn, const Config& config,
                                  const Target& target) {
  std::vector<GridPart> parts;
  for (const Members& members : group_grids(fn, takes_grid_barriers(config))) {
    GridPart part{extract(fn, members), config};
    part.fn.name = fmt::format("{}_{}", fn.name, parts.size() + 1);
    part.config = config_of(config, part.fn, target);
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace tilewright::codegen
