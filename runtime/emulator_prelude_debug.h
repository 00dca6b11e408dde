// What emulated kernels need to print, to assert, and to call host functions in the place of PTX.
#pragma once

#include <string>
#include <string_view>

#include "tilewright/codegen/kernel_ir.h"

namespace tilewright::runtime {

/// The last members of the table of hooks, and the functions that call them.
std::string_view debug_hook_members();
std::string_view debug_hook_calls();

/// The host implementation of a helper of codegen/prelude_debug.h; empty when there is none.
std::string_view debug_twin(std::string_view helper);

/// A kernel's PTX as a call of its host function, inside namespace tw.
std::string ptx_twin(const codegen::PtxFunction& function);

}  // namespace tilewright::runtime
