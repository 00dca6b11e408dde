// Pass: who holds which element of every tile, and how staged tiles lie in shared memory.
#pragma once

#include <unordered_map>

#include "tilewright/codegen/access.h"
#include "tilewright/codegen/config.h"
#include "tilewright/codegen/kernel_ir.h"
#include "tilewright/codegen/layout.h"
#include "tilewright/codegen/shared_layout.h"
#include "tilewright/ir/node.h"

namespace tilewright::codegen {

/// How the threads of a block share the work of one copy.
struct CopyPlan {
  Layout layout;
  int vector = 1;  ///< elements per access
  AccessFacts facts;
};

/// A copy that the hardware makes of itself, by tensor map, into a ring's slot.
struct BulkCopy {
  TensorMapSpec map;
  std::vector<int> dims;  ///< the tensor's dimensions as the map lists them, fastest first
  int panels = 1;         ///< copies that fill a slot, one panel each
  int64_t bytes = 0;      ///< of a slot
};

/// A store that goes through shared memory, from where the hardware writes it by tensor map: each
/// warpgroup its own 64 rows, a panel of columns at a time.
struct BulkStore {
  TensorMapSpec map;
  std::vector<int> dims;  ///< the tensor's dimensions as the map lists them, fastest first
  SharedLayout panel;     ///< 64 rows of a panel
};

/// A function whose every tile has a register layout. Operations that need an operand in another
/// layout than it has are preceded by `convert`.
struct LaidOut {
  bool aliases = false;  ///< tensors may overlap
  ir::Function fn;
  std::unordered_map<const ir::Value*, Layout> layouts;       ///< of tiles in registers
  std::unordered_map<const ir::Value*, SharedLayout> shared;  ///< of rings, one slot
  std::unordered_map<const ir::Op*, CopyPlan> copies;
  std::unordered_map<const ir::Op*, BulkCopy> bulk;  ///< those of `copies` made by tensor map: all
                                                     ///< of a pipelined loop's or none
  std::unordered_map<const ir::Op*, BulkStore> bulk_stores;
};

/// Chooses layouts. Dots come first: their accumulator gets dot_layout. Then, from the largest tile
/// down, tiles connected by elementwise operations and loops share one layout, taken from a related
/// tile that has one already (through a reduction or a broadcast) or from the memory they are
/// loaded from and stored to, so that accesses are wide and coalesced.
/// With `aliases`, tensors may overlap: stores then go the way that other accesses are ordered
/// with.
LaidOut assign_layouts(const ir::Function& fn, const Config& config, const Target& target,
                       bool aliases = false);

}  // namespace tilewright::codegen
