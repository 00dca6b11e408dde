// The values that a config gives a kernel's tunables.
#pragma once

#include "tilewright/codegen/config.h"
#include "tilewright/ir/node.h"

namespace tilewright::codegen {

/// Checks that the config names only tunables of `fn`, which was traced for its values. Raises
/// config_tunable_unknown or config_tunable_value.
void check_tunables(const Config& config, const ir::Function& fn);

}  // namespace tilewright::codegen
