// Pass: tiles that every program reads are loaded where they are needed.
#pragma once

#include <vector>

#include "tilewright/codegen/config.h"
#include "tilewright/ir/node.h"

namespace tilewright::codegen {

/// Moves loads at places that are the same for every program of the grid (weights, a bias), of
/// tensors that the kernel does not write, behind the reductions that come before their first use.
/// They are in the caches, so that little is won by loading them early, and would be held in
/// registers beside the row that is reduced: where that is few of each thread of the config's
/// warps, they stay. `written` says which parameters count as written.
ir::Function sink_loads(const ir::Function& fn, const Config& config,
                        const std::vector<bool>& written);

}  // namespace tilewright::codegen
