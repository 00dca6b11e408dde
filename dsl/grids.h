// The order of a kernel's grids.
#pragma once

#include "tilewright/ir/node.h"

namespace tilewright::dsl {

/// Checks that grids which no barrier orders do not touch what another one writes, and that each
/// barrier stands between two grids. Errors: grids_depend, barrier_misplaced.
void check_grids(const ir::Function& fn);

}  // namespace tilewright::dsl
