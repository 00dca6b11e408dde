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
  for (const KernelCase& kernel : matrix_kernels()) {
    Config config =
        emulate_config(kernel, schedule.blocks, schedule.warps, schedule.stages, schedule.copy);
    config.matrix = MatrixUnit::mma;
    const codegen::Plan plan = codegen::lower(kernel.fn, config, parse_target("sm_80"));
    const std::string& source = plan.steps.at(0).kernel.source;
    const EmulateResult result = emulate_case(kernel, plan, config);
    EXPECT_TRUE(result.clean()) << describe(kernel, plan) << "\n"
                                << result.emulation.report() << result.difference << "\n"
                                << source;
    run += source.find("tw::mma_m16n8k") != std::string::npos;
  }
  EXPECT_GE(run, 30);
}

INSTANTIATE_TEST_SUITE_P(Schedules, MatrixKernels,
                         ::testing::Range<size_t>(0, std::size(kSchedules)));

}  // namespace
}  // namespace tilewright::testing
