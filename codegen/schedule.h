// Pass: how the grid walks its tiles.
#pragma once

#include "tilewright/codegen/config.h"
#include "tilewright/ir/node.h"

namespace tilewright::codegen {

/// Writes the order of the grid's axes and their L2 grouping from `config` onto the parallel loop
/// (attributes dims and group). Meaning does not change.
ir::Function schedule(const ir::Function& fn, const Config& config);

}  // namespace tilewright::codegen
