// Loops and branches that depend on run-time values, and kernels of several grids: as steps of a
// plan and as one cooperative kernel.
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>

#include "tests/codegen/kernels_control.h"
#include "tests/emulate/emulate_case.h"
#include "tests/emulate/hand_kernel.h"
#include "tilewright/tilewright.h"

namespace tilewright::testing {
namespace {

using codegen::Plan;
using runtime::Emulation;
using runtime::FindingKind;

constexpr double kSums = 1e-5;  // relative, of f32 sums in another order

void expect_clean(const KernelCase& kernel, const Plan& plan, const Config& config) {
  const EmulateResult result = emulate_case(kernel, plan, config, kSums);
  EXPECT_TRUE(result.clean()) << describe(kernel, plan) << "\n"
                              << result.emulation.report() << result.difference << "\n"
                              << plan.steps.back().kernel.source;
}

TEST(EmulatedControl, LoopsAndBranches) {
  const std::vector<KernelCase> kernels = control_kernels();
  for (size_t i = 0; i < kernels.size(); ++i) {
    const KernelCase& kernel = kernels[i];
    for (const bool old : {true, false}) {
      // Each on one of the targets; on request on both.
      if (old == (i % 2 == 0) && std::getenv("TILEWRIGHT_ALL_CASES") == nullptr) continue;
      const Config config = emulate_config(kernel, {8, 4}, old ? 1 : 2, old ? 1 : 2,
                                           old ? CopyKind::sync : CopyKind::cp_async);
      const Target target = parse_target(old ? "sm_75" : "sm_80");
      expect_clean(kernel, codegen::lower(kernel.fn, config, target), config);
    }
  }
}

TEST(EmulatedGrids, AreStepsOfAPlan) {
  for (const KernelCase& kernel : kernels_of_grids()) {
    const Config config = emulate_config(kernel, {8, 4}, 2, 2, CopyKind::cp_async);
    const Plan plan = codegen::lower(kernel.fn, config, parse_target("sm_80"));
    EXPECT_EQ(plan.launches(), kernel.name == "shares" ? 3 : 2);
    for (const codegen::Step& step : plan.steps) EXPECT_FALSE(step.kernel.cooperative);
    expect_clean(kernel, plan, config);
  }
}

TEST(EmulatedGrids, AreOneCooperativeKernelWherePersistent) {
  for (const KernelCase& kernel : kernels_of_grids()) {
    Config config = emulate_config(kernel, {4, 8}, 2, 2, CopyKind::cp_async);
    config.persistent = true;
    const Plan plan = codegen::lower(kernel.fn, config, parse_target("sm_80"));
    ASSERT_EQ(plan.steps.size(), 2u) << kernel.name;
    const bool barriers = kernel.name != "two_grids";
    EXPECT_EQ(plan.steps[0].kind == codegen::Step::Kind::memset, barriers) << kernel.name;
    EXPECT_EQ(plan.steps[1].kernel.cooperative, barriers) << kernel.name;
    EXPECT_EQ(plan.steps[1].kernel.source.find("tw::grid_barrier(arrivals);") != std::string::npos,
              barriers);
    expect_clean(kernel, plan, config);
  }
}

const auto shifted = kernel("emulated_shift", [](Tensor x) {
  const int64_t by = tunable("by", {1, 2});
  Tensor between = empty_like(x), y = empty_like(x);
  for (auto i : tile(x.size(0))) between[i] = x[i] * 2;
  barrier();
  for (auto i : grid(x.size(0))) y[i] = between[i + by];
  return y;
});

TEST(EmulatedGrids, RunOnTheEmulatedDevice) {
  const Device device = Device::emulate("sm_80");
  const Array x = Array::from_host(std::vector<float>{1, 2, 3, 4, 5}, {5}, device);
  for (const bool persistent : {false, true}) {
    Config config{.block = {2}, .warps = 1, .persistent = persistent};
    config.tunables["by"] = 2;
    shifted.set_config(config);
    const Array y = shifted(x).to_host();
    const auto values = y.values<float>();
    EXPECT_EQ(std::vector<float>(values.begin(), values.end()),
              (std::vector<float>{6, 8, 10, 0, 0}));
  }
}

// Every barrier of the grid is needed, and nothing else is reported with one more or fewer blocks.
TEST(EmulatedGrids, AMissingBarrierIsARace) {
  const std::string barrier = "tw::grid_barrier(arrivals);";
  std::vector<KernelCase> kernels;
  kernels.push_back(split_product(14, 11, 19, {}));
  kernels.push_back(shares(11, 24));
  kernels.push_back(shifted_in_place(30));
  for (const KernelCase& kernel : kernels) {
    Config config = emulate_config(kernel, {4, 8}, 2, 1, CopyKind::cp_async);
    config.persistent = true;
    Plan plan = codegen::lower(kernel.fn, config, parse_target("sm_80"));
    const std::string printed = plan.steps.at(1).kernel.source;
    for (size_t at = printed.find(barrier); at != std::string::npos;
         at = printed.find(barrier, at + 1)) {
      plan.steps[1].kernel.source = printed;
      plan.steps[1].kernel.source.replace(at, barrier.size(), ";");
      EmulateMemory memory(kernel);
      const Emulation found =
          runtime::emulate(plan, memory.emulator_args(), {.multiprocessors = 3});
      EXPECT_TRUE(found.has(FindingKind::global_race) || found.has(FindingKind::unwritten_output))
          << kernel.name << "\n"
          << found.report();
    }
  }
}

HandKernel meeting(std::string body) {
  HandKernel kernel;
  kernel.body = std::move(body);
  kernel.tensors = 2;
  kernel.written = "ab";
  kernel.grid = 2;
  return kernel;
}

Plan cooperative(const HandKernel& kernel) {
  Plan plan = kernel.plan();
  plan.steps[0].kernel.cooperative = true;
  return plan;
}

Emulation run_plan(const Plan& plan, bool counter_is_zero) {
  std::vector<float> a(64), b(1);
  if (!counter_is_zero) b[0] = std::bit_cast<float>(3);
  const std::vector<runtime::EmulatorArgument> args = {{a.data(), 64, DType::f32, true, true},
                                                       {b.data(), 1, DType::f32, true, true}};
  return runtime::emulate(plan, args, {.multiprocessors = 2});
}

constexpr const char* kExchange =
    "  a[blockIdx.x * 32 + t] = t;\n"
    "  tw::grid_barrier(reinterpret_cast<int*>(b));\n"
    "  a[blockIdx.x * 32 + t] = a[(1 - blockIdx.x) * 32 + t];\n";

TEST(EmulatedGrids, BlocksMeetAtBarriersOfTheGrid) {
  const std::string exchange = kExchange;
  const size_t last = exchange.rfind("  a[");
  const std::string ordered =
      exchange.substr(0, last) +
      "  const float x = a[(1 - blockIdx.x) * 32 + t];\n"
      "  tw::grid_barrier(reinterpret_cast<int*>(b));\n  a[blockIdx.x * 32 + t] = x;\n";
  EXPECT_EQ(run_plan(cooperative(meeting(ordered)), true).report(), "");
  // Nothing orders the reads after the barrier and the writes of the other block.
  EXPECT_TRUE(run_plan(cooperative(meeting(exchange)), true).has(FindingKind::global_race));
}

TEST(EmulatedGrids, BlocksThatAreNotResidentAreADeadlock) {
  const Emulation found = run_plan(meeting(kExchange).plan(), true);
  EXPECT_TRUE(found.has(FindingKind::deadlock)) << found.report();
  EXPECT_NE(found.report().find("wait at a barrier of the grid, at which 32 of 64 threads have "
                                "arrived (blocks that are not resident"),
            std::string::npos)
      << found.report();
}

TEST(EmulatedGrids, PartOfABlockAtABarrierOfTheGrid) {
  const Emulation found = run_plan(
      cooperative(meeting("  if (t < 16) tw::grid_barrier(reinterpret_cast<int*>(b));\n")), true);
  EXPECT_TRUE(found.has(FindingKind::deadlock)) << found.report();
}

TEST(EmulatedGrids, TheCounterOfArrivalsStartsAtZero) {
  const Emulation found = run_plan(cooperative(meeting(kExchange)), false);
  EXPECT_TRUE(found.has(FindingKind::barrier_misuse)) << found.report();
}

TEST(EmulatedControl, ALoopThatDoesNotEndIsReported) {
  ::setenv("TILEWRIGHT_MAX_STEPS", "500", 1);
  HandKernel kernel;
  kernel.body = "  int again = 1;\n  while (again > 0) {\n    again += 2;\n    again -= 2;\n  }\n";
  const Emulation found = kernel.run(32);
  ::unsetenv("TILEWRIGHT_MAX_STEPS");
  EXPECT_TRUE(found.has(FindingKind::endless_loop)) << found.report();
  EXPECT_NE(found.report().find("500 iterations of while loops"), std::string::npos);
}

}  // namespace
}  // namespace tilewright::testing
