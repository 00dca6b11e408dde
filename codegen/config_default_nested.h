// Default blocks of tiles that loops inside walk in smaller tiles.
#pragma once

#include "tilewright/codegen/config.h"
#include "tilewright/ir/node.h"

namespace tilewright::codegen {

/// Gives each free axis whose tiles are no dimension of any value, but the range of a loop inside
/// (`tw::tile(outer)`), blocks of a few of that loop's.
void fit_outer_tiles(const ir::Function& fn, Config& config);

}  // namespace tilewright::codegen
