// Gathers, scatters, masks, views and atomics as printed: no report, and the interpreter's results.
// Mistakes in them are reported.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/codegen/kernels_memory.h"
#include "tests/emulate/emulate_case.h"
#include "tilewright/ir/error.h"

namespace tilewright::testing {
namespace {

struct Schedule {
  const char* target;
  std::vector<int64_t> blocks;
  int warps, stages;
  CopyKind copy;
};

const Schedule kSchedules[] = {{"sm_75", {4, 8, 8}, 2, 1, CopyKind::sync},
                               {"sm_90a", {8, 16, 4}, 1, 2, CopyKind::cp_async},
                               {"sm_80", {3, 5, 3}, 4, 3, CopyKind::cp_async}};

class EmulatedMemory : public ::testing::TestWithParam<int> {};

// Each kernel with one schedule, all of them with TILEWRIGHT_ALL_CASES=1.
TEST_P(EmulatedMemory, RunsAsPrinted) {
  const bool all = std::getenv("TILEWRIGHT_ALL_CASES") != nullptr;
  std::vector<KernelCase> kernels = memory_kernels();
  for (KernelCase& kernel : atomic_kernels()) kernels.push_back(std::move(kernel));
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (!all && static_cast<int>(i % std::size(kSchedules)) != GetParam()) continue;
    const KernelCase& kernel = kernels[i];
    const Schedule& schedule = kSchedules[GetParam()];
    const Config config =
        emulate_config(kernel, schedule.blocks, schedule.warps, schedule.stages, schedule.copy);
    try {
      const codegen::Plan plan = codegen::lower(kernel.fn, config, parse_target(schedule.target));
      const EmulateResult result = emulate_case(kernel, plan, config);
      EXPECT_TRUE(result.clean()) << describe(kernel, plan) << "\n"
                                  << result.emulation.report() << result.difference << "\n"
                                  << plan.steps.back().kernel.source;
    } catch (const Error& error) {
      ADD_FAILURE() << kernel.name << ": " << error.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Schedules, EmulatedMemory,
                         ::testing::Range<int>(0, std::size(kSchedules)));

// Sums in the registers of matrix units, added up by atomics.
TEST(EmulatedAtomics, AddUpWhatMatrixUnitsMake) {
  const KernelCase kernel = split_product(bf16, 128, 64, 128);
  Config mma{.block = {32, 32, 32}, .stages = 2, .matrix = MatrixUnit::mma};
  Config wgmma{.block = {64, 64, 32},
               .warps = 4,
               .stages = 2,
               .copy = CopyKind::tma,
               .matrix = MatrixUnit::wgmma};
  for (const auto& [target, config] : {std::pair{"sm_80", mma}, std::pair{"sm_90a", wgmma}}) {
    const codegen::Plan plan = codegen::lower(kernel.fn, config, parse_target(target));
    EXPECT_NE(plan.steps.back().kernel.source.find("tw::red_add_f32"), std::string::npos);
    const EmulateResult result = emulate_case(kernel, plan, config, 1e-4, 1e-3);
    EXPECT_TRUE(result.clean()) << describe(kernel, plan) << "\n"
                                << result.emulation.report() << result.difference << "\n"
                                << plan.steps.back().kernel.source;
  }
}

/// The report of the kernel printed for sm_80 with `from` replaced by `to` in its text.
std::string report_of_mutant(const KernelCase& kernel, const std::string& from,
                             const std::string& to) {
  const Config config = emulate_config(kernel, {8}, 1, 1, CopyKind::sync);
  codegen::Plan plan = codegen::lower(kernel.fn, config, parse_target("sm_80"));
  std::string& source = plan.steps.back().kernel.source;
  const size_t at = source.find(from, source.find("__global__"));
  EXPECT_NE(at, std::string::npos) << from << " in " << source;
  source.replace(at, from.size(), to);
  return emulate_case(kernel, plan, config).emulation.report();
}

TEST(MemoryChecks, AStoreInPlaceOfAnAtomicIsARace) {
  const std::string report =
      report_of_mutant(histogram(i32, 50), "tw::red_add_i32(&counts[",
                       "[](int* at, int value) { *at = *at + value; }(&counts[");
  EXPECT_NE(report.find("race on a tensor"), std::string::npos) << report;
}

TEST(MemoryChecks, DataPassedByARelaxedAtomicIsARace) {
  const Config config = emulate_config(last_adds_up(64, Order::relaxed), {8}, 1, 1, CopyKind::sync);
  for (const auto& [order, races] : {std::pair{Order::relaxed, true},
                                     {Order::acquire, true},
                                     {Order::release, true},
                                     {Order::acq_rel, false}}) {
    const KernelCase kernel = last_adds_up(64, order);
    const codegen::Plan plan = codegen::lower(kernel.fn, config, parse_target("sm_80"));
    const std::string report = emulate_case(kernel, plan, config).emulation.report();
    EXPECT_EQ(report.find("race on a tensor") != std::string::npos, races) << report;
  }
}

TEST(MemoryChecks, AnAtomicOnWhatNobodyWroteIsReported) {
  const KernelCase kernel = make_case("unset",
                                      [](Tensor x) {
                                        Tensor y = empty({1}, f32);
                                        for (auto i : grid(x.size(0))) atomic_add(y[0], x[i]);
                                        return y;
                                      },
                                      {dense(f32, {4})});
  const Config config = emulate_config(kernel, {1}, 1, 1, CopyKind::sync);
  const codegen::Plan plan = codegen::lower(kernel.fn, config, parse_target("sm_80"));
  const std::string report = emulate_case(kernel, plan, config).emulation.report();
  EXPECT_NE(report.find("result read before anything was written"), std::string::npos) << report;
}

TEST(MemoryChecks, ALostGuardOfAGatherIsOutOfBounds) {
  const std::string report = report_of_mutant(gather_elements(8, 8), " >= 0 ", " >= -1000 ");
  EXPECT_NE(report.find("out of bounds"), std::string::npos) << report;
}

}  // namespace
}  // namespace tilewright::testing
