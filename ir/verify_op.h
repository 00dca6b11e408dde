// The rules one operation obeys on its own, whatever surrounds it. The verifier reports a breach as
// a bug, the parser as an error in the text.
#pragma once

#include <string>

#include "tilewright/ir/node.h"

namespace tilewright::ir {

/// What is wrong with the attributes and operands of `op`; empty when nothing is. Its results and
/// regions are not looked at.
std::string form_fault(const Function& fn, const Op& op);

/// What is wrong with the number or types of the results of `op`, whose form has no fault.
std::string result_fault(const Function& fn, const Op& op);

/// What is wrong with `type` in `fn` (an axis that does not exist, a negative extent).
std::string type_fault(const Function& fn, const Type& type);

}  // namespace tilewright::ir
