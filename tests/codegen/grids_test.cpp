// Kernels of several grids: which plans they become.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/codegen/kernels_control.h"
#include "tests/codegen/run_case.h"
#include "tilewright/codegen/grids.h"
#include "tilewright/codegen/plan.h"
#include "tilewright/ir/error.h"

namespace tilewright::testing {
namespace {

using codegen::Buffer;
using codegen::Plan;
using codegen::Step;

Config small_config(const KernelCase& kernel, Config rest = {}) {
  return config_for(kernel, {8, 4}, std::move(rest));
}

std::vector<std::string> names_of(const codegen::KernelStep& step) {
  std::vector<std::string> names;
  for (const codegen::KernelParam& param : step.params) names.push_back(param.name);
  return names;
}

TEST(SeveralGrids, AreStepsInTheirOrder) {
  const KernelCase kernel = two_grids(13, 20);
  const Plan plan = codegen::lower(kernel.fn, small_config(kernel), parse_target("sm_80"));
  ASSERT_EQ(plan.steps.size(), 2u);
  EXPECT_TRUE(plan.steps[0].kernel.symbol.starts_with("two_grids_1_"));
  EXPECT_TRUE(plan.steps[1].kernel.symbol.starts_with("two_grids_2_"));
  EXPECT_EQ(plan.steps[0].kernel.grid->value, 2);
  EXPECT_EQ(plan.steps[1].kernel.grid->value, 2 * 5);
  // Each takes what it touches only.
  EXPECT_EQ(names_of(plan.steps[0].kernel), (std::vector<std::string>{"arg0", "sums"}));
  EXPECT_EQ(names_of(plan.steps[1].kernel), (std::vector<std::string>{"arg0", "sums_2"}));
}

TEST(SeveralGrids, WhatIsNotReturnedIsWorkspaceOfThePlan) {
  const KernelCase kernel = split_product(14, 11, 19, {{"split_k", 3}});
  const Plan plan = codegen::lower(kernel.fn, small_config(kernel), parse_target("sm_80"));
  ASSERT_EQ(plan.buffers.size(), 4u);
  EXPECT_EQ(plan.buffers[2].role, Buffer::Role::parameter);
  EXPECT_EQ(plan.buffers[3].role, Buffer::Role::workspace);
  EXPECT_EQ(plan.buffers[3].bytes->value, 3 * 14 * 11 * 4);
  EXPECT_EQ(plan.workspace_bytes([](const std::string&) { return 0; }), 2048);
  EXPECT_EQ(plan.launches(), 2);
  for (const codegen::KernelParam& param : plan.steps[1].kernel.params)
    EXPECT_EQ(param.source, param.name == "c" ? 2 : 3) << param.name;
}

TEST(SeveralGrids, BarriersOfPersistentGridsMakeOneCooperativeKernel) {
  const KernelCase kernel = shares(11, 24);
  const Config config = small_config(kernel, {.persistent = true});
  Target target = parse_target("sm_80");
  target.multiprocessors = 2;
  const Plan plan = codegen::lower(kernel.fn, config, target);
  ASSERT_EQ(plan.steps.size(), 2u);
  EXPECT_EQ(plan.steps[0].kind, Step::Kind::memset);
  EXPECT_EQ(plan.steps[0].memset.buffer, 4);
  EXPECT_EQ(plan.buffers.at(4).name, "arrivals");
  const codegen::KernelStep& step = plan.steps[1].kernel;
  EXPECT_TRUE(step.cooperative);
  EXPECT_EQ(step.grid->value, 2);
  EXPECT_EQ(step.params.back().name, "arrivals");
  EXPECT_EQ(step.params.back().source, 4);
  // As many blocks as the largest grid can use.
  target.multiprocessors = 100;
  EXPECT_EQ(codegen::lower(kernel.fn, config, target).steps[1].kernel.grid->value, 3 * 3);
}

TEST(SeveralGrids, WithoutBarriersOrWithBulkCopiesTheyStaySteps) {
  const KernelCase unordered = two_grids(13, 20);
  for (const Step& step :
       codegen::lower(unordered.fn, small_config(unordered, {.persistent = true}),
                      parse_target("sm_80"))
           .steps)
    EXPECT_FALSE(step.kernel.cooperative);
  const KernelCase kernel = split_product(16, 16, 64, {});
  const Config config = small_config(kernel, {.copy = CopyKind::tma, .persistent = true});
  const Plan plan = codegen::lower(kernel.fn, config, parse_target("sm_90a"));
  ASSERT_EQ(plan.steps.size(), 2u);
  for (const Step& step : plan.steps) EXPECT_FALSE(step.kernel.cooperative);
}

TEST(SeveralGrids, GetTheFieldsOfTheConfigThatTheyCanUse) {
  const KernelCase kernel = split_product(64, 64, 64, {});
  Config config = small_config(kernel, {.matrix = MatrixUnit::fma});
  config.order = {1, 0};
  const auto parts = codegen::split_grids(kernel.fn, config, parse_target("sm_80"));
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_TRUE(parts[0].config.order.empty());
  EXPECT_EQ(parts[1].config.order, (std::vector<int>{1, 0}));
  config.order = {0, 1, 2, 3};
  EXPECT_THROW(codegen::lower(kernel.fn, config, parse_target("sm_80")), Error);
}

TEST(SeveralGrids, DefaultConfigsFitThem) {
  for (const KernelCase& kernel : kernels_of_grids())
    for (const char* name : {"sm_75", "sm_80", "sm_90a", "sm_120a"}) {
      const Target target = parse_target(name);
      EXPECT_NO_THROW(codegen::lower(kernel.fn, default_config(kernel.fn, target), target))
          << kernel.name;
    }
}

TEST(TilesOfTiles, HaveSeveralOfTheInnerTilesByDefault) {
  const KernelCase kernel = tiles_of_tiles(130, 19);
  const Config config = default_config(kernel.fn, parse_target("sm_80"));
  EXPECT_EQ(config.block, (std::vector<int64_t>{16, 32}));  // of 2 by 4; 19 columns
}

TEST(WhileLoops, PrintAsAPersonWouldWriteThem) {
  const KernelCase kernel = followed_links(7);
  const std::string source =
      codegen::lower(kernel.fn, small_config(kernel), parse_target("sm_80")).steps[0].kernel.source;
  EXPECT_NE(source.find("  while (again) {\n"), std::string::npos) << source;
  EXPECT_NE(source.find("bool again = "), std::string::npos) << source;
}

}  // namespace
}  // namespace tilewright::testing
