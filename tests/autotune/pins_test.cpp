// Files of pinned configs, and names of policies.
#include "tilewright/autotune/pins.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "tests/autotune/sample_trials.h"
#include "tests/autotune/temporary_folder.h"
#include "tests/support/expect_error.h"
#include "tilewright/autotune/policy.h"

namespace tilewright::tune {
namespace {

using testing::expect_error;
using testing::sample_config;
using testing::sample_key;
using testing::sample_trial;
using PinsTest = testing::MemoryFolderTest;

Pin pin_of(int64_t m, int64_t block, const std::string& kernel = "product") {
  return {sample_key(m, 64, 64, kernel), sample_config(block), 12.5, 0.25, "full", {}};
}

TEST_F(PinsTest, AFileComesBack) {
  const std::vector<Pin> pins = {pin_of(16, 32), pin_of(8, 64, "a")};
  const std::string text = to_json(pins);
  std::ofstream(path("pins.json")) << text;
  const std::vector<Pin> found = read_pins(path("pins.json"));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].key, pins[1].key);  // by name
  EXPECT_EQ(found[1].key, pins[0].key);
  EXPECT_EQ(found[1].config, sample_config(32));
  EXPECT_EQ(found[1].microseconds, 12.5);
  EXPECT_EQ(found[1].error, 0.25);
  EXPECT_EQ(found[1].effort, "full");
  EXPECT_EQ(found[1].file, path("pins.json"));
  EXPECT_EQ(to_json(found), text);
  EXPECT_EQ(std::ranges::count(text, '\n'), 4);  // a pin a line
}

TEST_F(PinsTest, WrittenByHandAFewFieldsAreEnough) {
  const auto pins = parse_pins(
      R"({"format":"tilewright-pins","version":1,"pins":[
        {"kernel":"k","tensors":"f32[8] bf16[4,4]:[1,4]@2","device":"GPU","config":{"block":[8]}}]})",
      "pins");
  ASSERT_EQ(pins.size(), 1u);
  EXPECT_EQ(pins[0].key.specs[1], (TensorSpec{DType::bf16, {4, 4}, {1, 4}, 2}));
  EXPECT_EQ(pins[0].config.block, std::vector<int64_t>{8});
}

TEST_F(PinsTest, ErrorsNameTheFileAndThePin) {
  const auto refused = [](const std::string& json, std::string_view text) {
    expect_error(ErrorId::pin_file, 0, text, [&] { parse_pins(json, "p.json"); });
  };
  const std::string head = R"({"format":"tilewright-pins","version":1,"pins":[)";
  const std::string good = R"("kernel":"k","tensors":"f32[8]","device":"GPU")";
  expect_error(ErrorId::pin_file, 0, "none.json: the file cannot be read",
               [&] { read_pins(path("none.json")); });
  refused("{", "p.json: this is no file of pinned configs");
  refused("[]", "tilewright cache export");
  refused(R"({"format":"tilewright-pins","version":2,"pins":[]})", "version 2");
  refused(head + "3]}", "pin 1 is no object");
  refused(head + "{}]}", "pin 1 has no text 'kernel'");
  refused(head + "{" + good + "}]}", "pin 1 has no 'config'");
  refused(head + "{" + good + R"(,"config":{"blocks":[8]}}]})", "'blocks'");
  refused(head + "{" + good + R"(,"config":{},"microseconds":"1"}]})", "'microseconds'");
  refused(head + "{" + good + R"(,"config":{},"code":"xyz"}]})", "'code'");
  for (const char* tensors :
       {"f32", "f32[8", "x[8]", "f32[-1]", "f32[8]:[1,1]", "f32[8] f", "f32[8]@0"})
    refused(head + R"({"kernel":"k","tensors":")" + tensors + R"(","device":"GPU","config":{}}]})",
            "is no list of tensors");
}

TEST_F(PinsTest, ThePinOfAKeyHasItsNameDeviceAndTensors) {
  std::vector<Pin> pins = {pin_of(8, 1), pin_of(8, 2), pin_of(16, 3)};
  pins[0].key.code = 1;
  pins[1].key.code = 2;
  TuneKey key = sample_key(8);
  EXPECT_EQ(find_pin(pins, key), &pins[1]);  // the last one
  key.code = 1;
  EXPECT_EQ(find_pin(pins, key), &pins[0]);  // that of the same code
  key.machine.driver = "another";
  EXPECT_EQ(find_pin(pins, key), &pins[0]);
  key.machine.device = "another";
  EXPECT_EQ(find_pin(pins, key), nullptr);
  EXPECT_EQ(find_pin(pins, sample_key(9)), nullptr);
  EXPECT_EQ(find_pin(pins, sample_key(8, 64, 64, "other")), nullptr);
}

TEST_F(PinsTest, AreTheBestOfTheEntries) {
  Store store(path("s"));
  store.add(sample_key(8), std::vector{sample_trial(8, 3), sample_trial(16, 2)}, "quick");
  store.add(sample_key(9), std::vector{testing::failed_trial(8, Trial::Status::crashed, "no")},
            "quick");
  const std::vector<Pin> pins = pins_of(store.entries());
  ASSERT_EQ(pins.size(), 1u);
  EXPECT_EQ(pins[0].key, sample_key(8));
  EXPECT_EQ(pins[0].config, sample_config(16));
  EXPECT_EQ(pins[0].microseconds, 2);
  EXPECT_EQ(pins[0].effort, "quick");
}

using PolicyTest = testing::MemoryFolderTest;

TEST_F(PolicyTest, HaveNames) {
  for (const char* name : {"off", "cached", "quick", "full", "frozen"})
    EXPECT_EQ(to_string(parse_tune_policy(name)), name);
  expect_error(ErrorId::tune_policy, 0, "'fast'; expected off, cached, quick, full or frozen",
               [] { parse_tune_policy("fast"); });
}

TEST_F(PolicyTest, ComeFromTheEnvironment) {
  EXPECT_EQ(default_tune_policy(), TunePolicy::cached);
  EXPECT_FALSE(environment_tune_policy());
  setenv("TILEWRIGHT_TUNE", "", 1);
  EXPECT_EQ(default_tune_policy(), TunePolicy::cached);
  setenv("TILEWRIGHT_TUNE", "frozen", 1);
  EXPECT_EQ(default_tune_policy(), TunePolicy::frozen);
  setenv("TILEWRIGHT_TUNE", "fast", 1);
  expect_error(ErrorId::tune_policy, 0, "'fast'", [] { default_tune_policy(); });
}

}  // namespace
}  // namespace tilewright::tune
