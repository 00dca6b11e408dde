// Device helpers that convert bytes, and parts of them, two at a time.
#pragma once

#include <vector>

#include "tilewright/codegen/prelude.h"

namespace tilewright::codegen {

/// bf16_fields and f16_fields, and what they need. Part of helpers().
std::vector<Helper> byte_helpers();

}  // namespace tilewright::codegen
