// Removes what has no effect.
#pragma once

#include "tilewright/ir/node.h"

namespace tilewright::ir {

/// Keeps stores, ring operations and what they need. Unused pure operations and loads go, and so do
/// unused results of ifs and loops, carried values that nothing reads or that never change, loops
/// and ifs left without effect, and yields of nothing.
Function eliminate_dead_code(const Function& fn);

}  // namespace tilewright::ir
