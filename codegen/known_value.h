// Sizes that are known when a kernel is compiled.
#pragma once

#include <cstdint>
#include <optional>

#include "tilewright/ir/node.h"

namespace tilewright::codegen {

/// The value of an index expression over sizes of parameters and constants; none when it depends on
/// anything else.
std::optional<int64_t> known_value(const ir::Function& fn, const ir::Value* value);

}  // namespace tilewright::codegen
