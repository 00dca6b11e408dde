// Default configs of kernels with several grids.
#pragma once

#include "tilewright/codegen/config.h"
#include "tilewright/codegen/target.h"
#include "tilewright/ir/node.h"

namespace tilewright::codegen {

/// Blocks as each grid's own default config has them, the rest from the grid that multiplies
/// matrices, else from the one with the most warps.
Config default_grids_config(const ir::Function& fn, const Target& target);

}  // namespace tilewright::codegen
