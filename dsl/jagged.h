// Loops whose rows have lengths of their own.
#pragma once

#include "tilewright/dsl/loops.h"

namespace tilewright {

namespace dsl {

/// 0 to the largest of `lengths`, with the lengths.
LoopDim jagged_dim(const Tile& lengths, Loc loc);

/// Which elements of a tile of this shape exist, as a bool tile: those that come before their row's
/// length along each jagged axis that the shape has together with the dimensions of its lengths.
/// Null when all do. With `dims`, null unless one of these dimensions is such an axis or one of its
/// lengths.
const ir::Value* jagged_mask(const ir::Shape& shape, Loc loc,
                             const std::vector<int64_t>* dims = nullptr);

/// `x` with `otherwise`, a scalar, where an element does not exist; x itself when all do.
const ir::Value* jagged_masked(const ir::Value* x, const ir::Value* otherwise, Loc loc,
                               const std::vector<int64_t>* dims = nullptr);

}  // namespace dsl

/// A sequential loop over 0 .. the largest of `lengths`, a tile of integers with one length for
/// each lane of loops around it: `for (auto cols : tw::jagged_tile(lengths[rows]))`. In its body an
/// element of a tile that has both `cols` and `rows` exists only before its row's length: loads
/// give 0 elsewhere, stores and atomics do nothing, reductions, scans and dots leave it out.
/// Elementwise results there mean nothing. Errors: jagged_lengths.
inline dsl::LoopRange<1, false> jagged_tile(const Tile& lengths, Loc loc = Loc::current()) {
  return {{dsl::jagged_dim(lengths, loc)}, loc};
}
inline dsl::LoopRange<1, false> jagged_tile(const Tile& lengths, BlockSize block,
                                            Loc loc = Loc::current()) {
  return {{dsl::with_block(dsl::jagged_dim(lengths, loc), block)}, loc};
}

}  // namespace tilewright
