// Device helpers for 8-bit floats.
#pragma once

#include <vector>

#include "tilewright/codegen/prelude.h"

namespace tilewright::codegen {

/// Types f8e4m3 and f8e5m2, their values as floats, and conversions to them (to nearest even,
/// saturating). Part of helpers().
std::vector<Helper> fp8_helpers();

}  // namespace tilewright::codegen
