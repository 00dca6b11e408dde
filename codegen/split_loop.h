// Loops whose steps the blocks of a cluster share, each adding up a part of the sum (split-K).
#pragma once

#include "tilewright/codegen/assign_layouts.h"
#include "tilewright/codegen/config.h"

namespace tilewright::codegen {

/// The loop that config.split_k divides among that many blocks of a cluster; null when it is 1.
/// What the loop carries must be sums of products that begin with zero, and what follows must be
/// elementwise up to the stores: each block computes it for a part of the tile. Raises
/// config_unsupported when no loop of the kernel is such, or has fewer steps than blocks.
const ir::Op* find_split_loop(const LaidOut& laid_out, const Config& config);

}  // namespace tilewright::codegen
