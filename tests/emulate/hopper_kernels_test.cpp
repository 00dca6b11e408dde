// Printed kernels of sm_90a run without a report and with the interpreter's results; single
// mistakes planted in them are reported.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <map>
#include <regex>
#include <sstream>

#include "tests/codegen/kernel_list.h"
#include "tests/emulate/emulate_case.h"
#include "tilewright/runtime/emulator_prelude.h"

namespace tilewright::testing {
namespace {

/// sm_90a with few multiprocessors, so that persistent blocks have several tiles.
Target small_hopper() {
  Target target = parse_target("sm_90a");
  target.multiprocessors = 2;
  return target;
}

struct Schedule {
  std::vector<int64_t> blocks;
  int warps, stages, cluster;
  bool persistent;
  int turns = 1;
};

const Schedule kSchedules[] = {{{128, 64, 64}, 8, 3, 1, true},
                               {{128, 64, 64}, 8, 2, 2, true},
                               {{64, 64, 64}, 4, 2, 1, false},
                               {{64, 64, 64}, 4, 3, 2, true, 2}};

Config config_of(const KernelCase& kernel, const Schedule& schedule) {
  Config config =
      emulate_config(kernel, schedule.blocks, schedule.warps, schedule.stages, CopyKind::tma);
  config.matrix = MatrixUnit::wgmma;
  config.persistent = schedule.persistent;
  config.turns = schedule.turns;
  config.cluster = schedule.cluster;
  return config;
}

std::vector<KernelCase> hopper_kernels() {
  std::vector<KernelCase> kernels;
  kernels.push_back(product_of("nn", bf16, 264, 136, 200));
  kernels.push_back(product_of("nt", f16, 264, 136, 200));
  return kernels;
}

TEST(HopperKernels, RunAsPrinted) {
  for (const KernelCase& kernel : hopper_kernels())
    for (const Schedule& schedule : kSchedules) {
      const Config config = config_of(kernel, schedule);
      const codegen::Plan plan = codegen::lower(kernel.fn, config, small_hopper());
      EXPECT_NE(plan.steps.at(0).kernel.source.find("tw::wgmma_m64n"), std::string::npos);
      const EmulateResult result = emulate_case(kernel, plan, config);
      EXPECT_TRUE(result.clean()) << describe(kernel, plan) << "\n"
                                  << result.emulation.report() << result.difference << "\n"
                                  << plan.steps.at(0).kernel.source;
    }
}

// Groups that take turns have memory of their own for what they exchange: a transposed product's
// halves here, and panels of what is stored late.
TEST(HopperKernels, TakeTurns) {
  const auto run = [](const KernelCase& kernel, const Schedule& schedule) {
    const Config config = config_of(kernel, schedule);
    const codegen::Plan plan = codegen::lower(kernel.fn, config, small_hopper());
    const EmulateResult result = emulate_case(kernel, plan, config);
    EXPECT_TRUE(result.clean()) << describe(kernel, plan) << "\n"
                                << result.emulation.report() << result.difference << "\n"
                                << plan.steps.at(0).kernel.source;
  };
  run(product_of("nn", bf16, 40, 456, 72), {{16, 64, 32}, 4, 2, 1, true, 2});
  run(product_bias_gelu(bf16, 264, 136, 72), {{64, 32, 32}, 4, 2, 1, true, 2});
  run(product_of("nt", f16, 520, 136, 72), {{128, 64, 32}, 8, 3, 1, true, 2});
}

/// A way to change a line, by a regular expression; every line that it fits gives a mutant.
struct Rule {
  const char* name;
  const char* pattern;
  const char* replacement;
};

const Rule kRules[] = {
    {"wait removed", R"(tw::barrier_wait\(.*\);)", ";"},
    {"parity flipped", R"((tw::barrier_wait\(.*)\);)", "$1 ^ 1);"},
    {"arrival dropped", R"(tw::barrier_arrive(_at)?\(.*\);)", ";"},
    {"arrival at the next slot's", R"(ring\.previous\(\))", "ring.stage"},
    {"more bytes expected", R"((tw::barrier_expect\(.*)\);)", "$1 + 16);"},
    {"fewer bytes expected", R"((tw::barrier_expect\(.*)\);)", "$1 - 16);"},
    {"one arrival more", R"((tw::barrier_init\(.*)\);)", "$1 + 1);"},
    {"one arrival less", R"((tw::barrier_init\(&shared.empty.*)\);)", "$1 - 1);"},
    {"initialization not fenced", R"(tw::barrier_init_fence\(\);)", ";"},
    {"cluster barrier removed", R"(tw::cluster_sync\(\);)", ";"},
    {"block barrier removed", R"(__syncthreads\(\);)", ";"},
    {"warps not together", R"(__syncwarp\(\);)", ";"},
    {"named barrier removed", R"(tw::sync_warps\(.*\);)", ";"},
    {"product fence removed", R"(tw::wgmma_fence\(\);)", ";"},
    {"commit removed", R"(tw::wgmma_commit\(\);)", ";"},
    {"wait for products removed", R"(tw::wgmma_wait<\d>\(\);)", ";"},
    {"wait for products loosened", R"(tw::wgmma_wait<0>)", "tw::wgmma_wait<1>"},
    {"wait for products loosened", R"(tw::wgmma_wait<1>)", "tw::wgmma_wait<2>"},
    {"proxy fence removed", R"(tw::fence_async_shared\(\);)", ";"},
    {"store group removed", R"(tw::tma_store_commit\(\);)", ";"},
    {"wait for stores removed", R"(tw::tma_store_wait(_read)?<\d>\(\);)", ";"},
    {"wait for stores loosened", R"(tw::tma_store_wait_read<1>)", "tw::tma_store_wait_read<2>"},
    {"another swizzle", R"(_major<128>)", "_major<64>"},
    {"registers kept", R"(tw::registers_down<\d+>\(\);)", ";"},
    {"too many registers", R"(tw::registers_up<\d+>)", "tw::registers_up<248>"},
    {"half of the cluster", R"((tw::tma_load_multicast\(.*&shared.full\[ring.stage\], )3)", "$011"},
};

// What leaves no hazard behind where a block has one tile, as was seen by hand: nobody waits for
// the last arrivals, nothing was stored before, and two rounds of a ring do not use up spare
// arrivals.
bool needs_several_tiles(const std::string& name) {
  return name == "one arrival less" || name == "arrival dropped" ||
         name == "arrival at the next slot's" || name == "wait for stores removed" ||
         name == "named barrier removed";
}

struct PlantedMistake {
  std::string name, line, source;
};

std::vector<PlantedMistake> mistakes_in(const std::string& source) {
  const size_t begin = source.size() - runtime::kernel_body(source).size();
  std::vector<std::string> lines;
  std::istringstream stream(source.substr(begin));
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::vector<PlantedMistake> made;
  for (size_t i = 0; i < lines.size(); ++i)
    for (const Rule& rule : kRules) {
      const std::string changed =
          std::regex_replace(lines[i], std::regex(rule.pattern), rule.replacement);
      if (changed == lines[i] || lines[i].find_first_not_of(' ') == lines[i].find("//")) continue;
      std::vector<std::string> all = lines;
      all[i] = changed;
      made.push_back({rule.name, lines[i],
                      source.substr(0, begin) + fmt::format("{}\n", fmt::join(all, "\n"))});
    }
  return made;
}

// TILEWRIGHT_ALL_MUTANTS=1 runs all of them, else every ninth.
TEST(HopperKernels, MistakesInThemAreReported) {
  const size_t every = std::getenv("TILEWRIGHT_ALL_MUTANTS") != nullptr ? 1 : 9;
  int made = 0, reported = 0;
  size_t number = 0;
  for (const KernelCase& kernel : hopper_kernels())
    for (const Schedule& schedule : kSchedules) {
      const Config config = config_of(kernel, schedule);
      codegen::Plan plan = codegen::lower(kernel.fn, config, small_hopper());
      codegen::KernelStep& step = plan.steps.at(0).kernel;
      for (const PlantedMistake& mistake : mistakes_in(step.source)) {
        if (number++ % every != 0) continue;
        step.source = mistake.source;
        const EmulateResult result = emulate_case(kernel, plan, config);
        ++made;
        if (!result.emulation.findings.empty()) {
          ++reported;
          continue;
        }
        EXPECT_TRUE(needs_several_tiles(mistake.name) && !config.persistent && result.clean())
            << mistake.name << ": " << mistake.line << "\n"
            << to_json(config) << " " << result.difference;
      }
    }
  fmt::print("{} mutants, {} reported\n", made, reported);
  EXPECT_GE(made * static_cast<int>(every), 150);
  EXPECT_GE(reported * 100, made * 90);
}

}  // namespace
}  // namespace tilewright::testing
