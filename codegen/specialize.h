// Pass: binds block sizes and decides where edges need masks.
#pragma once

#include "tilewright/codegen/config.h"
#include "tilewright/ir/node.h"

namespace tilewright::codegen {

/// Gives every axis that the kernel does not pin its block size from `config`, then sets the guard
/// of each load, store, reduction and dot to the positions that cannot be proven to stay within
/// their limit. Expects a traced function and a config that check_config accepts.
ir::Function specialize(const ir::Function& fn, const Config& config);

}  // namespace tilewright::codegen
