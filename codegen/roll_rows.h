// Pass: rows that are taken whole become loops over chunks.
#pragma once

#include "tilewright/codegen/config.h"
#include "tilewright/ir/node.h"

namespace tilewright::codegen {

/// Walks every dimension of known size that is longer than config.reduction_loop in chunks of that
/// many positions: sums and the like become tiles that the loop carries, one position of a chunk
/// each, and are reduced after it; what several loops need is loaded and computed in each; stores
/// happen chunk by chunk. A dimension for which that would change what the kernel computes stays
/// whole (wide_axes tells why). Expects a traced function; `written` as for wide_axes. Does nothing
/// when config.reduction_loop is 0.
ir::Function roll_rows(const ir::Function& fn, const Config& config,
                       const std::vector<bool>& written);

/// Raises config_unsupported when a dimension that config.reduction_loop is to walk in chunks must
/// stay whole because of tensors that a launch passes in one place, which `written` tells of.
void check_aliased_rows(const ir::Function& fn, const Config& config,
                        const std::vector<bool>& written);

}  // namespace tilewright::codegen
