// Plans as bytes, so that a process that knows nothing of a kernel can launch it.
#pragma once

#include <string>
#include <string_view>

#include "tilewright/codegen/plan.h"

namespace tilewright::tune {

/// What launching needs: steps, parameters, sizes, the CUDA text; not the config and the IR.
std::string encode_plan(const codegen::Plan& plan);
/// Reads it. Throws std::exception for anything else.
codegen::Plan decode_plan(std::string_view bytes);

}  // namespace tilewright::tune
