// One order of operations, whatever order the C++ compiler evaluated operands in.
#pragma once

#include "tilewright/ir/node.h"

namespace tilewright::ir {

/// Orders the operations of every region of a function just built, in place. Operations with an
/// effect and those with regions keep their order; the others follow in postorder from them: each
/// operand, first to last, before its user. A load stays between the effects around it. Pure
/// operations and loads that nothing uses are dropped.
void canonicalize(Function& fn);

}  // namespace tilewright::ir
