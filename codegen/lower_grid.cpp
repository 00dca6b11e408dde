// The grid: which tile of every axis a block works on, or which tiles one after the other.
#include <algorithm>
#include <limits>
#include <numeric>

#include "tilewright/codegen/host_size.h"
#include "tilewright/codegen/lowering.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::Value;

ExprRef divided(const ExprRef& x, int64_t by) {
  if (by == 1) return x;
  if (x->kind == Expr::Kind::integer) return integer((x->value + by - 1) / by);
  return (x + integer(by - 1)) / integer(by);
}

/// How many tiles lie between two positions, for the host.
ExprRef tiles_between(const ExprRef& begin, const ExprRef& limit, int64_t block) {
  const ExprRef extent = limit - begin;
  if (extent->kind == Expr::Kind::integer)
    return integer(extent->value <= 0 ? 0 : (extent->value + block - 1) / block);
  return call("max", {(extent + integer(block - 1)) / integer(block), integer(0)});
}

/// As many blocks as the one that needs more.
ExprRef larger(const ExprRef& x, const ExprRef& y) {
  if (same(x, y)) return x;  // another role's walk over the same grid
  if (x->kind == Expr::Kind::integer && y->kind == Expr::Kind::integer)
    return integer(std::max(x->value, y->value));
  return call("max", {x, y});
}

/// A grid loop as its blocks share it. Blocks of a cluster are neighbours along the axis that is
/// walked first.
struct Grid {
  const Op& op;
  ir::LoopView view;
  std::vector<int64_t> axes, walk;
  std::vector<ExprRef> counts;  // tiles along each axis; along the cluster's: groups of them
  ExprRef clusters;             // on the host: how many clusters have a tile
  int cluster = 1;

  explicit Grid(const Op& o) : op(o), view(o), axes(o.integers(AttrKey::axes)) {}
  int64_t block(const Lowering& lowering, size_t i) const {
    return lowering.fn.axes[axes[i]].block;
  }
};

Grid inspect(Lowering& lowering, const Op& op) {
  Grid grid(op);
  grid.cluster = lowering.config.cluster;
  grid.walk.resize(grid.axes.size());
  std::iota(grid.walk.begin(), grid.walk.end(), 0);
  if (op.has(AttrKey::dims)) grid.walk = op.integers(AttrKey::dims);
  grid.clusters = integer(1);
  for (size_t i = 0; i < grid.axes.size(); ++i) {
    const int64_t block = grid.block(lowering, i);
    const int share = static_cast<int64_t>(i) == grid.walk[0] ? grid.cluster : 1;
    grid.counts.push_back(
        divided(tile_count(lowering, grid.view.begins[i], grid.view.limits[i], block), share));
    grid.clusters =
        grid.clusters * divided(tiles_between(host_size(lowering, grid.view.begins[i]),
                                              host_size(lowering, grid.view.limits[i]), block),
                                share);
  }
  return grid;
}

/// The number of the tile along each axis, for number `id` of all.
std::vector<ExprRef> tile_numbers(Lowering& lowering, const Grid& grid, const ExprRef& id) {
  const int n = static_cast<int>(grid.axes.size());
  std::vector<ExprRef> ids(n);
  const auto single = [&](int64_t axis) { return is_integer(grid.counts[axis], 1); };
  const int64_t group = grid.op.integer_or(AttrKey::group, 1);
  if (group > 1 && n == 2 && !single(0) && !single(1)) {
    const std::string tile = lowering.names.unique("block_tile");
    lowering.emit(declare("tw::TileId", tile,
                          call("tw::grouped_tile", {id, grid.counts[grid.walk[0]],
                                                    grid.counts[grid.walk[1]], integer(group)})));
    ids[grid.walk[0]] = name(tile + ".row");
    ids[grid.walk[1]] = name(tile + ".col");
    return ids;
  }
  ExprRef rest = id;
  const auto several = n - std::count_if(grid.walk.begin(), grid.walk.end(), single);
  if (several > 1 && same(id, name("blockIdx.x"))) rest = cast("int", id);
  for (int i = n - 1; i >= 0; --i) {
    const ExprRef& count = grid.counts[grid.walk[i]];
    const bool last = std::all_of(grid.walk.begin(), grid.walk.begin() + i, single);
    ids[grid.walk[i]] = is_integer(count, 1) ? integer(0) : last ? rest : rest % count;
    if (!is_integer(count, 1)) rest = rest / count;
  }
  return ids;
}

