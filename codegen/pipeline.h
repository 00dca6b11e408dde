// Pass: software pipelining of copies.
#pragma once

#include "tilewright/codegen/config.h"
#include "tilewright/ir/node.h"

namespace tilewright::codegen {

/// Moves the copies of each sequential loop into its fill region, which runs stages - 1 iterations
/// ahead of the body, and gives their rings that many slots. A copy stays where it is when its
/// indices depend on the body's results, when its tensor (or one that may alias it) is written by
/// the kernel, or when the loop runs at most once. `written` says which parameters count as
/// written. Synchronous copies travel through registers and never look more than one iteration
/// ahead.
ir::Function pipeline(const ir::Function& fn, const Config& config,
                      const std::vector<bool>& written);

/// How often a loop over one axis runs, when known; -1 otherwise.
int64_t trip_count(const ir::Function& fn, const ir::Op& loop);

}  // namespace tilewright::codegen
