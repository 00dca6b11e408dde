// Kernels that multiply with the matrix instructions of a warp run as printed, with no report and
// the interpreter's results.
#include <gtest/gtest.h>

#include "tests/codegen/kernels_matrix.h"
#include "tests/emulate/emulate_case.h"
#include "tilewright/ir/error.h"

namespace tilewright::testing {
namespace {

struct Schedule {
  std::vector<int64_t> blocks;
  int warps, stages;
  CopyKind copy = CopyKind::cp_async;
};

// Blocks of whole pieces and steps; several of each along every dimension; pieces that overhang;
// depths that are no whole steps.
const Schedule kSchedules[] = {
    {{32, 32, 16}, 2, 2},
    {{64, 16, 32}, 4, 3},
    {{16, 64, 64}, 2, 4},
    {{48, 40, 32}, 3, 2},
    {{16, 8, 16}, 4, 3, CopyKind::sync},
    {{24, 20, 12}, 1, 2},
};

class MatrixKernels : public ::testing::TestWithParam<size_t> {};

TEST_P(MatrixKernels, RunAsPrinted) {
  const Schedule& schedule = kSchedules[GetParam()];
  int run = 0;
  const std::vector<KernelCase> kernels = matrix_kernels();
  // Each kernel with half of the schedules.
  for (size_t i = GetParam() % 2; i < kernels.size(); i += 2) {
    const KernelCase& kernel = kernels[i];
    Config config =
        emulate_config(kernel, schedule.blocks, schedule.warps, schedule.stages, schedule.copy);
    config.matrix = MatrixUnit::mma;
    const codegen::Plan plan = codegen::lower(kernel.fn, config, parse_target("sm_89"));
    const std::string& source = plan.steps.at(0).kernel.source;
    const EmulateResult result = emulate_case(kernel, plan, config);
    EXPECT_TRUE(result.clean()) << describe(kernel, plan) << "\n"
                                << result.emulation.report() << result.difference << "\n"
                                << source;
    run += source.find("tw::mma_m16n8k") != std::string::npos;
  }
  EXPECT_GE(run, 20);
}

// What three products of halves of operands give, and sums of sums, is rounded otherwise than by
// the interpreter, which goes on in increasing k.
TEST(MatrixPrecision, OfTwoLevelsAndThreeProductsRunAsPrinted) {
  const auto check = [](const KernelCase& kernel, double tolerance, double absolute) {
    Config config = emulate_config(kernel, {32, 16, 32}, 2, 2, CopyKind::cp_async);
    config.matrix = MatrixUnit::mma;
    const codegen::Plan plan = codegen::lower(kernel.fn, config, parse_target("sm_89"));
    EXPECT_NE(plan.steps.at(0).kernel.source.find("tw::mma_m16n8k"), std::string::npos);
    const EmulateResult result = emulate_case(kernel, plan, config, tolerance, absolute);
    EXPECT_TRUE(result.clean()) << describe(kernel, plan) << "\n"
                                << result.emulation.report() << result.difference << "\n"
                                << plan.steps.at(0).kernel.source;
  };
  check(scaled_product(f8e4m3, f8e5m2, 36, 40, 100), 0x1p-7, 0);  // of bf16
  check(scaled_product(f8e5m2, f8e4m3, 20, 24, 64), 0x1p-7, 0);
  // 4 sqrt(k) eps sum |a| |b|, numbers being up to 1; plain TF32 would be off by 1e-3.
  check(tf32_product("nt", 36, 40, 52, tf32x3), 0, 4.5e-5);
  check(tf32_product("nn", 36, 40, 52, tf32x3), 0, 4.5e-5);
}

// What is past the end of k, or in rows of other tiles, is never multiplied.
TEST(MatrixEdges, IgnoreWhatIsOutside) {
  for (const auto& [m, n, k] : {std::tuple{37, 24, 40}, {40, 20, 21}, {64, 64, 64}}) {
    const KernelCase kernel =
        product(strided(bf16, {m, k}, {k + 8, 1}), strided(bf16, {k, n}, {n + 4, 1}));
    for (const CopyKind copy : {CopyKind::cp_async, CopyKind::sync}) {
      Config config = emulate_config(kernel, {32, 16, 32}, 2, 2, copy);
      config.matrix = MatrixUnit::mma;
      const codegen::Plan plan = codegen::lower(kernel.fn, config, parse_target("sm_80"));
      EmulateMemory expected(kernel), found(kernel);
      for (EmulateMemory* memory : {&expected, &found}) memory->spoil_gaps();
      interpret(kernel.fn, expected.interpreter_args(), {.block = config.block});
      const runtime::Emulation emulation = runtime::emulate(plan, found.emulator_args());
      EXPECT_EQ(emulation.report(), "");
      EXPECT_EQ(found.difference(expected, 0), "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Schedules, MatrixKernels,
                         ::testing::Range<size_t>(0, std::size(kSchedules)));

}  // namespace
}  // namespace tilewright::testing
