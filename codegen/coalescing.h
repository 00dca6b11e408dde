// How well the accesses of a warp fill the sectors in which memory is moved.
#pragma once

#include "tilewright/codegen/access.h"
#include "tilewright/codegen/layout.h"

namespace tilewright::codegen {

inline constexpr int kSectorBytes = 32;

/// Width of the accesses that a tile in `layout` makes: the layout's run along the contiguous axis,
/// as far as it is proven.
int access_vector(const AccessFacts& facts, const Layout& layout);

/// Consecutive elements along the contiguous axis that one access of a warp covers without a gap.
int64_t warp_run(const AccessFacts& facts, const Layout& layout);

}  // namespace tilewright::codegen
