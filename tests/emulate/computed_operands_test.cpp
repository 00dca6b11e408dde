// Products whose operands are computed from loaded tiles stay with the matrix unit and with the
// pipeline, and run as printed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "tests/codegen/kernels_computed.h"
#include "tests/emulate/emulate_case.h"

namespace tilewright::testing {
namespace {

struct Schedule {
  const char* name;
  const char* target;
  std::vector<int64_t> tile;  // rows, columns, k
  const char* config;
};

const Schedule kSchedules[] = {
    {"mma", "sm_80", {32, 32, 32}, R"({"block":[],"matrix":"mma","stages":3})"},
    {"mma_pieces", "sm_80", {64, 48, 16}, R"({"block":[],"matrix":"mma","warps":2})"},
    {"mma_overhanging", "sm_80", {24, 20, 12}, R"({"block":[],"matrix":"mma","warps":3})"},
    {"mma_by_registers", "sm_80", {16, 24, 48}, R"({"block":[],"matrix":"mma","copy":"sync"})"},
    {"wgmma", "sm_90a", {64, 32, 32}, R"({"block":[],"copy":"tma","matrix":"wgmma","stages":3})"},
    {"wgmma_rows",
     "sm_90a",
     {128, 32, 64},
     R"({"block":[],"copy":"tma","matrix":"wgmma","warps":8,"persistent":true})"},
    {"wgmma_columns",
     "sm_90a",
     {64, 64, 32},
     R"({"block":[],"copy":"tma","matrix":"wgmma","warps":8,"cluster":2})"},
    {"wgmma_pieces", "sm_90a", {128, 32, 32}, R"({"block":[],"copy":"tma","matrix":"wgmma"})"},
    {"wgmma_transposed",
     "sm_90a",
     {16, 64, 64},
     R"({"block":[],"copy":"tma","matrix":"wgmma","stages":4})"},
    {"wgmma_by_threads", "sm_90a", {64, 32, 32}, R"({"block":[],"matrix":"wgmma","stages":3})"},
};

std::vector<int64_t> blocks_of(const KernelCase& kernel, const std::vector<int64_t>& tile) {
  std::vector<int64_t> blocks;
  for (const ir::Axis& axis : kernel.fn.axes)
    if (!axis.pinned) blocks.push_back(tile[std::min<size_t>(blocks.size(), 2)]);
  return blocks;
}

class ComputedOperands : public ::testing::TestWithParam<Schedule> {};

// TILEWRIGHT_ALL_CASES=1 runs every kernel with every schedule, else every fifth.
TEST_P(ComputedOperands, RunAsPrinted) {
  const Schedule& schedule = GetParam();
  const size_t every = std::getenv("TILEWRIGHT_ALL_CASES") != nullptr ? 1 : 5;
  size_t number = std::string_view(schedule.name).size();  // other kernels with each schedule
  const Target target = parse_target(schedule.target);
  int bulk = 0;
  for (const auto& [m, n, k] : {std::tuple{136, 48, 96}, {128, 64, 128}}) {
    for (const KernelCase& kernel : computed_kernels(m, n, k)) {
      if (number++ % every != 0) continue;
      Config config = parse_config(schedule.config);
      config.block = blocks_of(kernel, schedule.tile);
      codegen::Plan plan;
      try {
        plan = codegen::lower(kernel.fn, config, target);
      } catch (const Error& error) {
        EXPECT_EQ(error.id(), ErrorId::config_unsupported) << kernel.name << error.what();
        continue;
      }
      const std::string& source = plan.steps.at(0).kernel.source;
      const EmulateResult result = emulate_case(kernel, plan, config);
      EXPECT_TRUE(result.clean()) << describe(kernel, plan) << "\n"
                                  << result.emulation.report() << result.difference << "\n"
                                  << source;
      const std::string body = source.substr(source.find("extern \"C\""));
      bulk += body.find("tw::tma_load") != std::string::npos;
    }
  }
  EXPECT_EQ(bulk > 0, parse_config(schedule.config).copy == CopyKind::tma) << bulk;
}

INSTANTIATE_TEST_SUITE_P(Schedules, ComputedOperands, ::testing::ValuesIn(kSchedules),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tilewright::testing
