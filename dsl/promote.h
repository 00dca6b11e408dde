// From variables that are read and assigned to values: loops carry them, branches merge them.
#pragma once

#include "tilewright/dsl/recording.h"

namespace tilewright::dsl {

/// The function a recording stands for, with the user's names on its values, in canonical order.
/// Errors: used_before_assignment, maybe_unassigned, carried_by_grid.
ir::Function promote(const Recording& recording);

}  // namespace tilewright::dsl
