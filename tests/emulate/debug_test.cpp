// Printing, assertions and PTX in emulated kernels.
#include <gtest/gtest.h>

#include "tests/codegen/kernels_debug.h"
#include "tests/emulate/emulate_case.h"
#include "tests/support/expect_error.h"
#include "tilewright/tilewright.h"

namespace tilewright::testing {
namespace {

// Known answers of philox4x32 with 10 rounds, from Random123's tests/kat_vectors: counter, stream
// and seed of 64 bits, and the four words.
TEST(EmulatedDebug, PhiloxGivesThePublishedAnswers) {
  constexpr uint64_t kInputs[] = {0,
                                  0,
                                  0,
                                  ~uint64_t{0},
                                  ~uint64_t{0},
                                  ~uint64_t{0},
                                  0x85a308d3243f6a88,
                                  0x0370734413198a2e,
                                  0x299f31d0a4093822};
  constexpr uint32_t kWords[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8,
                                 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd,
                                 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
  const auto generate = kernel("generate", [](Tensor x) {
    Tensor y = empty({x.size(0), 4}, i32);
    for (auto i : tile(x.size(0))) {
      const auto words = philox(x[i, 0], x[i, 1], x[i, 2]);
      for (int word = 0; word < 4; ++word) y[i, word] = words[word];
    }
    return y;
  });
  const std::vector<int64_t> inputs(std::begin(kInputs), std::end(kInputs));
  const Array words = generate(Array::from_host(inputs, {3, 3}, Device::emulate("sm_80")));
  for (int64_t i = 0; i < 12; ++i)
    EXPECT_EQ(static_cast<uint32_t>(words.to_host().values<int32_t>()[i]), kWords[i]);
}

/// What the emulator prints, and the interpreter with the same blocks.
struct Printed {
  std::string emulated, interpreted;
};

Printed printed(const KernelCase& kernel, const Config& config, const char* target) {
  Printed result;
  EmulateMemory first(kernel), second(kernel);
  const codegen::Plan plan = codegen::lower(kernel.fn, config, parse_target(target));
  ::testing::internal::CaptureStdout();
  const runtime::Emulation emulation = runtime::emulate(plan, first.emulator_args());
  std::fflush(stdout);
  result.emulated = ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(emulation.report(), "");
  ::testing::internal::CaptureStdout();
  interpret(kernel.fn, second.interpreter_args(), {.block = config.block});
  result.interpreted = ::testing::internal::GetCapturedStdout();
  return result;
}

std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

// Threads of a block print their elements in another order than the interpreter.
TEST(EmulatedDebug, PrintsTheInterpretersLines) {
  const KernelCase kernel = printed_product(5, 6, 4);
  const Config config = emulate_config(kernel, {4, 4, 2}, 1, 2, CopyKind::cp_async);
  const Printed lines = printed(kernel, config, "sm_80");
  const auto expected = sorted_lines(lines.interpreted);
  EXPECT_EQ(expected.size(), 4 + 30);
  EXPECT_EQ(sorted_lines(lines.emulated), expected);
}

// One role copies, the other computes and prints.
TEST(EmulatedDebug, WarpgroupsPrintTheInterpretersLines) {
  const KernelCase kernel = make_case("printed_warpgroups",
                                      [](Tensor a, Tensor b) {
                                        auto [m, k] = sizes<2>(a);
                                        Tensor c = empty({m, b.size(1)}, f32);
                                        for (auto [rows, cols] : tile({m, b.size(1)})) {
                                          Tile sum = zeros({rows, cols}, f32);
                                          for (auto ks : tile(k)) {
                                            sum = addmm(sum, a[rows, ks], b[ks, cols]);
                                            print("step {}", ks.begin());
                                          }
                                          print("{}", sum);
                                          c[rows, cols] = sum;
                                        }
                                        return c;
                                      },
                                      {dense(bf16, {66, 64}), dense(bf16, {64, 16})});
  const Config config{.block = {64, 16, 32},
                      .stages = 2,
                      .copy = CopyKind::tma,
                      .matrix = MatrixUnit::wgmma,
                      .persistent = true};
  const Printed lines = printed(kernel, config, "sm_90a");
  const auto expected = sorted_lines(lines.interpreted);
  EXPECT_EQ(expected.size(), 2 * 2 + 66 * 16);
  EXPECT_EQ(sorted_lines(lines.emulated), expected);
}

TEST(EmulatedDebug, FailedAssertionsAreErrors) {
  int line = 0;
  const KernelCase kernel = failing_assert(9, line);
  EmulateMemory memory(kernel);
  const codegen::Plan plan = codegen::lower(
      kernel.fn, emulate_config(kernel, {4}, 1, 1, CopyKind::sync), parse_target("sm_80"));
  ::testing::internal::CaptureStdout();
  expect_error(ErrorId::assertion_failed, line, "index \"5\" is bad",
               [&] { runtime::emulate(plan, memory.emulator_args()); });
  std::fflush(stdout);
  EXPECT_NE(::testing::internal::GetCapturedStdout().find(
                "device_assert failed: index \"5\" is bad (program (1), element [5])"),
            std::string::npos);
}

TEST(EmulatedDebug, PtxIsItsHostFunction) {
  const KernelCase kernel = own_ptx(20);
  const Config config = emulate_config(kernel, {8}, 1, 1, CopyKind::sync);
  const codegen::Plan plan = codegen::lower(kernel.fn, config, parse_target("sm_80"));
  const EmulateResult result = emulate_case(kernel, plan, config);
  EXPECT_TRUE(result.clean()) << result.emulation.report() << result.difference
                              << plan.steps.at(0).kernel.source;
}

TEST(EmulatedDebug, PtxWithoutAHostFunctionIsRefused) {
  int line = 0;
  const KernelCase kernel = make_case("no_twin",
                                      [&](Tensor x) {
                                        for (auto i : tile(x.size(0))) {
                                          line = __LINE__ + 1;
                                          x[i] = inline_ptx("neg.f32 %0, %1;", f32, {x[i]});
                                        }
                                      },
                                      {dense(f32, {8})});
  EmulateMemory memory(kernel);
  const codegen::Plan plan = codegen::lower(
      kernel.fn, emulate_config(kernel, {8}, 1, 1, CopyKind::sync), parse_target("sm_80"));
  expect_error(ErrorId::ptx_without_twin, line, "the emulator",
               [&] { runtime::emulate(plan, memory.emulator_args()); });
}

// A line would be printed by each block of a cluster.
TEST(EmulatedDebug, ClustersPrintNothing) {
  const KernelCase kernel = printed_product(64, 64, 64);
  Config config = emulate_config(kernel, {64, 64, 32}, 4, 2, CopyKind::tma);
  config.cluster = 2;
  expect_error(ErrorId::config_unsupported, 0, "prints or asserts here",
               [&] { check_config(config, kernel.fn, parse_target("sm_90a")); });
}

}  // namespace
}  // namespace tilewright::testing
