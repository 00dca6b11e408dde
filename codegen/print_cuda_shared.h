// The printed `struct Shared`: a kernel's map of shared memory.
#pragma once

#include <string>
#include <vector>

#include "tilewright/codegen/kernel_ir.h"

namespace tilewright::codegen {

/// "struct Shared { .. };" whose members lie at the buffers' offsets, buffers that share bytes in
/// unions, gaps filled, and a static_assert on its size. InternalError when an offset is missing or
/// not a multiple of the element's size, or when the struct would be larger than `shared_bytes`.
std::string shared_struct_text(const std::vector<SharedBuffer>& buffers, int64_t shared_bytes);

}  // namespace tilewright::codegen
