// What products of warpgroups ask of a config.
#pragma once

#include "tilewright/codegen/config.h"

namespace tilewright::codegen {

/// Raises config_unsupported, naming the size and what would do, when a dot that wgmma is to
/// multiply has a tile that whole warpgroups cannot share: rows by 64 for each warpgroup (or fewer
/// rows and columns shared among them), columns by 8 and at most 256 for each, depth by the
/// instruction's, and rows in shared memory of whole 32 bytes.
void check_warpgroups(const Config& config, const ir::Function& fn, const Target& target);

}  // namespace tilewright::codegen
