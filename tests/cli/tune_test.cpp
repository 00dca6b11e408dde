// `tilewright tune`, on simulated and emulated devices.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/tune_options.h"
#include "cli/tune_progress.h"
#include "tests/support/expect_error.h"
#include "tests/support/run_command.h"
#include "tests/support/xml.h"
#include "tilewright/runtime/emulator.h"

namespace tilewright::cli {
namespace {

using testing::CommandResult;
using testing::expect_error;

// A folder for the stores and files of one test.
class TuneProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              fmt::format("tilewright-tune-{}-{}", test->name(), ::getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  CommandResult tilewright(const std::string& arguments, const std::string& before = "") const {
    return testing::run_command(
        fmt::format("TILEWRIGHT_CACHE_DIR={} TILEWRIGHT_DEVICE= TILEWRIGHT_LIBCUDA=/no/libcuda.so "
                    "{} {}/cli/tilewright {}",
                    folder_.string(), before, TILEWRIGHT_BINARY_DIR, arguments));
  }

 private:
  std::filesystem::path folder_;
};

void expect_parts(const CommandResult& result, int status,
                  std::initializer_list<std::string_view> parts) {
  EXPECT_EQ(result.status, status) << result.output;
  for (const std::string_view part : parts)
    EXPECT_NE(result.output.find(part), std::string::npos) << "'" << part << "' is missing in:\n"
                                                           << result.output;
}

std::string contents_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST_F(TuneProgram, SearchesReportsAndRemembers) {
  const std::string report = file("out.html");
  const std::string command =
      "tune matmul 'bf16[512,256]' 'bf16[256,512]' --device simulated --seed 3 --report " + report;
  const CommandResult first = tilewright(command);
  expect_parts(first, 0,
               {"(simulated): tried ", " s left", "on simulated sm_90a", "  tried ",
                " (quick, seed 3)", "  best ", "  model ", "  default ", "  ended    because ",
                "  kept in ", "tuning.sqlite", "wrote "});
  const std::string page = contents_of(report);
  EXPECT_EQ(testing::parse_xml(page).problem, "");
  EXPECT_NE(page.find("__global__"), std::string::npos);
  // The same seed gives the same search.
  const CommandResult second = tilewright(command);
  const auto best = [](const std::string& output) {
    return output.substr(output.find("  best "), 60);
  };
  EXPECT_EQ(best(first.output), best(second.output));
  expect_parts(tilewright("cache ls"), 0, {"matmul", "simulated sm_90a"});
}

TEST_F(TuneProgram, ShapesAndShards) {
  std::ofstream(file("shapes")) << "# two\nf32[4096] f32[4096]\n\nf32[100] f32[100]  # short\n";
  const CommandResult all =
      tilewright("tune vector_add --device simulated:sm_80 --budget 1s --shapes " + file("shapes"));
  expect_parts(all, 0,
               {"vector_add f32[4096] f32[4096] on simulated sm_80",
                "vector_add f32[100] f32[100] on simulated sm_80"});
  const CommandResult part =
      tilewright("tune vector_add --device simulated:sm_80 --budget 1s --shard 2/2 --shapes " +
                 file("shapes"));
  expect_parts(part, 0, {"vector_add f32[100] f32[100] on simulated sm_80"});
  EXPECT_EQ(part.output.find("f32[4096]"), std::string::npos) << part.output;
}

TEST_F(TuneProgram, CtrlCKeepsWhatWasMeasured) {
  if (!runtime::emulator_available()) GTEST_SKIP() << "this build has no emulator";
  // The worker and the emulator work as they would for a GPU.
  const CommandResult stopped =
      tilewright("tune vector_add 'f32[256]' 'f32[256]' --device emulate:sm_80 --budget 100s",
                 "timeout --foreground --preserve-status -s INT 4");
  expect_parts(stopped, 0, {"on emulated sm_80", "  best ", "because it was stopped", "kept in"});
  expect_parts(tilewright("cache ls"), 0, {"vector_add", "emulated sm_80"});
}

TEST_F(TuneProgram, WrongUse) {
  const std::string shape = "tune vector_add 'f32[8]' 'f32[8]' --device simulated ";
  expect_parts(tilewright("tune vector_add 'f32[8]' 'f32[8]'"), 1, {"CUDA driver cannot be used"});
  expect_parts(tilewright("tune vector_add --device simulated"), 1, {"--shapes"});
  expect_parts(tilewright(shape + "--effort some"), 2, {"quick", "full"});
  expect_parts(tilewright(shape + "--budget 3h"), 1, {"3h", "20s"});
  expect_parts(tilewright(shape + "--gpus 0"), 1, {"--gpus"});
  expect_parts(tilewright("tune nonsense 'f32[8]' --device simulated"), 1,
               {"no kernel 'nonsense'"});
  expect_parts(tilewright("tune vector_add 'f32[8]' --device simulated"), 1, {"takes 2 arguments"});
  expect_parts(tilewright("tune vector_add 'f32[8]' 'f32[8]' --device simulation"), 1,
               {"unknown device"});
  expect_parts(tilewright(shape + "--report /nowhere/out.html"), 1, {"/nowhere/out.html"});
}

TEST_F(TuneProgram, TheKernelsOwnInputsAreChecked) {
  expect_parts(tilewright(fmt::format(
                   "tune picky 'f32[64]' --device simulated --load {}/tests/libcli_mine.so",
                   TILEWRIGHT_BINARY_DIR)),
               1, {"tune_inputs of kernel picky made other tensors", "f32[64]"});
}

TEST(TuneOptions, Durations) {
  EXPECT_EQ(parse_duration("20s"), 20);
  EXPECT_EQ(parse_duration("1.5m"), 90);
  EXPECT_EQ(parse_duration("500ms"), 0.5);
  EXPECT_EQ(parse_duration("7"), 7);
  for (const char* text : {"", "s", "-1s", "0", "3h", "1s2"})
    expect_error(ErrorId::argument_syntax, 0, "20s, 500ms or 2m", [&] { parse_duration(text); });
}

TEST(TuneOptions, Gpus) {
  EXPECT_EQ(parse_gpus("0,2", 4), (std::vector{0, 2}));
  EXPECT_EQ(parse_gpus("all", 3), (std::vector{0, 1, 2}));
  expect_error(ErrorId::no_such_device, 0, "GPU 4", [] { parse_gpus("4", 4); });
  for (const char* text : {"", "0,0", "x", "-1"})
    expect_error(ErrorId::argument_syntax, 0, "or all", [&] { parse_gpus(text, 4); });
}

TEST(TuneOptions, Shards) {
  const Shard shard = parse_shard("2/3");
  std::vector<size_t> held;
  for (size_t i = 0; i < 9; ++i)
    if (shard.holds(i)) held.push_back(i);
  EXPECT_EQ(held, (std::vector<size_t>{1, 4, 7}));
  for (const char* text : {"", "0/2", "3/2", "1", "1/x", "a/b"})
    expect_error(ErrorId::argument_syntax, 0, "2/8", [&] { parse_shard(text); });
}

TEST(TuneOptions, ShapeFiles) {
  expect_error(ErrorId::argument_syntax, 0, "cannot be read", [] { read_shapes("/nowhere/f"); });
  const std::string path =
      std::filesystem::temp_directory_path() / fmt::format("tilewright-shapes-{}", ::getpid());
  std::ofstream(path) << "# nothing\n";
  expect_error(ErrorId::argument_syntax, 0, "no shape", [&] { read_shapes(path); });
  std::ofstream(path) << "f32[8]\nf32[8] g32[8]\n";
  expect_error(ErrorId::argument_syntax, 0, path + ":2", [&] { read_shapes(path); });
  std::filesystem::remove(path);
}

TEST(TuneProgressText, SaysWhatIsKnown) {
  EXPECT_EQ(
      progress_text({.tried = 3, .failed = 1, .seconds = 2, .budget = 10, .phase = "compiling"}),
      "tried 3, failed 1, 8 s left (compiling)");
  EXPECT_EQ(progress_text({.tried = 43,
                           .failed = 2,
                           .best_us = 12.344,
                           .best_error = 0.05,
                           .seconds = 11,
                           .budget = 10,
                           .phase = "searching"}),
            "tried 43, failed 2, best 12.34 +- 0.05 us, 0 s left");
}

// Live: the line is written over. Else a line for each improvement.
TEST(TuneProgressText, LivesOnOneLineOrSeveral) {
  const auto shown = [](bool live) {
    std::FILE* file = std::tmpfile();
    TuneProgress progress(file, live);
    progress.update("k", {.tried = 10, .best_us = 100, .budget = 10, .phase = "searching"});
    progress.update("k", {.tried = 20, .best_us = 100, .budget = 10, .phase = "searching"});
    progress.update("k", {.tried = 30, .best_us = 9, .budget = 10, .phase = "searching"});
    progress.finish();
    std::string text(static_cast<size_t>(std::ftell(file)), '\0');
    std::rewind(file);
    EXPECT_EQ(std::fread(text.data(), 1, text.size(), file), text.size());
    std::fclose(file);
    return text;
  };
  const std::string live = shown(true), plain = shown(false);
  EXPECT_EQ(std::ranges::count(live, '\n'), 0);
  EXPECT_EQ(std::ranges::count(live, '\r'), 5);
  EXPECT_EQ(std::ranges::count(plain, '\n'), 2);
  EXPECT_EQ(std::ranges::count(plain, '\r'), 0);
}

}  // namespace
}  // namespace tilewright::cli
