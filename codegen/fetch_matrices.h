// Tiles of bytes fetched from shared memory by ldmatrix.
#pragma once

#include <optional>
#include <vector>

#include "tilewright/codegen/layout.h"
#include "tilewright/codegen/shared_layout.h"
#include "tilewright/ir/node.h"

namespace tilewright::codegen {

struct Lowering;

/// How ldmatrix, transposing, reads a tile of bytes [k, row] that lies row after row of k: in its
/// eyes two neighbouring bytes are one element, so that each lane gets two rows of two steps of k.
struct MatrixFetch {
  int together = 4;  ///< matrices of one instruction
  /// Lanes are those whose address is taken; registers a thread's instructions along k, and the 16
  /// bytes of one address.
  Layout addresses;
};

/// How a tile of `extents` in `layout` can be read so; nothing when it cannot.
std::optional<MatrixFetch> matrix_fetch(const Layout& layout, const std::vector<int64_t>& extents,
                                        const SharedLayout& shared);

/// Reads a ring's slot into the array of `op`'s result, which is declared here; false when the
/// tile has to be read in another way.
bool fetch_matrices(Lowering& lowering, const ir::Op& op);

}  // namespace tilewright::codegen
