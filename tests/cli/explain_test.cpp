// `tilewright explain`: the account that the model gives of a launch.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/explanation.h"
#include "examples/kernels/matmul.h"
#include "examples/kernels/softmax.h"
#include "tests/support/expect_error.h"
#include "tests/support/run_command.h"
#include "tilewright/ir/print.h"

namespace tilewright::cli {
namespace {

using Json = nlohmann::json;
using testing::expect_error;

testing::CommandResult explained(const std::string& arguments) {
  return testing::run_command(fmt::format("TILEWRIGHT_DEVICE=cpu {}/cli/tilewright explain {}",
                                          TILEWRIGHT_BINARY_DIR, arguments));
}

Json json_of(const std::string& arguments) {
  const testing::CommandResult result = explained(arguments + " --json");
  EXPECT_EQ(result.status, 0) << result.output;
  return Json::parse(result.output);
}

constexpr const char* kSmall =
    "matmul 'f16[128,128]' 'f16[128,128]' --out f32 --arch sm_80 "
    "--config '{\"block\":[16,16,32],\"stages\":1}'";

TEST(Explain, ShowsWorkingSetTrafficAndTimeToPeople) {
  const testing::CommandResult result = explained(kSmall);
  EXPECT_EQ(result.status, 0);
  for (const char* part :
       {"f16[16,32]                  1 KiB", "f16[32,16]                  1 KiB",
        "f32[16,16]                  1 KiB  accumulator", "3 KiB", "256 KiB  read 8 times",
        "f32[128,128]               64 KiB  written once", "576 KiB", "4,194,304",
        "7.11 operations a byte", "waves", "occupancy", "predicted time", "bound by latency",
        "typical of the architecture", "search space", "Not modelled", "latencies are not"})
    EXPECT_NE(result.output.find(part), std::string::npos) << part << " is missing in\n"
                                                           << result.output;
}

TEST(Explain, ShowsTheSameToPrograms) {
  const Json json = json_of(kSmall);
  ASSERT_EQ(json["working_set"].size(), 3U);
  for (const Json& tile : json["working_set"]) EXPECT_EQ(tile["bytes"], 1024);
  EXPECT_EQ(json["working_set_bytes"], 3072);
  EXPECT_EQ(json["further_stages_bytes"], 0);
  EXPECT_EQ(json["shared_bytes"], 2048);
  ASSERT_EQ(json["traffic"].size(), 3U);
  EXPECT_EQ(json["traffic"][0]["read_bytes"], 256 << 10);
  EXPECT_EQ(json["traffic"][1]["read_bytes"], 256 << 10);
  EXPECT_EQ(json["traffic"][2]["written_bytes"], 64 << 10);
  EXPECT_EQ(json["traffic_bytes"], 576 << 10);
  EXPECT_EQ(json["operations"], 4194304);
  EXPECT_EQ(json["blocks"], 64);
  EXPECT_EQ(json["config"]["block"], Json({16, 16, 32}));
  EXPECT_GT(json["predicted_us"], 0);
  EXPECT_GT(json["space"], 2000);
  EXPECT_FALSE(json["picked_by_model"].get<bool>());
}

// Stages, padding and scratch stand beside the working set, and together they are what a block has.
TEST(Explain, AccountsForAllSharedMemory) {
  const Json json = json_of(
      "matmul 'bf16[512,512]' 'bf16[512,512]' --arch sm_90a --config "
      "'{\"block\":[128,128,64],\"warps\":8,\"stages\":3,\"copy\":\"tma\",\"matrix\":\"wgmma\"}'");
  int64_t staged = 0;
  for (const Json& tile : json["working_set"])
    if (tile["staged"]) staged += tile["bytes"].get<int64_t>();
  EXPECT_EQ(staged, 2 * 128 * 64 * 2);
  EXPECT_EQ(json["further_stages_bytes"], 2 * staged);
  EXPECT_EQ(json["padding_bytes"], 0);
  EXPECT_GT(json["scratch_bytes"], 0);
  EXPECT_EQ(json["shared_bytes"].get<int64_t>(), 3 * staged + json["scratch_bytes"].get<int64_t>());
}

TEST(Explain, EdgeTilesAndKernelsWithoutAConfig) {
  const Json edges =
      json_of("matmul 'f32[96,96]' 'f32[96,96]' --arch sm_80 --config '{\"block\":[64,64,64]}'");
  EXPECT_EQ(edges["working_set"][0]["bytes"], 64 * 64 * 4);
  EXPECT_EQ(edges["working_set"][0]["last_tile_bytes"], 32 * 32 * 4);
  EXPECT_EQ(edges["traffic"][0]["read_bytes"], 2 * 96 * 96 * 4);
  const Json softmax = json_of("softmax 'bf16[8192,1024]' --arch sm_90a");
  EXPECT_TRUE(softmax["picked_by_model"].get<bool>());
  EXPECT_EQ(softmax["traffic_bytes"], 2 * 8192 * 1024 * 2);
  EXPECT_EQ(softmax["bound"], "memory");
}

TEST(Explain, CopiesWithPaddedRowsAreNamed) {
  const testing::CommandResult result = explained(
      "matmul 'bf16[1001,1001]' 'bf16[1001,1001]' --arch sm_90a --config "
      "'{\"block\":[64,128,64],\"stages\":4,\"copy\":\"tma\",\"matrix\":\"wgmma\","
      "\"repitch\":true}'");
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_NE(result.output.find("padded rows"), std::string::npos) << result.output;
}

TEST(Explain, MistakesAreTheUsers) {
  const auto fails = [](const std::string& arguments, const char* part) {
    const testing::CommandResult result = explained(arguments);
    EXPECT_EQ(result.status, 1) << result.output;
    EXPECT_NE(result.output.find(part), std::string::npos) << result.output;
  };
  fails("matmul 'f16[8,8]' 'f16[8,8]' --out f99", "it is no dtype");
  fails("matmul 'f16[8,8]' 'f16[8,8]' --out i32", "which would be cut");
  fails("matmul 'f16[8,8]' 'f16[8,8]' --config '{\"block\":[8]}'", "3 tile axes");
  fails("matmul 'f16[8,8]' 'f16[8,8]' --arch sm_1", "sm_1");
}

std::shared_ptr<const ir::Function> traced_matmul(DType dtype) {
  const std::vector<CompileArg> args = {contiguous_spec(dtype, {64, 64}),
                                        contiguous_spec(dtype, {64, 64})};
  return examples::matmul.handle().trace(args);
}

// The sums themselves are stored, not what they were rounded to.
TEST(Explain, ResultsOfAnotherDtypeAreNotRoundedTwice) {
  const auto halves = traced_matmul(DType::f16);
  EXPECT_NE(ir::print(*halves).find("= cast"), std::string::npos);
  const std::string text = ir::print(with_result_dtype(*halves, DType::f32));
  EXPECT_EQ(text.find("= cast"), std::string::npos) << text;
  EXPECT_NE(text.find("f32[64,64]"), std::string::npos) << text;
  expect_error(ErrorId::argument_syntax, 0, "cut", [&] { with_result_dtype(*halves, DType::i32); });
}

}  // namespace
}  // namespace tilewright::cli
