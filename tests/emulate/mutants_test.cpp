// The emulator reports single mistakes planted in printed kernels as what they are.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "tests/codegen/kernel_list.h"
#include "tests/codegen/kernels_matrix.h"
#include "tests/emulate/emulate_case.h"
#include "tests/emulate/mutants.h"

namespace tilewright::testing {
namespace {

std::vector<KernelCase> mutated_kernels() {
  std::vector<KernelCase> kernels;
  kernels.push_back(product_of("nn", f32, 37, 29, 21));
  kernels.push_back(product_of("tn", f32, 32, 24, 24));
  kernels.push_back(product_bias_gelu(f32, 20, 18, 22));
  kernels.push_back(two_products(18, 20, 22));
  kernels.push_back(chained_products(12, 20, 22, 10));
  kernels.push_back(product_of_exp(18, 20, 22));
  kernels.push_back(transposed_copy(f32, 33, 40));
  kernels.push_back(online_softmax(f32, 9, 40));
  kernels.push_back(row_sum(dense(f32, {37, 50})));
  return kernels;
}

std::vector<KernelCase> mutated_matrix_kernels() {
  std::vector<KernelCase> kernels;
  kernels.push_back(product_of("nn", bf16, 37, 29, 45));
  kernels.push_back(product_of("tt", f16, 64, 48, 64));
  kernels.push_back(product_bias_gelu(bf16, 40, 24, 72));
  kernels.push_back(chained_products(32, 40, 48, 32, f16));
  return kernels;
}

/// Mutants that leave no hazard behind, as was seen by hand.
struct Exception {
  const char* kernel;
  std::vector<MutantKind> kinds;
  const char* reason;
};

const std::vector<Exception>& exceptions() {
  using enum MutantKind;
  static const std::vector<Exception> table = {
      {"chained_products",
       {barrier, wait, commit},
       "the inner loop waits for all groups and has barriers, which order the outer ring as well"},
      {"product_of_exp",
       {barrier},
       "computed tiles are stored behind the wait, and the barrier after that serves both"},
      {"online_softmax", {barrier}, "rounds of the loop store to different columns"}};
  return table;
}

const char* reason_of(const std::string& kernel, MutantKind kind) {
  for (const Exception& exception : exceptions())
    if (kernel == exception.kernel && std::ranges::count(exception.kinds, kind) != 0)
      return exception.reason;
  return nullptr;
}

struct Tally {
  int made = 0, reported = 0, equivalent = 0;
};

// What is planted in a kernel of one config. A guard whose loss neither touches anything it should
// not nor changes a result was not needed: it kept out values that meet zeros or are never stored.
void run_mutants(const KernelCase& kernel, MatrixUnit unit, int stages, size_t every,
                 std::map<MutantKind, Tally>& tallies, std::vector<std::string>& missed) {
  const bool mma = unit == MatrixUnit::mma;
  Config config = emulate_config(
      kernel, mma ? std::vector<int64_t>{32, 16, 16} : std::vector<int64_t>{16, 8, 8}, 2, stages,
      CopyKind::cp_async);
  config.matrix = unit;
  codegen::Plan plan = codegen::lower(kernel.fn, config, parse_target("sm_80"));
  const EmulateResult right = emulate_case(kernel, plan, config);
  EXPECT_TRUE(right.clean()) << describe(kernel, plan) << "\n"
                             << right.emulation.report() << right.difference;
  codegen::KernelStep& step = plan.steps.at(0).kernel;
  const std::vector<Mutant> mutants = mutants_of(step.source, stages);
  static size_t number = 0;
  for (const Mutant& mutant : mutants) {
    if (number++ % every != 0) continue;
    step.source = mutant.source;
    const EmulateResult result = emulate_case(kernel, plan, config);
    Tally& tally = tallies[mutant.kind];
    ++tally.made;
    if (reported(mutant, result.emulation, !result.difference.empty())) {
      ++tally.reported;
    } else if (mutant.kind == MutantKind::guard && result.clean()) {
      ++tally.equivalent;
    } else {
      const char* reason = reason_of(kernel.name, mutant.kind);
      missed.push_back(fmt::format("{} of {}, {} stages, line {}:{} ({})", to_string(mutant.kind),
                                   kernel.name, stages, mutant.line, mutant.before,
                                   reason != nullptr ? reason : "no known reason"));
      EXPECT_TRUE(reason != nullptr && result.clean())
          << missed.back() << "\n"
          << result.emulation.report() << result.difference;
    }
  }
}

// TILEWRIGHT_ALL_MUTANTS=1 runs all of them, else every seventh. Each that is missed must have a
// known reason; they may be a twentieth of all, and a few more of a sample that happens to draw
// them.
TEST(EmulatorMutants, AreReportedAsWhatTheyAre) {
  const size_t every = std::getenv("TILEWRIGHT_ALL_MUTANTS") != nullptr ? 1 : 7;
  std::map<MutantKind, Tally> tallies;
  std::vector<std::string> missed;
  for (const KernelCase& kernel : mutated_kernels())
    for (const int stages : {1, 2, 3})
      run_mutants(kernel, MatrixUnit::fma, stages, every, tallies, missed);
  for (const KernelCase& kernel : mutated_matrix_kernels())
    for (const int stages : {1, 2, 4})
      run_mutants(kernel, MatrixUnit::mma, stages, every, tallies, missed);
  Tally sum;
  for (const auto& [kind, tally] : tallies) {
    fmt::print("{:8}: {} mutants, {} reported, {} equivalent\n", to_string(kind), tally.made,
               tally.reported, tally.equivalent);
    sum.made += tally.made;
    sum.reported += tally.reported;
    sum.equivalent += tally.equivalent;
  }
  fmt::print("all     : {} mutants, {} reported, {} equivalent\n", sum.made, sum.reported,
             sum.equivalent);
  for (const std::string& text : missed) fmt::print("missed  : {}\n", text);
  EXPECT_GE(sum.made * static_cast<int>(every), 200);
  EXPECT_GE(sum.reported * 100, (sum.made - sum.equivalent) * (every == 1 ? 95 : 90));
}

}  // namespace
}  // namespace tilewright::testing
