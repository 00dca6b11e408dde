// Missing and unfit libraries: what a user is told.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>

#include "tests/support/expect_error.h"
#include "tilewright/codegen/kernel_ir.h"
#include "tilewright/ir/log.h"
#include "tilewright/runtime/array.h"
#include "tilewright/runtime/driver.h"
#include "tilewright/runtime/nvrtc.h"

namespace tilewright::runtime {
namespace {

using testing::expect_error;

// Libraries are loaded once a process: these tests run their statement in one of its own.
class Libraries : public ::testing::Test {
 protected:
  void SetUp() override { ::testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

// Runs the statement and exits with 0 when it raised `id`; its message goes to standard error.
[[noreturn]] void exit_with(ErrorId id, const std::function<void()>& statement) {
  try {
    statement();
  } catch (const Error& error) {
    std::cerr << error.what() << std::endl;
    std::exit(error.id() == id ? 0 : 2);
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
  }
  std::exit(3);
}

TEST_F(Libraries, MissingDriverSaysWhereItComesFrom) {
  EXPECT_EXIT(
      {
        setenv("TILEWRIGHT_LIBCUDA", "/nowhere/libcuda.so.1", 1);
        exit_with(ErrorId::missing_driver, [] { Array::zeros(Device::cuda(0), {1}, DType::f32); });
      },
      ::testing::ExitedWithCode(0), "/nowhere/libcuda.so.1.*NVIDIA driver");
}

TEST_F(Libraries, DriverWithoutItsFunctionsIsTooOld) {
  EXPECT_EXIT(
      {
        setenv("TILEWRIGHT_LIBCUDA", "libm.so.6", 1);
        exit_with(ErrorId::missing_driver, [] { device_info(0); });
      },
      ::testing::ExitedWithCode(0), "libm.so.6 has no cuInit.*too old");
}

TEST_F(Libraries, DemandedGpuThatIsMissingIsAnError) {
  EXPECT_EXIT(
      {
        setenv("TILEWRIGHT_LIBCUDA", "/nowhere/libcuda.so.1", 1);
        setenv("TILEWRIGHT_DEVICE", "cuda", 1);
        exit_with(ErrorId::missing_driver, [] { default_device(); });
      },
      ::testing::ExitedWithCode(0), "/nowhere");
}

TEST_F(Libraries, FallsBackToTheCpuWithOneWarning) {
  EXPECT_EXIT(
      {
        setenv("TILEWRIGHT_LIBCUDA", "/nowhere/libcuda.so.1", 1);
        unsetenv("TILEWRIGHT_DEVICE");
        int warnings = 0;
        std::string text;
        set_log_handler([&](LogLevel level, std::string_view message) {
          if (level == LogLevel::warning) ++warnings, text = message;
        });
        const bool cpu = default_device() == Device::cpu() && default_device() == Device::cpu();
        std::cerr << text << std::endl;
        std::exit(cpu && warnings == 1 ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "no GPU can be used .*TILEWRIGHT_DEVICE=cpu");
}

TEST_F(Libraries, ChosenCpuNeedsNoWarning) {
  setenv("TILEWRIGHT_DEVICE", "cpu", 1);
  int messages = 0;
  set_log_handler([&](LogLevel, std::string_view) { ++messages; });
  EXPECT_EQ(default_device(), Device::cpu());
  EXPECT_EQ(messages, 0);
  set_log_handler({});
  setenv("TILEWRIGHT_DEVICE", "fpga", 1);
  expect_error(ErrorId::unknown_device, 0, "fpga", [] { default_device(); });
  unsetenv("TILEWRIGHT_DEVICE");
}

TEST_F(Libraries, MissingNvrtcSaysWhatWasTriedAndHowToGetIt) {
  EXPECT_EXIT(
      {
        setenv("TILEWRIGHT_NVRTC_PATH", "/nowhere/libnvrtc.so", 1);
        exit_with(ErrorId::missing_nvrtc, [] { compile_cuda("", "k", parse_target("sm_80")); });
      },
      ::testing::ExitedWithCode(0), "/nowhere/libnvrtc.so.*pip install nvidia-cuda-nvrtc");
}

TEST_F(Libraries, LibraryThatIsNoNvrtcIsRefused) {
  EXPECT_EXIT(
      {
        setenv("TILEWRIGHT_NVRTC_PATH", "libm.so.6", 1);
        exit_with(ErrorId::missing_nvrtc, [] { compile_cuda("", "k", parse_target("sm_80")); });
      },
      ::testing::ExitedWithCode(0), "libm.so.6 lacks functions");
}

TEST(Candidates, AChosenPathIsTheOnlyOne) {
  setenv("TILEWRIGHT_NVRTC_PATH", "/x/libnvrtc.so", 1);
  EXPECT_EQ(nvrtc_candidates(), std::vector<std::string>{"/x/libnvrtc.so"});
  setenv("TILEWRIGHT_NVRTC_PATH", "/tmp", 1);
  EXPECT_EQ(nvrtc_candidates().front(), "/tmp/libnvrtc.so.13");
  unsetenv("TILEWRIGHT_NVRTC_PATH");
  setenv("CUDA_PATH", "/opt/cuda", 1);
  const std::vector<std::string> all = nvrtc_candidates();
  EXPECT_EQ(all.front(), "libnvrtc.so.13");
  EXPECT_NE(std::ranges::find(all, "/opt/cuda/lib64/libnvrtc.so.13"), all.end());
  unsetenv("CUDA_PATH");
}

TEST(CompileFailure, MissingBuiltinsNameTheLibraryAndTheRemedy) {
  expect_error(ErrorId::missing_nvrtc_builtins, 0,
               "NVRTC 13.0 (/opt/libnvrtc.so.13) does not find its libnvrtc-builtins", [] {
                 raise_compile_failure({7, "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE",
                                        "nvrtc: error: failed to open libnvrtc-builtins.so.13.0.",
                                        "k", parse_target("sm_80"), 13000, "/opt/libnvrtc.so.13"});
               });
}

TEST(CompileFailure, UnknownTargetNamesTheVersion) {
  expect_error(ErrorId::nvrtc_target, 0, "NVRTC 12.0 (/opt/x) does not know sm_120a", [] {
    raise_compile_failure({5, "NVRTC_ERROR_INVALID_OPTION",
                           "nvrtc: error: invalid value for --gpu-architecture (-arch)", "k",
                           parse_target("sm_120a"), 12000, "/opt/x"});
  });
}

TEST(CompileFailure, CarriesTheLog) {
  expect_error(ErrorId::nvrtc_compile, 0, "k.cu(3): error: expected a ;", [] {
    raise_compile_failure({6, "NVRTC_ERROR_COMPILATION", "k.cu(3): error: expected a ;", "k",
                           parse_target("sm_80"), 13000, "/opt/x"});
  });
}

// A driver that lacks a function looks like one that is not there: its pointer is null.
TEST_F(Libraries, FunctionsOfNewerDriversAreNamedWhenNeeded) {
  EXPECT_EXIT(
      {
        setenv("TILEWRIGHT_LIBCUDA", "/nowhere/libcuda.so.1", 1);
        exit_with(ErrorId::missing_driver, [] {
          encode_tensor_map({DType::f32, {64}, {1}, {16}, 0}, nullptr, "k");
        });
      },
      ::testing::ExitedWithCode(0), "cuTensorMapEncodeTiled, NVIDIA driver 525 or newer");
  EXPECT_EXIT(
      {
        setenv("TILEWRIGHT_LIBCUDA", "/nowhere/libcuda.so.1", 1);
        exit_with(ErrorId::missing_driver, [] {
          launch_kernel(nullptr, {.grid = 2, .threads = 32, .cluster = 2}, nullptr, nullptr, "k");
        });
      },
      ::testing::ExitedWithCode(0), "clusters and cooperative launches need cuLaunchKernelEx");
}

TEST(Notes, AreReadFromPtxas) {
  CompiledCuda made;
  made.log =
      "k.cu(3): warning #177-D: variable \"x\" was declared but never referenced\n"
      "ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions are "
      "serialized\n"
      "ptxas warning : Value of threads per SM for entry k is out of range\n"
      "ptxas info    : Used 32 registers, used 1 barriers\n";
  EXPECT_EQ(made.notes(),
            (std::vector<std::string>{
                "(C7511) Potential Performance Loss: wgmma.mma_async instructions are serialized",
                "Value of threads per SM for entry k is out of range"}));
}

TEST(DriverErrors, TooOldDriverNamesBothVersions) {
  expect_error(
      ErrorId::driver_too_old, 0,
      "NVRTC 13.0 made it, and the driver supports CUDA 12.4 "
      "(CUDA_ERROR_UNSUPPORTED_PTX_VERSION)",
      [] { raise_driver_too_old("scale_0f", 13000, 12040, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"); });
}

TEST(DriverErrors, SayWhatWasBeingDone) {
  expect_error(ErrorId::cuda_call, 0,
               "launching: the CUDA driver reports CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory "
               "access)",
               [] {
                 raise_driver_error(700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access",
                                    "launching");
               });
  expect_error(ErrorId::device_out_of_memory, 0, "allocating 8 bytes", [] {
    raise_driver_error(2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory", "allocating 8 bytes");
  });
  expect_error(ErrorId::assertion_failed, 0, "the driver has printed its message", [] {
    raise_driver_error(710, "CUDA_ERROR_ASSERT", "device-side assert triggered", "waiting");
  });
}

TEST(Resources, AreReadFromPtxas) {
  const Resources r = parse_resources(
      "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
      "ptxas         .     1600 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads\n"
      "ptxas info    : Used 32 registers, used 1 barriers, 1600 bytes cumulative stack size, "
      "256 bytes smem, 364 bytes cmem[0]\n");
  EXPECT_EQ(r, (Resources{32, 12, 256, 1600}));
  EXPECT_EQ(parse_resources(""), Resources{});
}

TEST(Options, HoldWhatChangesTheBits) {
  const auto options = nvrtc_options(parse_target("sm_90a"), {}, 13000);
  for (const char* wanted : {"--gpu-architecture=sm_90a", "-fmad=false", "--no-cache"})
    EXPECT_NE(std::ranges::find(options, wanted), options.end()) << wanted;
  for (const std::string& option : nvrtc_options(parse_target("sm_80"), {}, 12000))
    EXPECT_NE(option, "--no-cache");
}

}  // namespace
}  // namespace tilewright::runtime
