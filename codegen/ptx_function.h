// PTX that a kernel's author wrote, as a device function of the printed source.
#pragma once

#include <string>

#include "tilewright/codegen/kernel_ir.h"
#include "tilewright/ir/node.h"

namespace tilewright::codegen {

/// The function of an inline_ptx operation; the same one for the same text, types and twin.
PtxFunction ptx_function(const ir::Op& op);

/// Its definition in namespace tw: one assembly statement.
std::string ptx_function_text(const PtxFunction& function);

/// `text` as a C string literal. No "tw::" is left in it, which marks helpers in printed sources.
std::string c_literal(std::string_view text);

}  // namespace tilewright::codegen
