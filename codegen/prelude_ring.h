// Device helpers for rings that one role fills and others read.
#pragma once

#include "tilewright/codegen/prelude.h"

namespace tilewright::codegen {

std::vector<Helper> ring_helpers();

}  // namespace tilewright::codegen
