#include "tilewright/codegen/lowering.h"
#include "tilewright/codegen/matrix_unit.h"

namespace tilewright::codegen {

void lower_dot(Lowering& lowering, const ir::Op& op) {
  switch (unit_of(op, lowering.config, lowering.target)) {
    case MatrixUnit::fma:
      return lower_dot_fma(lowering, op);
    case MatrixUnit::mma:
      return lower_dot_mma(lowering, op);
    case MatrixUnit::wgmma:
      return lower_dot_wgmma(lowering, op);
  }
}

}  // namespace tilewright::codegen
