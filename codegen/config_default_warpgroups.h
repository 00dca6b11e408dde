// The default config of kernels whose dots warpgroups multiply.
#pragma once

#include <optional>

#include "tilewright/codegen/config.h"

namespace tilewright::codegen {

/// A config with wgmma and tma for a kernel whose dots have tiles along the same axes of the grid,
/// chosen among a few tile shapes by a small model of time: products, loads from L2 and from
/// memory, what begins and ends a tile, waves of blocks, and what sharing a loop over a cluster
/// costs. None where the target has no wgmma, a dot does not take it, or the kernel is of another
/// form.
std::optional<Config> default_warpgroup_config(const ir::Function& fn, const Target& target);

}  // namespace tilewright::codegen
