// Pass: barriers.
#pragma once

#include "tilewright/codegen/kernel_ir.h"

namespace tilewright::codegen {

/// Replaces the ordering edges of rings by barriers and adds those that other shared buffers, and
/// tensors both read and written, need between two accesses of which one is a write. A wait is
/// always a barrier (what others copied becomes visible); an acquire only when the slot's last
/// release, perhaps of the previous iteration, has no barrier after it. Loops are analysed to a
/// fixed point, so hazards between iterations count. Accesses within one unrolled register loop, or
/// one branch that threads take differently, are taken to be disjoint.
void synchronize(Kernel& kernel);

}  // namespace tilewright::codegen
