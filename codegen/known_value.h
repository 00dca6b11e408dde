// Values that are known when a kernel is compiled.
#pragma once

#include <cstdint>
#include <optional>

#include "tilewright/ir/node.h"

namespace tilewright::codegen {

/// The value of an index expression over sizes of parameters and constants; none when it depends on
/// anything else.
std::optional<int64_t> known_value(const ir::Function& fn, const ir::Value* value);

/// Whether a tile is known to be +0 everywhere: a constant zero, spread.
bool is_zero_fill(const ir::Value* tile);

}  // namespace tilewright::codegen
