// The emulator as a device: launches, errors, and the program.
#include <gtest/gtest.h>

#include <cstdlib>

#include "examples/kernels/matmul.h"
#include "tests/emulate/hand_kernel.h"
#include "tests/support/expect_error.h"
#include "tests/support/run_command.h"
#include "tilewright/runtime/cpu_launch.h"
#include "tilewright/runtime/emulator_module.h"

namespace tilewright::testing {
namespace {

/// Sets an environment variable for a scope.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    ::setenv(name, value.c_str(), 1);
  }
  ~ScopedVariable() { old_.empty() ? ::unsetenv(name_) : ::setenv(name_, old_.c_str(), 1); }

 private:
  const char* name_;
  std::string old_;
};

TEST(EmulatedDevice, Names) {
  EXPECT_EQ(to_string(Device::emulate("sm_80")), "emulate:sm_80");
  EXPECT_EQ(parse_device("emulate:sm_90a"), Device::emulate("sm_90a"));
  EXPECT_EQ(parse_device("emulate").architecture(), "sm_80");
  EXPECT_TRUE(Device::emulate("sm_75").is_host());
  EXPECT_FALSE(Device::emulate("sm_75").is_cpu());
  EXPECT_FALSE(Device::emulate("sm_75") == Device::emulate("sm_80"));
  expect_error(ErrorId::unknown_target, 0, "sm_12", [] { parse_device("emulate:sm_12"); });
}

TEST(EmulatedDevice, LaunchesIntoGivenMemory) {
  const Device device = Device::emulate("sm_80");
  std::vector<float> values(20 * 20, 0.5f);
  const Array a = Array::from_host(values, {20, 20}, device);
  Array c(device, {20, 20}, DType::f32);
  examples::matmul.launch({.out = {c}, .config = Config{.block = {8, 8, 8}, .stages = 3}}, a, a);
  for (int64_t i = 0; i < c.elements(); ++i) ASSERT_EQ(c.value(i), 5.0);
  // The same specialization again, on other values.
  const Array ones = Array::from_host(std::vector<float>(400, 1.0f), {20, 20}, device);
  examples::matmul.launch({.out = {c}, .config = Config{.block = {8, 8, 8}, .stages = 3}}, ones,
                          ones);
  for (int64_t i = 0; i < c.elements(); ++i) ASSERT_EQ(c.value(i), 20.0);
}

TEST(EmulatedDevice, MistakesAreAnErrorWithTheReport) {
  ir::Function fn;
  fn.name = "test";
  fn.params.push_back({.value = nullptr, .name = "a", .spec = {}, .allocated = true});
  std::vector<float> values(32);
  const TensorView view(values.data(), DType::f32, {32}, Device::emulate("sm_80"));
  const runtime::Argument argument{&view};
  const codegen::Plan plan = HandKernel{.body = "a[t + 1] = 1;\n"}.plan();
  const auto launch = [&] {
    runtime::launch_emulated(fn, plan, std::span(&argument, 1), Device::emulate("sm_80"));
  };
  expect_error(ErrorId::emulator_report, 0, "emulate:sm_80", launch);
  try {
    launch();
  } catch (const Error& error) {
    EXPECT_NE(error.log().find("access out of bounds: bytes 128 to 131 of 'a'"), std::string::npos)
        << error.log();
    EXPECT_NE(error.log().find("a[t + 1] = 1;"), std::string::npos) << error.log();
  }
}

TEST(EmulatedDevice, WhatIsMissingIsSaid) {
  const HandKernel kernel{.body = "a[t] = 1;\n"};
  if (!runtime::emulator_available()) {
    expect_error(ErrorId::emulator_missing, 0, "libboost-context-dev", [&] { kernel.run(32); });
    return;
  }
  {
    ScopedVariable path("PATH", "/nowhere"), compiler("CXX", "/nowhere/g++");
    expect_error(ErrorId::emulator_compiler, 0, "/nowhere/g++, c++, g++, clang++",
                 [&] { runtime::host_compiler(); });
  }
  {
    ScopedVariable cache("TILEWRIGHT_CACHE_DIR", "/dev/null/x"), other("TMPDIR", "/dev/null/y");
    expect_error(ErrorId::emulator_folder, 0, "cannot be written",
                 [] { HandKernel{.body = "a[t] = 7;\n"}.run(32); });
  }
  expect_error(ErrorId::emulator_compile, 0, "no_such_variable",
               [] { HandKernel{.body = "a[t] = no_such_variable;\n"}.run(32); });
  expect_error(ErrorId::emulator_compile, 0, "-fno-such-flag",
               [&] { kernel.run(32, {.flags = {"-fno-such-flag"}}); });
}

TEST(EmulatedDevice, CompilersAndFlags) {
  const HandKernel kernel{.body = "a[t] = b[t] * 2.0f;\n", .tensors = 2};
  EXPECT_EQ(kernel.run(32, {.flags = {"-O0"}}).report(), "");
  if (run_command("clang++ --version").status == 0) {
    ScopedVariable compiler("CXX", "clang++");
    EXPECT_EQ(kernel.run(32).report(), "");
    EXPECT_TRUE(
        HandKernel{.body = "a[t / 2] = 1;\n"}.run(32).has(runtime::FindingKind::global_race));
  }
  ScopedVariable flags("TILEWRIGHT_EMULATOR_FLAGS", "-O0,-g3 -DX");
  EXPECT_EQ(runtime::emulator_flags(), (std::vector<std::string>{"-O0", "-g3", "-DX"}));
}

TEST(EmulatedDevice, TheProgramRunsKernelsOnIt) {
  const std::string program = std::string(TILEWRIGHT_BINARY_DIR) + "/cli/tilewright";
  const CommandResult run =
      run_command(program +
                  " run matmul 'f32[65,33]' 'f32[33,17]' --device emulate --arch sm_80"
                  " --check --compile-flags=-O0");
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_NE(run.output.find("matmul on emulate:sm_80"), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("compared with the interpreter: ok"), std::string::npos) << run.output;
  const CommandResult wrong =
      run_command(program + " run matmul 'f32[9,9]' 'f32[9,9]' --device cpu --arch sm_80");
  EXPECT_EQ(wrong.status, 1) << wrong.output;
  EXPECT_NE(wrong.output.find("--arch"), std::string::npos) << wrong.output;
}

}  // namespace
}  // namespace tilewright::testing
