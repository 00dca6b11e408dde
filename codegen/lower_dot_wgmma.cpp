#include "tilewright/codegen/lowering.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {

void lower_dot_wgmma(Lowering&, const ir::Op&) {
  throw InternalError("the wgmma unit is not lowered");
}

}  // namespace tilewright::codegen
