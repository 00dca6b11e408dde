// Who holds the accumulator of a matrix unit, as digits (PTX ISA, "Register fragments" of mma and
// wgmma instructions).
#pragma once

#include "tilewright/codegen/layout.h"

namespace tilewright::codegen {

/// m by n accumulator of `warps` warps that multiply with mma.m16n8: each warp holds whole 16 by 8
/// pieces. Overhangs where the pieces do not divide the tile.
Layout mma_layout(int64_t m, int64_t n, int warps);
/// m by n accumulator of warps / 4 warpgroups that multiply with wgmma.m64nN: each holds 64 rows at
/// a time, whole rows of n (a multiple of 8). warps is a multiple of 4.
Layout wgmma_layout(int64_t m, int64_t n, int warps);

}  // namespace tilewright::codegen
