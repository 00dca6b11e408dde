// The host implementations of device helpers give what a GPU gave: fixtures recorded on one by
// tests/gpu/twins_test.cpp.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/twin_probe_list.h"
#include "tilewright/codegen/prelude_wgmma.h"
#include "tilewright/runtime/emulator_prelude.h"

namespace tilewright::testing {
namespace {

const std::string kFolder = std::string(TILEWRIGHT_SOURCE_DIR) + "/tests/emulate/fixtures";

class RecordedTwins : public ::testing::TestWithParam<TwinProbe> {};
INSTANTIATE_TEST_SUITE_P(Probes, RecordedTwins, ::testing::ValuesIn(twin_probes()),
                         [](const auto& info) { return info.param.name; });

TEST_P(RecordedTwins, GiveWhatAGpuGave) {
  const TwinProbe& probe = GetParam();
  std::string report;
  const Words found = probe.sample(probe.emulate(parse_target("sm_90a"), report));
  EXPECT_EQ(report, "") << probe.code();
  if (!std::filesystem::exists(kFolder))
    GTEST_SKIP() << "NO FIXTURES, NOT COMPARED: record them with tests/gpu_tests on a GPU";
  std::ifstream file(kFolder + "/" + probe.name + ".txt");
  ASSERT_TRUE(file) << "there is no fixture of this probe in " << kFolder;
  std::string line;
  Words expected;
  while (std::getline(file, line)) {
    if (line.starts_with("#")) continue;
    std::istringstream words(line);
    for (uint32_t word; words >> std::hex >> word;) expected.push_back(word);
  }
  EXPECT_EQ(probe.difference(found, expected), "") << probe.code();
}

TEST(TwinProbes, UseEveryHelperThatIsNotPlain) {
  std::set<std::string> used;
  for (const TwinProbe& probe : twin_probes()) used.merge(codegen::helpers_used(probe.code()));
  for (const codegen::Helper& helper : codegen::helpers()) {
    if (helper.text.find("asm") == std::string::npos) continue;
    const std::string key =
        helper.overload.empty() ? helper.name : fmt::format("{}:{}", helper.name, helper.overload);
    const bool multicast = helper.name == "tma_load_multicast";  // as tma_load in other ranks
    EXPECT_TRUE(used.contains(key) || (multicast && used.contains("tma_load_multicast:2"))) << key;
  }
}

}  // namespace
}  // namespace tilewright::testing
