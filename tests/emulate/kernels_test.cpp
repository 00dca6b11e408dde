// Every kernel of the list and of the examples runs as printed, with no report and the
// interpreter's results.
#include <gtest/gtest.h>

#include <cstdlib>

#include "examples/kernels/linear.h"
#include "examples/kernels/matmul.h"
#include "examples/kernels/row_minmax.h"
#include "examples/kernels/row_sum.h"
#include "examples/kernels/saxpy.h"
#include "examples/kernels/softmax.h"
#include "examples/kernels/vector_add.h"
#include "tests/codegen/kernel_list.h"
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

// Small blocks, so that rings wrap and every dimension has several tiles; ragged and dividing.
const Schedule kSchedules[] = {
    {"sm_75", {16, 8, 8}, 2, 1, CopyKind::sync},
    {"sm_75", {6, 12, 10}, 1, 2, CopyKind::sync},
    {"sm_80", {16, 8, 4}, 2, 1, CopyKind::cp_async},
    {"sm_80", {8, 16, 4}, 4, 2, CopyKind::cp_async},
    {"sm_80", {3, 5, 3}, 1, 3, CopyKind::cp_async},
};

void expect_clean(const KernelCase& kernel, const codegen::Plan& plan, const Config& config) {
  const EmulateResult result = emulate_case(kernel, plan, config);
  EXPECT_TRUE(result.clean()) << describe(kernel, plan) << "\n"
                              << result.emulation.report() << result.difference << "\n"
                              << plan.steps.at(0).kernel.source;
}

// Tests of a part of the list each, which run at one time.
constexpr size_t kParts = 4;

class EveryKernel : public ::testing::TestWithParam<std::tuple<size_t, size_t>> {};

TEST_P(EveryKernel, RunsAsPrinted) {
  const auto [number, part] = GetParam();
  const Schedule& schedule = kSchedules[number];
  const std::vector<KernelCase> kernels = every_kernel();
  // TILEWRIGHT_ALL_CASES=1 runs every kernel with every schedule, else every third.
  const size_t every = std::getenv("TILEWRIGHT_ALL_CASES") != nullptr ? 1 : 3;
  size_t run = 0;
  for (size_t i = part; i < kernels.size(); i += kParts) {
    if ((i / kParts + number) % every != 0) continue;
    const KernelCase& kernel = kernels[i];
    const Config config =
        emulate_config(kernel, schedule.blocks, schedule.warps, schedule.stages, schedule.copy);
    try {
      expect_clean(kernel, codegen::lower(kernel.fn, config, parse_target(schedule.target)),
                   config);
      ++run;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::config) << error.what();
    }
  }
  EXPECT_GT(run * every, 8u);
}

INSTANTIATE_TEST_SUITE_P(Schedules, EveryKernel,
                         ::testing::Combine(::testing::Range<size_t>(0, std::size(kSchedules)),
                                            ::testing::Range<size_t>(0, kParts)));

// The examples by their own handles, on the emulated device, with default configs.
TEST(Examples, RunOnTheEmulatedDevice) {
  for (const char* architecture : {"sm_75", "sm_80"}) {
    const Device device = Device::emulate(architecture);
    std::vector<float> values(33 * 17);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) - 3;
    const auto on = [&](Device where, std::vector<int64_t> sizes) {
      size_t count = 1;
      for (const int64_t size : sizes) count *= static_cast<size_t>(size);
      return Array::from_host(std::span<const float>(values.data(), count), sizes, where);
    };
    const auto check = [&](const auto& call) {
      const Array emulated = call(device).to_host(), expected = call(Device::cpu());
      for (int64_t i = 0; i < expected.elements(); ++i)
        ASSERT_NEAR(emulated.value(i), expected.value(i), 1e-5) << architecture << " " << i;
    };
    check([&](Device d) { return examples::matmul(on(d, {33, 17}), on(d, {17, 29})); });
    check([&](Device d) {
      return examples::linear_gelu(on(d, {33, 17}), on(d, {17, 29}), on(d, {29}));
    });
    check([&](Device d) { return examples::vector_add(on(d, {100}), on(d, {100})); });
    check([&](Device d) { return examples::row_sum(on(d, {21, 26})); });
    check([&](Device d) { return examples::softmax(on(d, {9, 33})); });
    check([&](Device d) { return std::get<0>(examples::row_minmax(on(d, {9, 33}))); });
    check([&](Device d) {
      Array y = on(d, {90});
      examples::saxpy(2.5f, on(d, {90}), y);
      return y.to_host();
    });
  }
}

}  // namespace
}  // namespace tilewright::testing
