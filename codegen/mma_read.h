// How a dot done by mma reads its operands from shared memory.
#pragma once

#include "tilewright/codegen/mma_fragments.h"
#include "tilewright/codegen/shared_layout.h"
#include "tilewright/codegen/stage_layouts.h"

namespace tilewright::codegen {

/// Reads of one operand of a dot (0: a, 1: b).
struct MmaRead {
  OperandView view;
  int outer_axis = 0;       ///< of the ring: m of a, n of b
  int k_axis = 1;           ///< of the ring
  int contiguous_axis = 1;  ///< of the ring
  MmaOperand operand;
  Layout layout;  ///< which elements lanes read; axis 0 is the outer dimension, axis 1 is k

  /// Elements along the contiguous axis that a lane reads at once.
  int vector() const { return operand.load == MmaLoad::elements ? 1 : 16 / operand.bytes; }
};

/// Matrices are loaded whole (ldmatrix) where the tile is stored as it is multiplied, its rows are
/// whole 16-byte chunks and its depth whole steps of the instruction; where the outer dimension is
/// contiguous, only elements of two bytes can be. All else is read element by element: any view,
/// and any extents.
MmaRead mma_read(const ir::Function& fn, const ir::Op& dot, int operand, const Layout& accumulator,
                 int contiguous_axis);

/// The accesses to a tile of `extents` (by the ring's axes) that reading the operand makes.
std::vector<WarpAccess> mma_accesses(const MmaRead& read, const std::vector<int64_t>& extents);

}  // namespace tilewright::codegen
