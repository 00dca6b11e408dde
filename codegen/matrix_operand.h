// How wgmma wants its operands in shared memory, which is also how bulk tensor copies write them.
#pragma once

#include <optional>

#include "tilewright/codegen/shared_layout.h"

namespace tilewright::codegen {

/// The layout of a two-dimensional tile whose axes are stored in `order` (slowest first), as wgmma
/// reads it and a bulk tensor copy with the same swizzle writes it (PTX ISA, "Shared memory matrix
/// layout"): panels of 128, 64 or 32 bytes, the widest that divides a row, in which 16-byte chunks
/// change places by a pattern of eight rows. Panels also divide `part` of a row, where that is not
/// 0: what one warpgroup reads of it begins and ends with whole panels. None when a row, or the
/// part of it, is no multiple of 32 bytes or there are not whole groups of eight rows.
std::optional<SharedLayout> matrix_operand_layout(const std::vector<int64_t>& extents,
                                                  const std::vector<int>& order, int element_bytes,
                                                  int64_t part = 0);

/// Bytes of the swizzle of such a layout: those of a panel's row.
int swizzle_bytes(const SharedLayout& layout, int element_bytes);

/// Bytes at whose multiples the pattern of such a layout repeats; buffers and slots start there.
int swizzle_alignment(const SharedLayout& layout, int element_bytes);

}  // namespace tilewright::codegen
