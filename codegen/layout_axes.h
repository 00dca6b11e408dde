// How one axis of a layout is dealt out; layouts with an axis more.
#pragma once

#include <optional>
#include <vector>

#include "tilewright/codegen/layout.h"

namespace tilewright::codegen {

/// An axis as blocked_layout deals it: runs of `run` neighbours in registers, then lanes, then
/// warps, then registers again.
struct AxisSplit {
  int run = 1, lanes = 1, warps = 1, runs = 1;
  int64_t lane_weight = 1;  ///< of the axis's digit in a lane's number
  int64_t warp_weight = 1;  ///< in a warp's number

  /// The register position of element i of run u.
  int position(int u, int i) const { return u * run + i; }
};

/// Nothing when the axis is dealt out in another order.
std::optional<AxisSplit> split_of(const Layout& layout, int axis);

/// A layout whose `axis` is dealt in powers of two to registers, lanes and warps, as a sorting
/// network wants it; nothing when that takes too many registers or too long a
/// program.
std::optional<Layout> sorting_layout(const std::vector<int64_t>& extents, int axis, int warps);

/// `layout` with a new axis of `extent` positions, all of them in every thread's registers.
Layout insert_register_axis(const Layout& layout, int axis, int64_t extent);

}  // namespace tilewright::codegen
