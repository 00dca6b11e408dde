// Which config a row of the benchmarks is run with.
#include "bench/gemm_configs.h"

#include <gtest/gtest.h>

#include <fstream>

#include "bench/gemm_problem.h"

namespace tilewright::bench {
namespace {

TEST(BenchConfigs, PatternsMatchNames) {
  EXPECT_TRUE(matches("", "bf16 nn 512x512x512"));
  EXPECT_TRUE(matches("nn 512", "bf16 nn 512x512x512"));
  EXPECT_FALSE(matches("nt", "bf16 nn 512x512x512"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("bf16 *", "bf16 nn 512x512x512"));
  EXPECT_FALSE(matches("f16 *", "bf16 nn 512x512x512"));
  EXPECT_TRUE(matches("*x512", "bf16 nn 512x512x512"));
  EXPECT_FALSE(matches("*x51", "bf16 nn 512x512x512"));
  EXPECT_TRUE(matches("bf16 * 512x*x512", "bf16 nn 512x512x512"));
  EXPECT_FALSE(matches("bf16*bf16", "bf16"));
  EXPECT_TRUE(matches_any("f32*,bf16 *", "bf16 nn"));
  EXPECT_FALSE(matches_any("f32*,bf16 nt", "bf16 nn"));
}

TEST(BenchConfigs, EntriesAreRead) {
  const auto entries = parse_config_entries(R"([
    {"block":[1,2]},
    {"shape":"a*","config":{"block":[3]}},
    {"shape":"b","configs":[{"block":[4]},{"block":[5]}]},
    {"shape":"c","grid":{"block":[[6,7],[8,9]],"stages":[2,3],"matrix":["wgmma"]}}
  ])");
  ASSERT_EQ(entries.size(), 8U);
  EXPECT_EQ(entries[0].shape, "");
  EXPECT_EQ(entries[0].config.block, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(entries[1].shape, "a*");
  EXPECT_EQ(entries[3].config.block, (std::vector<int64_t>{5}));
  for (size_t i = 4; i < 8; ++i) {
    EXPECT_EQ(entries[i].shape, "c");
    EXPECT_EQ(entries[i].config.matrix, MatrixUnit::wgmma);
    EXPECT_EQ(entries[i].config.block[0], i < 6 ? 6 : 8);
    EXPECT_EQ(entries[i].config.stages, i % 2 == 0 ? 2 : 3);
  }
  EXPECT_EQ(config_for(entries, "ab")->block, (std::vector<int64_t>{1, 2}));  // the first that fits
  EXPECT_EQ(configs_for(entries, "b").size(), 3U);
}

TEST(BenchConfigs, MistakesAreNamed) {
  const auto message = [](const char* json) {
    try {
      parse_config_entries(json);
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_NE(message("[").find("no JSON"), std::string::npos);
  EXPECT_NE(message("{}").find("must be a JSON array"), std::string::npos);
  EXPECT_NE(message("[3]").find("must be an object"), std::string::npos);
  EXPECT_NE(message(R"([{"shape":"a","confg":{}}])").find("\"confg\""), std::string::npos);
  EXPECT_NE(message(R"([{"grid":{"stages":3}}])").find("\"stages\""), std::string::npos);
  EXPECT_NE(message(R"([{"blok":[1]}])").find("blok"), std::string::npos);
  EXPECT_THROW(read_config_entries("/nowhere/configs.json"), std::runtime_error);
}

TEST(BenchConfigs, HandSetOnesFitSomeRow) {
  for (const ConfigEntry& entry : hand_set_configs()) {
    int rows = 0;
    for (const Problem& problem : gemm_problems()) rows += matches(entry.shape, problem.name);
    EXPECT_GT(rows, 0) << entry.shape;
  }
}

}  // namespace
}  // namespace tilewright::bench
