// The program as a user runs it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "cli/npy.h"
#include "tests/support/run_command.h"
#include "tilewright/ir/error.h"
#include "tilewright/runtime/nvrtc.h"

namespace tilewright::cli {
namespace {

using testing::CommandResult;

CommandResult tilewright_on(const std::string& device, const std::string& arguments) {
  return testing::run_command(fmt::format("TILEWRIGHT_DEVICE={} {}/cli/tilewright {}", device,
                                          TILEWRIGHT_BINARY_DIR, arguments));
}

CommandResult tilewright(const std::string& arguments) { return tilewright_on("cpu", arguments); }

std::string library(const std::string& name) {
  return fmt::format("--load {}/tests/lib{}.so", TILEWRIGHT_BINARY_DIR, name);
}

void expect_output(const CommandResult& result, int status,
                   std::initializer_list<std::string_view> parts) {
  EXPECT_EQ(result.status, status) << result.output;
  for (const std::string_view part : parts)
    EXPECT_NE(result.output.find(part), std::string::npos) << "'" << part << "' is missing in:\n"
                                                           << result.output;
}

TEST(Program, ListsTheKernelsOfTheExamples) {
  expect_output(tilewright("list"), 0,
                {"matmul(a, b)", "saxpy(f32 alpha, x, y)", "softmax(x)", "linear_gelu(x, w, bias)",
                 "tile_ranges(number n)", "row_minmax(x)", "vector_add(a, b)", "matmul.h:"});
}

TEST(Program, ExplainsItself) {
  expect_output(tilewright("--help"), 0, {"list", "show", "run", "tune", "doctor"});
  expect_output(tilewright("show --help"), 0, {"--arch", "--emit", "--config", "--load"});
  expect_output(tilewright("run --help"), 0, {"--device", "--check", "--out", "--seed"});
}

TEST(Program, WrongUsageIsExitCodeTwo) {
  expect_output(tilewright(""), 2, {"subcommand is required"});
  expect_output(tilewright("frobnicate"), 2, {});
  expect_output(tilewright("show"), 2, {"kernel is required"});
  expect_output(tilewright("show matmul --emit elf"), 2, {"elf", "tile-ir", "sass"});
  expect_output(tilewright("run matmul --seed x"), 2, {"--seed"});
  expect_output(tilewright("list extra"), 2, {"extra"});
}

// Errors of the user: exit code 1, and a message that names what is wrong.
TEST(Program, BadInputIsExitCodeOne) {
  const std::string ab = "'f32[9,9]' 'f32[9,9]' ";
  expect_output(tilewright("show nonsense"), 1, {"no kernel 'nonsense'", "known:", "matmul"});
  expect_output(tilewright("show matmul 'f32[9,9]'"), 1, {"matmul takes 2 arguments; found 1"});
  expect_output(tilewright("show matmul 'f32[9,9' 'f32[9,9]'"), 1, {"argument 'f32[9,9'", "']'"});
  expect_output(tilewright("show matmul 'f32[9,9]' f32=1"), 1,
                {"parameter 'b' is a tensor; found a scalar f32"});
  expect_output(tilewright("show saxpy f64=1 'f32[9]' 'f32[9]'"), 1,
                {"parameter 'alpha' is a scalar f32; found a scalar f64"});
  expect_output(tilewright("show matmul 'f32[9,8]' 'f32[9,9]'"), 1,
                {"inner sizes differ: 8 and 9", "matmul.h:"});
  expect_output(tilewright("show matmul 'f32[9]' 'f32[9,9]'"), 1, {"matmul.h:"});
  expect_output(tilewright("show matmul " + ab + "--arch sm_12"), 1, {"'sm_12'", "sm_80"});
  expect_output(tilewright("show matmul " + ab + "--config '{\"block\":[3,3'"), 1, {"config"});
  expect_output(tilewright("show matmul " + ab + "--config '{\"blocks\":[3,3,3]}'"), 1, {"blocks"});
  expect_output(tilewright("run matmul " + ab + "--device tpu"), 1, {"unknown device 'tpu'"});
  expect_output(tilewright("run matmul missing.npy 'f32[9,9]'"), 1,
                {"missing.npy: cannot be opened"});
  expect_output(tilewright("run matmul " + ab + "--out /nonexistent/c.npy"), 1,
                {"/nonexistent/c.npy: cannot be written"});
  expect_output(tilewright("list --load /nonexistent/libmine.so"), 1,
                {"/nonexistent/libmine.so cannot be loaded"});
}

TEST(Program, ShowsTheStagesWithoutAGpu) {
  const std::string show = "show matmul 'f32[1000,999]' 'f32[999,1001]' --arch sm_80 ";
  expect_output(tilewright(show), 0, {"__global__", "matmul"});
  expect_output(tilewright(show + "--config '{\"block\":[64,64,16]}' --emit cuda"), 0,
                {"__global__", "[64,64,16]"});
  expect_output(tilewright(show + "--emit tile-ir"), 0, {"tile_loop", "dot"});
  expect_output(tilewright(show + "--emit kernel-ir"), 0, {"matmul"});
}

TEST(Program, CompilesWithoutAGpu) {
  if (runtime::nvrtc_status().version == 0) GTEST_SKIP() << runtime::nvrtc_status().problem;
  const std::string show = "show matmul 'f32[256,256]' 'f32[256,256]' --arch sm_80 ";
  expect_output(tilewright(show + "--emit ptx"), 0, {".target sm_80", ".entry matmul"});
  expect_output(tilewright(show + "--emit resources"), 0,
                {"for sm_80", "registers", "spilled", "shared memory", "accesses", "16 bytes",
                 "launches          1\n", "workspace         0 bytes"});
  // With a disassembler, its text; without one, how to get it.
  const CommandResult sass = tilewright(show + "--emit sass");
  if (sass.status == 0)
    expect_output(sass, 0, {"FFMA"});
  else
    expect_output(sass, 1, {"neither cuobjdump nor nvdisasm is here", "nvidia-cuda-nvdisasm"});
}

TEST(Program, ShowsEveryKernelOfAPlan) {
  const std::string show =
      "show matmul 'bf16[63,65]' 'bf16[65,64]' --arch sm_80 --config "
      "'{\"block\":[16,16,16],\"repitch\":true}' ";
  for (const char* stage : {"cuda", "tile-ir", "kernel-ir"})
    expect_output(tilewright(show + "--emit " + stage), 0, {"matmul_pad_a", "a_padded"});
  if (runtime::nvrtc_status().version == 0) GTEST_SKIP() << runtime::nvrtc_status().problem;
  expect_output(tilewright(show + "--emit resources"), 0,
                {"launches          2\n", "workspace         9216 bytes\n", "matmul_pad_a_",
                 "a_padded     store           8 bytes", "a            cp_async copy  16 bytes"});
}

TEST(Program, RunsAndChecks) {
  expect_output(
      tilewright("run matmul 'f32[9,9]' 'f32[9,9]' --config '{\"block\":[3,3,3]}' --device cpu "
                 "--check"),
      0, {"matmul on cpu", "result 0: f32[9,9] on cpu", "ok, largest difference"});
  expect_output(tilewright("run row_minmax 'f16[5,70]' --check"), 0,
                {"result 0", "result 1", "ok"});
  expect_output(tilewright("run softmax 'bf16[4,33]:[1,4]@2' --check"), 0, {"ok"});
  // Written in place: the argument is what is compared.
  expect_output(tilewright("run saxpy f32=2.5 'f32[100]' 'f32[100]@4' --check"), 0,
                {"x compared with", "y compared with", "ok"});
  expect_output(tilewright("run tile_ranges i32=10"), 0, {"result 0: i64[3,2] on cpu"});
  expect_output(tilewright("run vector_add 'i32[0]' 'i32[0]' --check"), 0, {"i32[0]"});
}

TEST(Program, TakesDynamicSizes) {
  expect_output(tilewright("show matmul 'f32[?64,8]' 'f32[8,9]' --emit tile-ir"), 0,
                {"%a_size: i64, %a: f32[?64,8] sized %a_size", "f32[?64,9] sized %a_size"});
  expect_output(tilewright("run matmul 'f32[?40,8]' 'f32[8,9]' --check"), 0, {"f32[40,9]", ": ok"});
  expect_output(tilewright("run matmul 'f32[?,8]' 'f32[8,9]'"), 1, {"f32[?,8]", "behind the '?'"});
  expect_output(tilewright("explain matmul 'f32[?64,8]' 'f32[8,9]'"), 1, {"the size itself"});
}

TEST(Program, SeedsChooseTheContents) {
  const std::string run = "run vector_add 'f32[4]' 'f32[4]' --seed ";
  const auto elements = [](const CommandResult& result) {
    EXPECT_EQ(result.status, 0) << result.output;
    return result.output.substr(result.output.find("result 0"));
  };
  EXPECT_EQ(elements(tilewright(run + "7")), elements(tilewright(run + "7")));
  EXPECT_NE(elements(tilewright(run + "7")), elements(tilewright(run + "8")));
}

std::string write_floats(const std::string& name, std::vector<int64_t> sizes,
                         const std::vector<float>& values) {
  const std::string path = ::testing::TempDir() + name;
  NpyArray array{DType::f32, std::move(sizes), false, std::vector<std::byte>(4 * values.size())};
  std::memcpy(array.data.data(), values.data(), array.data.size());
  write_npy(path, array);
  return path;
}

TEST(Program, ReadsAndWritesNumpyFiles) {
  const std::string a = write_floats("tilewright_a.npy", {2, 3}, {1, 2, 3, 4, 5, 6});
  const std::string b = write_floats("tilewright_b.npy", {3, 1}, {1, 10, 100});
  const std::string out = ::testing::TempDir() + "tilewright_c.npy";
  expect_output(tilewright(fmt::format("run matmul {} {} --out {}", a, b, out)), 0, {"wrote"});
  const NpyArray c = read_npy(out);
  EXPECT_EQ(c.sizes, (std::vector<int64_t>{2, 1}));
  float values[2];
  ASSERT_EQ(c.data.size(), sizeof values);
  std::memcpy(values, c.data.data(), sizeof values);
  EXPECT_EQ(values[0], 321);
  EXPECT_EQ(values[1], 654);
  expect_output(tilewright(fmt::format("run row_minmax {} --out {}", a, out)), 0,
                {"tilewright_c_0.npy", "tilewright_c_1.npy"});
}

TEST(Program, LoadsAUsersKernels) {
  expect_output(tilewright("list " + library("cli_mine")), 0,
                {"scale(x, f32 factor)", "matmul(a, b)"});
  expect_output(tilewright("run scale 'f32[10]' f32=2 --check " + library("cli_mine")), 0, {"ok"});
  expect_output(tilewright("show apply 'f32[10]' f32=2 " + library("cli_mine")), 1,
                {"'function' is a C++ callable, which the command line cannot give"});
}

TEST(Program, ADifferenceIsAnError) {
  const std::string message =
      fmt::format(fmt::runtime(message_of(ErrorId::results_differ)), "tile_numbers");
  expect_output(
      tilewright("run tile_numbers 'i64[64]' --config '{\"block\":[8]}' --check " +
                 library("cli_mine")),
      1,
      {message, "x compared with tiles of [5]: ok", "result 0 compared with", "elements differ"});
}

TEST(Program, TwoMeaningsOfOneNameAreAnError) {
  const std::string add = " vector_add 'f32[10]' 'f32[10]' " + library("cli_conflict");
  expect_output(tilewright("show" + add), 1, {"two kernels are registered as 'vector_add'"});
  expect_output(tilewright("run" + add), 1, {"conflict.cpp:", "vector_add.h:"});
  // Others are not affected, and the same definition twice is none.
  expect_output(tilewright("run softmax 'f32[2,2]' " + library("cli_conflict")), 0, {"result 0"});
}

TEST(Program, DoctorReportsEverything) {
  expect_output(tilewright("doctor"), 0,
                {"driver", "GPU", "NVRTC", "cache", "disassembler", "/tilewright-worker",
                 "kernels run on cpu"});
  const CommandResult blind = testing::run_command(
      fmt::format("TILEWRIGHT_NVRTC_PATH=/nonexistent TILEWRIGHT_LIBCUDA=/nonexistent "
                  "TILEWRIGHT_CACHE_DIR=/nonexistent {}/cli/tilewright doctor",
                  TILEWRIGHT_BINARY_DIR));
  expect_output(blind, 0, {"MISSING", "to get it:", "nvidia-cuda-nvrtc", "driver"});
}

// A GPU that is asked for and not there is an error, not a silent change of device.
TEST(Program, AMissingGpuIsAnError) {
  const CommandResult result = testing::run_command(
      fmt::format("TILEWRIGHT_LIBCUDA=/nonexistent {}/cli/tilewright run softmax 'f32[2,2]' "
                  "--device cuda:0",
                  TILEWRIGHT_BINARY_DIR));
  expect_output(result, 1, {"the CUDA driver cannot be used"});
}

}  // namespace
}  // namespace tilewright::cli
