#include "tilewright/codegen/lowering.h"
#include "tilewright/codegen/matrix_unit.h"

namespace tilewright::codegen {

std::string prepare_accumulator(Lowering& lowering, const ir::Op& op, const Layout& layout) {
  const ir::Value* result = op.result();
  const ir::Value* acc = op.operand(2);
  const auto home = lowering.homes.find(result);
  if (home != lowering.homes.end() && home->second == acc) return declare_tile(lowering, result);
  const std::string array = declare_tile(lowering, result);
  lowering.arrays.erase(result);
  for_registers(lowering, layout, -1, 1, [&](const RegIndex& index) {
    lowering.emit(
        assign(register_element(array, layout, index), element_value(lowering, acc, index)));
  });
  return lowering.arrays[result] = array;
}

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
