#include "tilewright/codegen/config_default_nested.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "tilewright/codegen/config_needs.h"
#include "tilewright/codegen/known_value.h"
#include "tilewright/ir/builder.h"

namespace tilewright::codegen {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

constexpr int64_t kInnerTiles = 8;  // in one outer tile

/// The axes that are dimensions of tiles, by which they cost registers or memory.
std::set<int> dimensions(const ir::Function& fn) {
  std::set<int> axes;
  ir::for_each_op(fn.body(), [&](const Op& op) {
    for (const Value* result : op.results)
      for (const ir::Dim& dim : result->type.shape)
        if (result->type.is_tile() && dim.is_block()) axes.insert(dim.axis);
  });
  return axes;
}

/// The axis of the slice that a loop's range is; -1 when it is none.
int64_t walked_slice(const ir::LoopView& loop, size_t i) {
  const Op *begin = loop.begins[i]->def, *end = loop.limits[i]->def;
  if (begin == nullptr || end == nullptr || begin->kind != OpKind::slice_begin ||
      end->kind != OpKind::slice_end || begin->operand(0) != end->operand(0))
    return -1;
  return begin->operand(0)->type.shape[0].axis;
}

}  // namespace

void fit_outer_tiles(const ir::Function& fn, Config& config) {
  const std::set<int> in_tiles = dimensions(fn);
  std::vector<int64_t> blocks = bind_axes(config, fn);
  std::map<int64_t, int64_t> sizes;
  // From the inside out: blocks of the innermost loops are chosen already.
  std::vector<std::pair<int64_t, int64_t>> nested;  // outer, inner
  ir::for_each_op(fn.body(), [&](const Op& op) {
    if (op.kind != OpKind::tile_loop) return;
    const ir::LoopView loop(op);
    const auto& axes = op.integers(ir::AttrKey::axes);
    for (size_t i = 0; i < axes.size(); ++i) {
      const auto begin = known_value(fn, loop.begins[i]), limit = known_value(fn, loop.limits[i]);
      if (begin && limit) sizes[axes[i]] = *limit - *begin;
      if (const int64_t outer = walked_slice(loop, i); outer >= 0)
        nested.emplace_back(outer, axes[i]);
    }
  });
  for (auto pair = nested.rbegin(); pair != nested.rend(); ++pair) {
    const auto [outer, inner] = *pair;
    if (fn.axes.at(outer).pinned || in_tiles.contains(static_cast<int>(outer))) continue;
    int64_t block = kInnerTiles * blocks.at(inner);
    if (const auto size = sizes.find(outer); size != sizes.end())
      block = std::min(block, static_cast<int64_t>(std::bit_ceil(
                                  static_cast<uint64_t>(std::max<int64_t>(size->second, 1)))));
    blocks[outer] = std::max(block, blocks[inner]);
  }
  config.block.clear();
  for (size_t i = 0; i < blocks.size(); ++i)
    if (!fn.axes[i].pinned) config.block.push_back(blocks[i]);
}

}  // namespace tilewright::codegen
