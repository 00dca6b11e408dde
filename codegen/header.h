// The comment at the head of a printed kernel.
#pragma once

#include <string>
#include <vector>

#include "tilewright/codegen/config.h"
#include "tilewright/codegen/kernel_ir.h"
#include "tilewright/ir/node.h"

namespace tilewright::codegen {

/// Lines that state the kernel's tensors and target, its config, how the grid covers the result and
/// what lies in shared memory.
std::vector<std::string> header_lines(const ir::Function& traced, const ir::Function& lowered,
                                      const Kernel& kernel, const Config& config,
                                      const Target& target);

}  // namespace tilewright::codegen
