#include "tilewright/codegen/lowering.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {

void lower_dot_mma(Lowering&, const ir::Op&) { throw InternalError("the mma unit is not lowered"); }

}  // namespace tilewright::codegen
