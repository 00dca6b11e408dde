// Pass: who holds which element of every tile, and how staged tiles lie in shared memory.
#pragma once

#include <unordered_map>

#include "tilewright/codegen/access.h"
#include "tilewright/codegen/config.h"
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

/// A function whose every tile has a register layout. Operations that need an operand in another
/// layout than it has are preceded by `convert`.
struct LaidOut {
  ir::Function fn;
  std::unordered_map<const ir::Value*, Layout> layouts;       ///< of tiles in registers
  std::unordered_map<const ir::Value*, SharedLayout> shared;  ///< of rings, one slot
  std::unordered_map<const ir::Op*, CopyPlan> copies;
};

/// Chooses layouts. Dots come first: their accumulator gets dot_layout. Then, from the largest tile
/// down, tiles connected by elementwise operations and loops share one layout, taken from a related
/// tile that has one already (through a reduction or a broadcast) or from the memory they are
/// loaded from and stored to, so that accesses are wide and coalesced.
LaidOut assign_layouts(const ir::Function& fn, const Config& config, const Target& target);

}  // namespace tilewright::codegen
