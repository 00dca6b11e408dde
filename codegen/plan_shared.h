// Pass: places shared-memory buffers.
#pragma once

#include "tilewright/codegen/config.h"
#include "tilewright/codegen/kernel_ir.h"

namespace tilewright::codegen {

/// Gives every buffer its offset and the kernel its size, in bytes. Buffers are live for the whole
/// kernel and do not overlap; wider alignments come first so that none needs padding. Raises
/// config_shared, naming the config, the need and the limit, when they do not fit the target.
void plan_shared(Kernel& kernel, const Config& config, const Target& target);

}  // namespace tilewright::codegen
