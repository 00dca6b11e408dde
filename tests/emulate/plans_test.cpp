// Plans of several steps, workspace and fills in the emulator, and kernels under a sanitizer.
#include <gtest/gtest.h>

#include "tests/emulate/hand_kernel.h"
#include "tests/support/run_command.h"

namespace tilewright::testing {
namespace {

using runtime::Emulation;
using runtime::FindingKind;

codegen::Step kernel_step(const std::string& symbol, std::vector<codegen::KernelParam> params,
                          const std::string& signature, const std::string& body, int64_t grid) {
  codegen::Step step;
  step.kernel.symbol = symbol;
  step.kernel.source = "extern \"C\" __global__ void __launch_bounds__(32)\n" + symbol + "(" +
                       signature + ") {\n  const int i = blockIdx.x * 32 + threadIdx.x;\n" + body +
                       "}\n";
  step.kernel.params = std::move(params);
  step.kernel.grid = codegen::integer(grid);
  step.kernel.threads = 32;
  return step;
}

/// b = sums of four neighbours of a, by way of partial sums in workspace; `fill`: the workspace is
/// set to zero first, and the partial sums are added to it.
codegen::Plan two_steps(bool fill, const std::string& add) {
  codegen::Plan plan;
  plan.name = "two_steps";
  plan.buffers = {{codegen::Buffer::Role::parameter, "a", codegen::integer(512)},
                  {codegen::Buffer::Role::parameter, "b", codegen::integer(128)},
                  {codegen::Buffer::Role::workspace, "sums", codegen::integer(256)}};
  if (fill) plan.steps.push_back({codegen::Step::Kind::memset, {}, {2, 0}});
  plan.steps.push_back(kernel_step(
      "first", {{.name = "a", .source = 0}, {.name = "sums", .written = true, .source = 2}},
      "const float* a, float* sums", add, 2));
  plan.steps.push_back(kernel_step(
      "second", {{.name = "b", .written = true, .source = 1}, {.name = "sums", .source = 2}},
      "float* b, const float* sums", "  b[i] = sums[2 * i] + sums[2 * i + 1];\n", 1));
  return plan;
}

Emulation run(const codegen::Plan& plan, std::vector<float>& b,
              const runtime::EmulateOptions& options = {}) {
  std::vector<float> a(128);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i);
  b.assign(32, -1);
  const std::vector<runtime::EmulatorArgument> args = {{a.data(), 128, DType::f32, true, true},
                                                       {b.data(), 32, DType::f32, true, false}};
  return runtime::emulate(plan, args, options);
}

TEST(EmulatedPlans, StepsFollowEachOtherThroughWorkspace) {
  std::vector<float> b;
  const Emulation stored = run(two_steps(false, "  sums[i] = a[2 * i] + a[2 * i + 1];\n"), b);
  EXPECT_EQ(stored.report(), "");
  for (int i = 0; i < 32; ++i) EXPECT_EQ(b[static_cast<size_t>(i)], 16 * i + 6) << i;
  const Emulation added = run(two_steps(true, "  sums[i] += a[2 * i] + a[2 * i + 1];\n"), b);
  EXPECT_EQ(added.report(), "");
  for (int i = 0; i < 32; ++i) EXPECT_EQ(b[static_cast<size_t>(i)], 16 * i + 6) << i;
}

TEST(EmulatedPlans, WorkspaceHoldsNothingAtFirst) {
  std::vector<float> b;
  const Emulation unset = run(two_steps(false, "  sums[i] += a[2 * i];\n"), b);
  EXPECT_TRUE(unset.has(FindingKind::unwritten_output)) << unset.report();
  EXPECT_NE(unset.report().find("of 'workspace' was never written"), std::string::npos)
      << unset.report();
  const Emulation half = run(two_steps(false, "  if (i < 32) sums[i] = a[i];\n"), b);
  EXPECT_TRUE(half.has(FindingKind::unwritten_output)) << half.report();
}

TEST(EmulatedPlans, BoundsOfWorkspaceAreChecked) {
  std::vector<float> b;
  const Emulation wide = run(two_steps(true, "  sums[i + 1] = a[i];\n"), b);
  EXPECT_TRUE(wide.has(FindingKind::out_of_bounds)) << wide.report();
  EXPECT_NE(wide.report().find("which has 256 bytes"), std::string::npos) << wide.report();
}

/// The program on an emulated device, with a sanitizer's library from the start.
CommandResult sanitized(const std::string& arguments) {
  const std::string library =
      run_command(std::string(TILEWRIGHT_CXX) + " -print-file-name=libasan.so").output;
  return run_command("CXX=" TILEWRIGHT_CXX " LD_PRELOAD=" + library.substr(0, library.find('\n')) +
                     " ASAN_OPTIONS=detect_leaks=0 " TILEWRIGHT_BINARY_DIR "/cli/tilewright run " +
                     arguments + " --device emulate --check --compile-flags=-g,-fsanitize=address");
}

TEST(EmulatedPlans, KernelsRunUnderASanitizer) {
  const CommandResult plain = sanitized("matmul 'f32[65,33]' 'f32[33,17]' --arch sm_80");
  EXPECT_EQ(plain.status, 0) << plain.output;
  EXPECT_NE(plain.output.find("compared with the interpreter: ok"), std::string::npos)
      << plain.output;
  const CommandResult hopper = sanitized(
      "matmul 'bf16[136,72]' 'bf16[72,136]' --arch sm_90a --config '{\"block\":[128,64,64],"
      "\"warps\":8,\"copy\":\"tma\",\"matrix\":\"wgmma\"}'");
  EXPECT_EQ(hopper.status, 0) << hopper.output;
}

}  // namespace
}  // namespace tilewright::testing
