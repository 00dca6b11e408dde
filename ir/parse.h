// Reads the text form of tile IR that print.h writes.
#pragma once

#include <string_view>

#include "tilewright/ir/node.h"

namespace tilewright::ir {

/// The function that `text` describes; print(parse(print(f))) is print(f). The result has passed
/// the verifier. Raises parse_ir, with the line of the text, on anything else. A result's type may
/// be left out where it follows from the operands, and must agree with them where it is given.
Function parse(std::string_view text);

}  // namespace tilewright::ir
