// Plans of several kernels and workspace: padded copies of operands, and the kernel that reads
// them.
#include <gtest/gtest.h>

#include "tests/codegen/kernel_list.h"
#include "tests/emulate/emulate_case.h"
#include "tilewright/codegen/passes.h"
#include "tilewright/codegen/repitch.h"
#include "tilewright/ir/error.h"

namespace tilewright::testing {
namespace {

void expect_clean(const KernelCase& kernel, const Config& config, const char* target) {
  const codegen::Plan plan = codegen::lower(kernel.fn, config, parse_target(target));
  const EmulateResult result = emulate_case(kernel, plan, config);
  EXPECT_TRUE(result.clean()) << describe(kernel, plan) << "\n"
                              << result.emulation.report() << result.difference;
}

Config repitched(const KernelCase& kernel, const std::vector<int64_t>& blocks, CopyKind copy) {
  Config config = emulate_config(kernel, blocks, 2, 2, copy);
  config.repitch = true;
  return config;
}

TEST(Repitch, EveryKernelWithSuchOperands) {
  int run = 0;
  for (const KernelCase& kernel : every_kernel()) {
    if (codegen::params_to_repitch(kernel.fn, codegen::written_params(kernel.fn)).empty()) continue;
    try {
      expect_clean(kernel, repitched(kernel, {16, 8, 8}, CopyKind::cp_async), "sm_80");
      ++run;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::config) << error.what();
    }
  }
  EXPECT_GT(run, 5);
}

TEST(Repitch, AnyStridesAndAlignment) {
  const std::vector<std::pair<KernelArg, KernelArg>> operands = {
      {dense(bf16, {33, 17}), dense(bf16, {17, 29})},
      {transposed(bf16, 33, 17), transposed(bf16, 17, 29)},
      {dense(f32, {33, 20}, 4), dense(f32, {20, 29}, 8)},
      {strided(f16, {9, 17}, {40, 2}), strided(f16, {17, 8}, {0, 1}, 2)},
      {strided(f32, {9, 17}, {18, 1}, 8), strided(f32, {17, 30}, {32, 1}, 8)},
      {dense(i8, {40, 70}), dense(i8, {70, 3})}};
  for (const auto& [a, b] : operands) {
    const KernelCase kernel = product(a, b);
    expect_clean(kernel, repitched(kernel, {16, 16, 8}, CopyKind::cp_async), "sm_80");
    expect_clean(kernel, repitched(kernel, {16, 16, 8}, CopyKind::sync), "sm_75");
  }
}

// Rows longer than a tile of the copy, and more of them than one tile has.
TEST(Repitch, CopiesOfManyTiles) {
  const KernelCase kernel = product(dense(bf16, {19, 1100}), dense(bf16, {1100, 5}));
  expect_clean(kernel, repitched(kernel, {32, 8, 128}, CopyKind::cp_async), "sm_80");
}

}  // namespace
}  // namespace tilewright::testing
