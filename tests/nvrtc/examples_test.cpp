// Examples' kernels compile for every kind of target, and rows of all lengths without spills.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "tests/support/example_cases.h"
#include "tilewright/codegen/plan.h"
#include "tilewright/runtime/nvrtc.h"

namespace tilewright::testing {
namespace {

constexpr const char* kTargets[] = {"sm_80", "sm_90a", "sm_100a", "sm_120a"};

std::vector<CompileArg> compile_args(const ExampleCase& one) {
  std::vector<CompileArg> args;
  for (const ExampleInput& input : one.inputs) {
    if (!input.number)
      args.emplace_back(input.spec());
    else
      std::visit([&](auto value) { args.emplace_back(value); }, input.number->constant);
  }
  return args;
}

// Each kernel by its default config for one of the targets, for all with TILEWRIGHT_ALL_CASES=1.
TEST(NvrtcExamples, DefaultConfigsCompile) {
  const bool all = std::getenv("TILEWRIGHT_ALL_CASES") != nullptr;
  std::set<const KernelHandle*> seen;
  for (const ExampleCase& one : example_cases()) {
    if (!seen.insert(one.kernel).second) continue;
    for (size_t t = 0; t < std::size(kTargets); ++t) {
      if (!all && t != seen.size() % std::size(kTargets)) continue;
      const CompiledKernel compiled =
          one.kernel->compile(compile_args(one), parse_target(kTargets[t]));
      EXPECT_GT(compiled.cubin().size(), 0u) << one.name << " " << kTargets[t];
    }
  }
}

TEST(NvrtcExamples, RowsOfEveryLengthNeedNoMemoryForRegisters) {
  for (const int64_t n : {1, 1000, 1001, 12288, 32768, 65536, 1000000}) {
    const CompiledKernel softmax =
        examples::softmax.compile({contiguous_spec(bf16, {4096, n})}, parse_target("sm_90a"));
    EXPECT_EQ(softmax.resources().spill_bytes, 0) << n << " " << to_json(softmax.config());
    const CompiledKernel norm =
        examples::layer_norm.compile({contiguous_spec(f32, {4096, n}), contiguous_spec(f32, {n}),
                                      contiguous_spec(f32, {n}), 1e-5f},
                                     parse_target("sm_90a"));
    EXPECT_EQ(norm.resources().spill_bytes, 0) << n << " " << to_json(norm.config());
  }
}

}  // namespace
}  // namespace tilewright::testing
