// Dimensions along which an operation works, as the operations of IR want them.
#pragma once

#include <string_view>
#include <vector>

#include "tilewright/dsl/reduce.h"
#include "tilewright/ir/builder.h"

namespace tilewright::dsl {

/// The axes of a value with `rank` dimensions as sorted non-negative numbers; all of them without
/// `axes`. Errors: bad_axis.
std::vector<int64_t> positions(std::string_view what, const Axes* axes, int rank, Loc loc);
/// The one axis that is given. Errors: bad_axis, single_axis.
int64_t position(std::string_view what, const Axes& axes, int rank, Loc loc);
/// Puts dimensions of size 1 where `axes` were reduced.
const ir::Value* restore_dims(ir::Builder& builder, const ir::Value* x,
                              const std::vector<int64_t>& axes);

}  // namespace tilewright::dsl