/// Declares where this block's tile begins along every axis and lowers the loop's body.
void emit_tile(Lowering& lowering, const Grid& grid, const ExprRef& id) {
  std::vector<ExprRef> ids = tile_numbers(lowering, grid, id);
  if (grid.cluster > 1) {
    ExprRef& along = ids[grid.walk[0]];
    along = along * integer(grid.cluster) + cast("int", name("blockIdx.x") % integer(grid.cluster));
  }
  for (size_t i = 0; i < grid.axes.size(); ++i) {
    const Value* slice = grid.view.slices[i];
    const int64_t block = grid.block(lowering, i);
    const std::string position = lowering.names.unique(axis_name(lowering, grid.axes[i]));
    const std::string type = position_type(lowering, grid.view.limits[i], block);
    ExprRef number = ids[i];
    if (type != "int") number = cast(type, number);
    lowering.emit(declare(type, position,
                          scalar_value(lowering, grid.view.begins[i]) + number * integer(block)));
    lowering.scalars[slice] = name(position);
    lowering.limits[slice] = scalar_value(lowering, grid.view.limits[i]);
    // The tile's number may take part in signed arithmetic, blockIdx.x is unsigned.
    lowering.ids[slice] = same(ids[i], name("blockIdx.x")) ? cast("int", ids[i]) : ids[i];
  }
  lower_region(lowering, *grid.view.body);
  if (lowering.role == Role::consumer) pass_turn(lowering);
}

}  // namespace

ExprRef block_of_cluster(Lowering& lowering) {
  internal_check(lowering.cluster_rank != nullptr, "a block outside of the grid has no cluster");
  return lowering.cluster_rank;
}

void lower_grid_barrier(Lowering& lowering, const Op& op) {
  if (lowering.arrivals.empty()) {
    KernelParam param;
    param.name = lowering.arrivals = lowering.names.unique("arrivals");
    param.dtype = DType::i32;
    param.written = true;
    param.source = static_cast<int>(lowering.fn.params.size());
    lowering.kernel.params.push_back(std::move(param));
  }
  lowering.kernel.cooperative = true;
  lowering.at_source(op);
  lowering.emit(barrier("what any block stored until here is there for all",
                        call("tw::grid_barrier", {name(lowering.arrivals)})));
}

void lower_grid(Lowering& lowering, const Op& op) {
  const Grid grid = inspect(lowering, op);
  // Blocks of a cluster have neighbouring tiles, or parts of the work on one tile.
  const int together = grid.cluster * lowering.config.split_k;
  const ExprRef blocks = integer(together);
  lowering.kernel.cluster = together;
  if (together > 1) {
    const std::string rank = lowering.names.unique("block_of_cluster");
    lowering.emit(declare("int", rank, name("blockIdx.x") % blocks));
    lowering.cluster_rank = name(rank);
  }
  if (lowering.config.persistent) begin_late_store(lowering, op);
  lowering.at_source(op);
  if (!lowering.config.persistent) {
    lowering.kernel.grid = grid.clusters * blocks;
    emit_tile(lowering, grid, together == 1 ? name("blockIdx.x") : name("blockIdx.x") / blocks);
    return;
  }
  // As many blocks as the device holds at one time; each takes every gridDim.x-th tile.
  const int64_t resident =
      std::max(1, lowering.target.multiprocessors * lowering.config.blocks_per_sm / together);
  const ExprRef used = grid.clusters->kind == Expr::Kind::integer
                           ? integer(std::min(grid.clusters->value, resident)) * blocks
                           : call("min", {grid.clusters, integer(resident)}) * blocks;
  lowering.kernel.grid = lowering.has_grid ? larger(lowering.kernel.grid, used) : used;
  lowering.has_grid = true;
  ExprRef tiles = integer(1);
  for (const ExprRef& count : grid.counts) tiles = tiles * count;
  const std::string tile = lowering.names.unique("tile_id");
  std::vector<Stmt> body = lowering.collect([&] { emit_tile(lowering, grid, name(tile)); });
  ExprRef first = name("blockIdx.x") / blocks, step = name("gridDim.x") / blocks;
  if (lowering.role == Role::consumer && lowering.turn) {
    first = first + lowering.turn * step;
    step = step * integer(lowering.config.turns);
  }
  Stmt stmt = loop(tile, first, tiles, step, false, std::move(body));
  stmt.uniform = stmt.programs = true;
  lowering.emit(std::move(stmt));
  run_late_store(lowering);
}

}  // namespace tilewright::codegen
