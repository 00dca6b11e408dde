// Kernel IR as compact text, for dumps.
#pragma once

#include <string>

#include "tilewright/codegen/kernel_ir.h"

namespace tilewright::codegen {

/// Every field of the kernel, one parameter, buffer or statement a line; what printing as CUDA
/// leaves out (places of buffers, the grid, ordering edges, positions of user lines) included.
/// Never throws on a kernel that a pass left half done: missing expressions print as "_".
std::string print_kernel_ir(const Kernel& kernel);

}  // namespace tilewright::codegen
