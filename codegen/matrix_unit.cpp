#include "tilewright/codegen/matrix_unit.h"

namespace tilewright::codegen {
namespace {

constexpr MatrixInstruction kInstructions[] = {
    {MatrixUnit::mma, DType::bf16, DType::bf16, DType::f32, 16, 80, "bf16"},
    {MatrixUnit::mma, DType::f16, DType::f16, DType::f32, 16, 80, "f16"},
    {MatrixUnit::mma, DType::f8e4m3, DType::f8e4m3, DType::f32, 32, 89, "e4m3"},
    {MatrixUnit::mma, DType::f8e5m2, DType::f8e5m2, DType::f32, 32, 89, "e5m2"},
    {MatrixUnit::mma, DType::f8e4m3, DType::f8e5m2, DType::f32, 32, 89, "e4m3_e5m2"},
    {MatrixUnit::mma, DType::f8e5m2, DType::f8e4m3, DType::f32, 32, 89, "e5m2_e4m3"},
    {MatrixUnit::mma, DType::i8, DType::i8, DType::i32, 32, 80, "s8"},
    {MatrixUnit::mma, DType::f32, DType::f32, DType::f32, 8, 80, "tf32", DotPrecision::tf32},
    {MatrixUnit::wgmma, DType::bf16, DType::bf16, DType::f32, 16, 90, "bf16"},
    {MatrixUnit::wgmma, DType::f16, DType::f16, DType::f32, 16, 90, "f16"},
    {MatrixUnit::wgmma, DType::f8e4m3, DType::f8e4m3, DType::f32, 32, 90, "e4m3"},
    {MatrixUnit::wgmma, DType::f8e5m2, DType::f8e5m2, DType::f32, 32, 90, "e5m2"},
    {MatrixUnit::wgmma, DType::f8e4m3, DType::f8e5m2, DType::f32, 32, 90, "e4m3_e5m2"},
    {MatrixUnit::wgmma, DType::f8e5m2, DType::f8e4m3, DType::f32, 32, 90, "e5m2_e4m3"},
    {MatrixUnit::wgmma, DType::i8, DType::i8, DType::i32, 32, 90, "s8"},
    {MatrixUnit::wgmma, DType::f32, DType::f32, DType::f32, 8, 90, "tf32", DotPrecision::tf32},
};

/// That of one instruction: tf32x3 takes three of tf32, and two_level adds up what single
/// instructions give.
DotPrecision instruction_precision(DotPrecision dot) {
  switch (dot) {
    case DotPrecision::tf32x3:
      return DotPrecision::tf32;
    case DotPrecision::two_level:
      return DotPrecision::ieee;
    default:
      return dot;
  }
}

}  // namespace

const MatrixInstruction* find_instruction(MatrixUnit unit, DType a, DType b, DType acc,
                                          DotPrecision precision, const Target& target) {
  for (const MatrixInstruction& entry : kInstructions) {
    if (entry.unit != unit || entry.a != a || entry.b != b || entry.acc != acc) continue;
    if (entry.precision != instruction_precision(precision)) continue;
    if (target.sm < entry.min_sm) continue;
    // wgmma exists on sm_90a alone.
    if (unit == MatrixUnit::wgmma && (target.sm != 90 || !target.specific)) continue;
    return &entry;
  }
  return nullptr;
}

const MatrixInstruction* find_instruction(MatrixUnit unit, const ir::Op& dot,
                                          const Target& target) {
  return find_instruction(unit, dot.operand(0)->type.dtype, dot.operand(1)->type.dtype,
                          dot.result()->type.dtype, ir::precision_of(dot), target);
}

MatrixUnit unit_of(const ir::Op& dot, const Config& config, const Target& target) {
  const bool takes =
      config.matrix != MatrixUnit::fma && find_instruction(config.matrix, dot, target) != nullptr;
  return takes ? config.matrix : MatrixUnit::fma;
}

}  // namespace tilewright::codegen
