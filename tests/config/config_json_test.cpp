// Configs as text: both ways, and every way to get a field wrong.
#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tilewright/codegen/config.h"

namespace tilewright {
namespace {

using testing::expect_error;

TEST(ConfigJson, PrintsWhatDiffersFromTheDefault) {
  EXPECT_EQ(to_json(Config{}), R"({"block":[]})");
  Config config;
  config.block = {128, 96, 3};
  config.warps = 8;
  config.copy = CopyKind::sync;
  EXPECT_EQ(to_json(config), R"({"block":[128,96,3],"warps":8,"copy":"sync"})");
}

TEST(ConfigJson, RoundTrip) {
  const Config all{.block = {1, 3, 192},
                   .order = {2, 0, 1},
                   .group = 4,
                   .warps = 3,
                   .stages = 5,
                   .copy = CopyKind::tma,
                   .matrix = MatrixUnit::wgmma,
                   .vector = 8,
                   .blocks_per_sm = 2,
                   .persistent = true,
                   .turns = 2,
                   .cluster = 2,
                   .split_k = 7,
                   .repitch = true,
                   .reduction_loop = 4096,
                   .tunables = {{"split", 4}, {"depth", -1}}};
  EXPECT_EQ(parse_config(to_json(all)), all);
  EXPECT_EQ(parse_config(to_json(Config{})), Config{});
  EXPECT_EQ(parse_config("{}"), Config{});
  EXPECT_EQ(parse_config(" {\"matrix\": \"mma\",\n \"block\": [64, 64]} ").matrix, MatrixUnit::mma);
}

TEST(ConfigJson, NamesOfKinds) {
  EXPECT_EQ(to_string(CopyKind::cp_async), "cp_async");
  EXPECT_EQ(to_string(MatrixUnit::fma), "fma");
}

TEST(ConfigJson, NotAnObject) {
  for (std::string_view text : {"", "{", "[1,2]", "3", "{\"warps\":}", "{\"warps\":4} x", "null"})
    expect_error(ErrorId::config_json, 0, "one line of JSON", [&] { parse_config(text); });
  expect_error(ErrorId::config_json, 0, "found [1,2]", [] { parse_config("[1,2]"); });
  expect_error(ErrorId::config_json, 0, "line 1, column 2", [] { parse_config("{"); });
  expect_error(ErrorId::config_json, 0, "field \"warps\" is given twice",
               [] { parse_config(R"({"warps":4,"stages":2,"warps":8})"); });
}

TEST(ConfigJson, UnknownField) {
  expect_error(ErrorId::config_unknown_field, 0,
               "'warp' does not exist; the fields are block, order",
               [] { parse_config(R"({"block":[64],"warp":4})"); });
}

struct BadField {
  std::string_view field, value, expected, found;
};

TEST(ConfigJson, EveryFieldRefusesWrongValues) {
  const BadField cases[] = {
      {"block", "64", "a list of sizes", "64"},
      {"block", "[64,0]", "a list of sizes from 1", "[64,0]"},
      {"block", "[-1]", "a list of sizes from 1", "[-1]"},
      {"block", "[64.5]", "a list of sizes", "[64.5]"},
      {"block", "[\"64\"]", "a list of sizes", "[\"64\"]"},
      {"block", "[1073741825]", "a list of sizes from 1 to 1073741824", "[1073741825]"},
      {"block", "[18446744073709551615]", "a list of sizes", "[18446744073709551615]"},
      {"order", "1", "a list with each number from 0", "1"},
      {"order", "[0,0]", "a list with each number from 0", "[0,0]"},
      {"order", "[1,2]", "a list with each number from 0", "[1,2]"},
      {"order", "[-1,0]", "a list with each number from 0", "[-1,0]"},
      {"order", "[4294967296]", "a list with each number from 0", "[4294967296]"},
      {"group", "0", "an integer from 1", "0"},
      {"warps", "\"four\"", "an integer from 1", "\"four\""},
      {"warps", "4.0", "an integer from 1", "4.0"},
      {"warps", "0", "an integer from 1", "0"},
      {"warps", "99999999999", "an integer from 1", "99999999999"},
      {"stages", "0", "an integer from 1 to 1024", "0"},
      {"copy", "\"async\"", "one of sync, cp_async, tma", "\"async\""},
      {"copy", "1", "one of sync, cp_async, tma", "1"},
      {"matrix", "\"tensor\"", "one of fma, mma, wgmma", "\"tensor\""},
      {"vector", "12", "4, 8 or 16", "12"},
      {"vector", "2", "4, 8 or 16", "2"},
      {"vector", "32", "4, 8 or 16", "32"},
      {"blocks_per_sm", "33", "an integer from 1 to 32", "33"},
      {"persistent", "1", "true or false", "1"},
      {"turns", "3", "an integer from 1 to 2", "3"},
      {"cluster", "null", "an integer from 1", "null"},
      {"split_k", "-3", "an integer from 1", "-3"},
      {"repitch", "1", "true or false", "1"},
      {"reduction_loop", "-1", "an integer from 0", "-1"},
      {"tunables", "4", "an object with an integer for each name", "4"},
      {"tunables", "{\"split\":true}", "an object with an integer for each name",
       "{\"split\":true}"},
  };
  for (const BadField& bad : cases) {
    const std::string text = fmt::format(R"({{"{}":{}}})", bad.field, bad.value);
    SCOPED_TRACE(text);
    const auto parse = [&] { parse_config(text); };
    expect_error(ErrorId::config_field, 0,
                 fmt::format("config field '{}': expected {}", bad.field, bad.expected), parse);
    expect_error(ErrorId::config_field, 0, fmt::format("found {}", bad.found), parse);
  }
}

TEST(ConfigJson, LongValuesAreCut) {
  const std::string text = fmt::format(R"({{"warps":"{}"}})", std::string(1000, 'x'));
  try {
    parse_config(text);
    FAIL();
  } catch (const Error& error) {
    EXPECT_LT(std::string_view(error.what()).size(), 200u);
  }
}

}  // namespace
}  // namespace tilewright
