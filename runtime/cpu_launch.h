// Launches on the CPU, by the interpreter.
#pragma once

#include <cstdint>
#include <span>

#include "tilewright/ir/node.h"
#include "tilewright/runtime/arguments.h"

namespace tilewright::runtime {

/// Runs `fn` on host tensors, one argument per parameter, checked already. `block` chooses the
/// block sizes of free axes; empty: as suits the CPU. Returns when done. Raises what the
/// interpreter raises.
void launch_on_cpu(const ir::Function& fn, std::span<const Argument> args,
                   std::span<const int64_t> block);

}  // namespace tilewright::runtime
