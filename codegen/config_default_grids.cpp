#include "tilewright/codegen/config_default_grids.h"

#include <algorithm>
#include <set>

#include "tilewright/codegen/grids.h"
#include "tilewright/ir/builder.h"

namespace tilewright::codegen {
namespace {

using ir::Op;
using ir::OpKind;

/// The axes that the loops of a function walk.
std::set<int64_t> walked_axes(const ir::Function& fn) {
  std::set<int64_t> axes;
  ir::for_each_op(fn.body(), [&](const Op& op) {
    if (op.kind != OpKind::tile_loop) return;
    const auto& walked = op.integers(ir::AttrKey::axes);
    axes.insert(walked.begin(), walked.end());
  });
  return axes;
}

bool multiplies(const ir::Function& fn) {
  bool found = false;
  ir::for_each_op(fn.body(), [&](const Op& op) { found |= op.kind == OpKind::dot; });
  return found;
}

}  // namespace

Config default_grids_config(const ir::Function& fn, const Target& target) {
  std::vector<int64_t> blocks(fn.axes.size(), 1);
  Config result;
  bool chosen = false, product = false;
  for (GridPart& part : split_grids(fn, Config{}, target)) {
    const std::set<int64_t> axes = walked_axes(part.fn);
    // The others' axes are not this grid's to choose.
    for (size_t i = 0; i < part.fn.axes.size(); ++i)
      if (!axes.contains(static_cast<int64_t>(i))) {
        part.fn.axes[i].pinned = true;
        part.fn.axes[i].block = 1;
      }
    const Config own = default_config(part.fn, target);
    size_t next = 0;
    for (size_t i = 0; i < blocks.size(); ++i)
      if (!part.fn.axes[i].pinned) blocks[i] = own.block.at(next++);
    const bool dots = multiplies(part.fn);
    if (!chosen || (dots && !product) || (dots == product && own.warps > result.warps))
      result = own;
    chosen = true;
    product |= dots;
  }
  result.block.clear();
  for (size_t i = 0; i < blocks.size(); ++i)
    if (!fn.axes[i].pinned) result.block.push_back(blocks[i]);
  return result;
}

}  // namespace tilewright::codegen
