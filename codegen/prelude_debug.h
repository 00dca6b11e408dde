// Device helpers for random numbers and for assertions.
#pragma once

#include <vector>

#include "tilewright/codegen/prelude.h"

namespace tilewright::codegen {

std::vector<Helper> debug_helpers();

}  // namespace tilewright::codegen
