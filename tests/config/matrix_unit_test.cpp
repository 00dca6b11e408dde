// Which products the matrix units take.
#include "tilewright/codegen/matrix_unit.h"

#include <gtest/gtest.h>

#include <string>

namespace tilewright::codegen {
namespace {

constexpr const char* kTargets[] = {"sm_75", "sm_80", "sm_89", "sm_90", "sm_90a", "sm_120a"};

const MatrixInstruction* find(MatrixUnit unit, DType a, DType b, DType acc, DotPrecision precision,
                              const std::string& target) {
  return find_instruction(unit, a, b, acc, precision, parse_target(target));
}

TEST(MatrixUnit, F32IsNeverReducedUnasked) {
  for (const char* target : kTargets)
    for (const MatrixUnit unit : {MatrixUnit::mma, MatrixUnit::wgmma})
      EXPECT_EQ(find(unit, DType::f32, DType::f32, DType::f32, DotPrecision::ieee, target), nullptr)
          << target;
}

TEST(MatrixUnit, Tf32AndTf32x3TakeTheSameInstruction) {
  const DType f32 = DType::f32;
  for (const char* target : kTargets)
    for (const MatrixUnit unit : {MatrixUnit::mma, MatrixUnit::wgmma}) {
      const MatrixInstruction* once = find(unit, f32, f32, f32, DotPrecision::tf32, target);
      EXPECT_TRUE(once == nullptr || once->precision == DotPrecision::tf32) << target;
      EXPECT_EQ(find(unit, f32, f32, f32, DotPrecision::tf32x3, target), once);
    }
}

TEST(MatrixUnit, HalvesAreTakenFromTheFirstArchitectureThatHasTheUnit) {
  for (const DType dtype : {DType::f16, DType::bf16})
    for (const char* target : kTargets) {
      const std::string name = target;
      EXPECT_EQ(
          find(MatrixUnit::mma, dtype, dtype, DType::f32, DotPrecision::ieee, name) != nullptr,
          name != "sm_75")
          << name;
      EXPECT_EQ(
          find(MatrixUnit::wgmma, dtype, dtype, DType::f32, DotPrecision::ieee, name) != nullptr,
          name == "sm_90a")
          << name;
    }
  EXPECT_EQ(find(MatrixUnit::mma, DType::f16, DType::bf16, DType::f32, DotPrecision::ieee, "sm_80"),
            nullptr);
}

TEST(MatrixUnit, TwoLevelsTakeTheInstructionOfOne) {
  for (const char* target : kTargets)
    for (const DType b : {DType::f8e4m3, DType::f8e5m2}) {
      for (const MatrixUnit unit : {MatrixUnit::mma, MatrixUnit::wgmma}) {
        const auto instruction = [&](DotPrecision precision) {
          return find(unit, DType::f8e4m3, b, DType::f32, precision, target);
        };
        EXPECT_EQ(instruction(DotPrecision::two_level), instruction(DotPrecision::ieee)) << target;
      }
    }
}

}  // namespace
}  // namespace tilewright::codegen
