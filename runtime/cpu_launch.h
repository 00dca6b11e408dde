// Launches on the CPU: by the interpreter, or emulated.
#pragma once

#include <cstdint>
#include <span>

#include "tilewright/codegen/plan.h"
#include "tilewright/ir/node.h"
#include "tilewright/runtime/arguments.h"

namespace tilewright::runtime {

/// Runs `fn` on host tensors, one argument per parameter, checked already. `block` chooses the
/// block sizes of free axes; empty: as suits the CPU. Returns when done. Raises what the
/// interpreter raises.
void launch_on_cpu(const ir::Function& fn, std::span<const Argument> args,
                   std::span<const int64_t> block);

/// Emulates a plan of `fn` on host tensors, one argument per parameter, checked already. Raises
/// emulator_report with the report as its log when a check fails, and what emulate() raises.
void launch_emulated(const ir::Function& fn, const codegen::Plan& plan,
                     std::span<const Argument> args, Device device);

}  // namespace tilewright::runtime
