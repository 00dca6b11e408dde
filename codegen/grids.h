// Kernels with several grid loops: what runs in one launch.
#pragma once

#include <vector>

#include "tilewright/codegen/config.h"
#include "tilewright/codegen/target.h"
#include "tilewright/ir/node.h"

namespace tilewright::codegen {

/// Some of a function's grids, as a function that becomes one kernel. It has all parameters and
/// axes of the whole.
struct GridPart {
  ir::Function fn;
  Config config;  ///< of the whole, without what only other grids can use
};

/// How many grid loops a function has.
int count_grids(const ir::Function& fn);

/// The kernels of a function with several grids, in the order in which they run. Each grid is one
/// of its own, but where barriers are between grids and the config is persistent (with copies by
/// threads, and no clusters): those are one kernel, whose blocks meet at barriers of the grid.
std::vector<GridPart> split_grids(const ir::Function& fn, const Config& config,
                                  const Target& target);

}  // namespace tilewright::codegen
