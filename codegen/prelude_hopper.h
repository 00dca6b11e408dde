// Device helpers for barriers in shared memory, bulk tensor copies, clusters and warpgroups.
#pragma once

#include <vector>

#include "tilewright/codegen/prelude.h"

namespace tilewright::codegen {

/// Those that are in the table; the products of warpgroups are in prelude_wgmma.h.
std::vector<Helper> hopper_helpers();

}  // namespace tilewright::codegen
