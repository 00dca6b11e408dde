// Whether two functions compute the same thing in the same way.
#pragma once

#include <optional>

#include "tilewright/ir/node.h"

namespace tilewright::ir {

/// Where `b` first differs from `a` (the position of an operation of b, or of a where b lacks one);
/// nothing when both have the same parameters, axes, operations and results. Names and positions do
/// not count.
std::optional<Loc> first_difference(const Function& a, const Function& b);

}  // namespace tilewright::ir
