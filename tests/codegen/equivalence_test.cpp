// Every stage of the compiler computes what the traced kernel does.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/codegen/run_case.h"
#include "tilewright/codegen/passes.h"
#include "tilewright/codegen/print_cuda.h"
#include "tilewright/ir/error.h"
#include "tilewright/ir/print.h"
#include "tilewright/ir/verify.h"

namespace tilewright::testing {
namespace {

using codegen::LaidOut;
using codegen::TilePass;

struct NamedConfig {
  std::vector<int64_t> blocks;
  Config rest;
};

Config schedule_of(int warps, int stages, CopyKind copy, int group = 1) {
  Config config;
  config.warps = warps;
  config.stages = stages;
  config.copy = copy;
  config.group = group;
  return config;
}

/// Blocks that divide and that do not, odd ones, ones larger than the tensors; all counts of stages
/// and warps, both copies.
const std::vector<NamedConfig>& configs() {
  static const std::vector<NamedConfig> table = {
      {{16, 16, 8}, schedule_of(1, 1, CopyKind::sync)},
      {{16, 8, 16}, schedule_of(4, 2, CopyKind::cp_async, 2)},
      {{3}, schedule_of(1, 3, CopyKind::cp_async)},
      {{8, 32, 4}, schedule_of(2, 4, CopyKind::cp_async)},
      {{6, 12, 10}, schedule_of(2, 2, CopyKind::sync)},
      {{32, 5, 7}, schedule_of(8, 3, CopyKind::cp_async, 3)},
      {{1, 24, 20}, schedule_of(1, 2, CopyKind::cp_async)},
      {{24, 1, 12}, schedule_of(4, 1, CopyKind::cp_async)},
      {{12, 20, 6}, schedule_of(3, 3, CopyKind::sync)},
      {{96, 64, 32}, schedule_of(8, 2, CopyKind::sync, 8)},
      {{40, 100, 16}, schedule_of(4, 3, CopyKind::cp_async)},
  };
  return table;
}

std::string describe(const KernelCase& kernel, const Config& config) {
  std::string text = kernel.name;
  for (const ir::Param& param : kernel.fn.params)
    if (param.is_tensor()) text += " " + to_string(param.spec);
  return text + " " + to_json(config);
}

TEST(Equivalence, TilePassesKeepEveryBit) {
  for (const KernelCase& kernel : every_kernel())
    for (const NamedConfig& named : configs()) {
      const Config config = config_for(kernel, named.blocks, named.rest);
      SCOPED_TRACE(describe(kernel, config));
      CaseMemory expected(kernel, false);
      interpret(kernel.fn, expected.args(), {.block = config.block});
      const std::vector<bool> written = codegen::written_params(kernel.fn);
      ir::Function fn =
          ir::Rewriter::run(kernel.fn, [](ir::Rewriter&, const ir::Op&) { return false; });
      const auto check = [&](const char* pass) {
        CaseMemory found(kernel, false);
        try {
          // The first passes run before block sizes are bound.
          const bool bound = std::all_of(fn.axes.begin(), fn.axes.end(),
                                         [](const ir::Axis& axis) { return axis.block > 0; });
          interpret(fn, found.args(), {.block = bound ? std::vector<int64_t>() : config.block});
        } catch (const std::exception& error) {
          ADD_FAILURE() << "after " << pass << ": " << error.what() << "\n" << ir::print(fn);
          return false;
        }
        const std::string difference = found.difference(expected);
        EXPECT_EQ(difference, "") << "after " << pass << "\n" << ir::print(fn);
        return difference.empty();
      };
      bool right = true;
      for (const TilePass& pass : codegen::tile_passes(config, parse_target("sm_80"), written)) {
        try {
          fn = pass.run(fn);
          ir::verify(fn, pass.name);
        } catch (const std::exception& error) {
          ADD_FAILURE() << pass.name << ": " << error.what();
          right = false;
        }
        if (right) right = check(pass.name);
        if (!right) break;
      }
      if (!right) continue;
      try {
        LaidOut laid_out = codegen::assign_layouts(fn, config, parse_target("sm_80"));
        fn = std::move(laid_out.fn);
        ir::verify(fn, "assign_layouts");
      } catch (const std::exception& error) {
        ADD_FAILURE() << "assign_layouts: " << error.what();
        continue;
      }
      check("assign_layouts");
    }
}

class EveryConfig : public ::testing::TestWithParam<size_t> {};

TEST_P(EveryConfig, KernelIrComputesTheSame) {
  const Target target = parse_target("sm_80");
  // TILEWRIGHT_ALL_CASES=1 runs every kernel with every config, else every second.
  const size_t every = std::getenv("TILEWRIGHT_ALL_CASES") != nullptr ? 1 : 2;
  int run = 0, refused = 0;
  size_t number = GetParam();
  for (const KernelCase& kernel : every_kernel()) {
    if (number++ % every != 0) continue;
    const NamedConfig& named = configs().at(GetParam());
    const Config config = config_for(kernel, named.blocks, named.rest);
    SCOPED_TRACE(describe(kernel, config));
    // Sums that are exact do not depend on their order.
    const bool whole = reduces(kernel);
    CaseMemory expected(kernel, whole), found(kernel, whole);
    try {
      const codegen::Lowered lowered = codegen::lower_to_kernel_ir(kernel.fn, config, target);
      interpret(kernel.fn, expected.args(), {.block = config.block});
      const Emulation emulation = emulate(lowered.kernel, found.args());
      std::string problem = emulation.errors.empty() ? "" : emulation.errors[0];
      if (problem.empty()) problem = found.difference(expected, tolerance_of(kernel));
      EXPECT_EQ(problem, "") << codegen::print_cuda(lowered.kernel, target);
      ++run;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::config) << error.what();
      ++refused;
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
  // Configs that ask for too much are refused; that must stay the exception.
  EXPECT_LE(refused * 20, run) << refused << " refused, " << run << " run";
}

INSTANTIATE_TEST_SUITE_P(Equivalence, EveryConfig, ::testing::Range<size_t>(0, configs().size()));

}  // namespace
}  // namespace tilewright::testing
