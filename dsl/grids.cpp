#include "tilewright/dsl/grids.h"

#include <map>
#include <vector>

#include "tilewright/ir/error.h"

namespace tilewright::dsl {
namespace {

using ir::Op;
using ir::OpKind;

/// Where a grid touches a tensor: the first read and the first write.
struct Touch {
  const Op* read = nullptr;
  const Op* write = nullptr;
  const Op* any() const { return write != nullptr ? write : read; }
  const char* verb() const { return write != nullptr ? "writes" : "reads"; }
};

struct Grid {
  const Op* loop;
  std::map<int, Touch> touched;  // by parameter
};

Grid inspect(const ir::Function& fn, const Op& loop) {
  Grid grid{&loop, {}};
  ir::for_each_op(*loop.regions[0], [&](const Op& op) {
    if (op.effect() != ir::Effect::read && op.effect() != ir::Effect::write) return;
    for (const ir::Value* operand : op.operands) {
      const ir::Param* param = fn.param_of(operand);
      if (param == nullptr || !param->is_tensor()) continue;
      Touch& touch = grid.touched[static_cast<int>(param - fn.params.data())];
      const Op*& first = op.effect() == ir::Effect::write ? touch.write : touch.read;
      if (first == nullptr) first = &op;
    }
  });
  return grid;
}

/// Raises when `later` touches what `earlier` writes, or writes what it reads.
void check_pair(const ir::Function& fn, const Grid& earlier, const Grid& later) {
  for (const auto& [param, touch] : later.touched) {
    const auto found = earlier.touched.find(param);
    if (found == earlier.touched.end()) continue;
    const Touch& before = found->second;
    if (before.write == nullptr && touch.write == nullptr) continue;
    const std::string& name = fn.params.at(static_cast<size_t>(param)).name;
    raise(ErrorId::grids_depend, touch.any()->loc, touch.verb(),
          name.empty() ? "a result" : fmt::format("tensor '{}'", name), earlier.loop->loc.line,
          before.verb(), before.any()->loc.line);
  }
}

}  // namespace

void check_grids(const ir::Function& fn) {
  std::vector<Grid> unordered;  // since the last barrier
  const Op* barrier = nullptr;
  for (const Op* op : fn.body().ops) {
    if (op->kind == OpKind::grid_barrier) {
      barrier = op;
      unordered.clear();
    }
    if (op->kind != OpKind::tile_loop) continue;
    Grid grid = inspect(fn, *op);
    for (const Grid& earlier : unordered) check_pair(fn, earlier, grid);
    unordered.push_back(std::move(grid));
  }
  if (barrier != nullptr && unordered.empty())
    raise(ErrorId::barrier_misplaced, barrier->loc, "after the last grid loop");
}

}  // namespace tilewright::dsl
