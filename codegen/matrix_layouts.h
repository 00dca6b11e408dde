// Who holds the operands and accumulators of matrix units, as digits (PTX ISA, "Matrix fragments"
// of mma and "Register fragments" of wgmma instructions).
#pragma once

#include "tilewright/codegen/layout.h"

namespace tilewright::codegen {

/// m by n accumulator of `warps` warps that multiply with mma.m16n8: each warp holds whole 16 by 8
/// pieces, neighbours of one another, and as square a part of the tile as there are ways to deal
/// pieces to warps evenly: fewer bytes of operands to read. Overhangs where the pieces do not
/// divide the tile; warps that are left over hold what others do.
Layout mma_layout(int64_t m, int64_t n, int warps);
/// How many of the warps / 4 warpgroups that compute a tile of m rows lie side by side along the
/// rows; the others share the columns.
int64_t wgmma_groups_along_rows(int64_t m, int warps);
/// m by n accumulator of warps / 4 warpgroups that multiply with wgmma.m64nN: each holds 64 rows at
/// a time and whole rows of its columns. warps is a multiple of 4, m of 64 for each warpgroup along
/// the rows, n of 8 for each along the columns. A thread has two rows of every 16: the
/// instruction's rows r and r + 8, or, with `neighbours`, rows 2 r and 2 r + 1 in their place. Any
/// order of rows will do where the first operand is taken from registers.
Layout wgmma_layout(int64_t m, int64_t n, int warps, bool neighbours = false);
/// m by k first operand in registers, elements of 1, 2 or 4 bytes, of warps / 4 warpgroups that
/// share the result's rows as wgmma_layout does. k is a multiple of 32 bytes.
Layout wgmma_operand_layout(int64_t m, int64_t k, int element_bytes, int warps,
                            bool neighbours = false);
/// Whether an accumulator for wgmma has `neighbours`.
bool has_neighbouring_rows(const Layout& accumulator);

}  // namespace tilewright::codegen
