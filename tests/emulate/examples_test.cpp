// Every example's kernel against a reference in double: in the interpreter on all shapes, and as
// printed on a small one.
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <set>

#include "tests/support/example_cases.h"

namespace tilewright::testing {
namespace {

bool all_cases() { return std::getenv("TILEWRIGHT_ALL_CASES") != nullptr; }

TEST(ExampleKernels, Interpreted) {
  for (const ExampleCase& one : example_cases())
    for (const Config& config : example_configs(one)) {
      const std::string what = fmt::format("{} {}", one.name, to_json(config));
      try {
        EXPECT_EQ(run_example(one, config, Device::cpu()), "") << what;
      } catch (const std::exception& error) {
        ADD_FAILURE() << what << ": " << error.what();
      }
    }
}

// Parts of the list, which run at one time.
constexpr size_t kParts = 4;

class ExampleKernelsAsPrinted : public ::testing::TestWithParam<size_t> {};

// The first shape of each kernel with two configs; all of all with TILEWRIGHT_ALL_CASES=1.
TEST_P(ExampleKernelsAsPrinted, Emulated) {
  std::set<const KernelHandle*> seen;
  size_t number = 0;
  for (const ExampleCase& one : example_cases()) {
    if (!seen.insert(one.kernel).second && !all_cases()) continue;
    if (number++ % kParts != GetParam()) continue;
    const std::vector<Config> configs = example_configs(one);
    for (size_t i = 0; i < configs.size(); ++i) {
      if (i > 1 && !all_cases()) break;
      const std::string what = fmt::format("{} {}", one.name, to_json(configs[i]));
      try {
        EXPECT_EQ(run_example(one, configs[i], Device::emulate("sm_80")), "") << what;
      } catch (const std::exception& error) {
        ADD_FAILURE() << what << ": " << error.what();
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, ExampleKernelsAsPrinted, ::testing::Range<size_t>(0, kParts));

// What is dropped is decided by the seed and the position.
TEST(ExampleKernels, DropoutDoesNotDependOnTiles) {
  const int64_t n = 1001;
  const Array x = Array::from_host(std::vector<float>(n, 3.0f), {n}, Device::cpu());
  std::vector<float> first;
  for (const int64_t block : {64, 100, 1000}) {
    examples::dropout.set_config(Config{.block = {block}});
    const Array y = examples::dropout(x, 7, 0.25f);
    const auto values = y.values<float>();
    int64_t dropped = 0;
    for (const float value : values) {
      EXPECT_TRUE(value == 0 || value == 4) << value;
      dropped += value == 0;
    }
    EXPECT_NEAR(static_cast<double>(dropped), 250, 60);
    if (first.empty()) first.assign(values.begin(), values.end());
    EXPECT_TRUE(std::equal(values.begin(), values.end(), first.begin()));
  }
  const Array other = examples::dropout(x, 8, 0.25f);
  EXPECT_FALSE(std::equal(first.begin(), first.end(), other.values<float>().begin()));
  const Array emulated = examples::dropout(x.to(Device::emulate("sm_80")), 7, 0.25f).to_host();
  EXPECT_TRUE(std::equal(first.begin(), first.end(), emulated.values<float>().begin()));
  examples::dropout.set_config(std::nullopt);
}

// A tile in which nothing counts does not spoil what comes after it.
TEST(ExampleKernels, RowsMayBeginWithMaskedTiles) {
  std::vector<float> row(8, -std::numeric_limits<float>::infinity());
  row[5] = row[7] = 1;
  const Array x = Array::from_host(row, {1, 8}, Device::cpu());
  examples::softmax_two_pass.set_config(Config{.block = {1, 4, 4}});
  const Array y = examples::softmax_two_pass(x);
  examples::softmax_two_pass.set_config(std::nullopt);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(y.value(i), i == 5 || i == 7 ? 0.5 : 0.0) << i;
  const Array column = Array::from_host(row, {8, 1}, Device::cpu());
  const Array offsets = Array::from_host(std::vector<int64_t>{0, 8}, {2}, Device::cpu());
  examples::jagged_softmax.set_config(Config{.block = {1, 4, 4}});
  const Array z = examples::jagged_softmax(column, offsets);
  examples::jagged_softmax.set_config(std::nullopt);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(z.value(i), i == 5 || i == 7 ? 0.5 : 0.0) << i;
}

}  // namespace
}  // namespace tilewright::testing
