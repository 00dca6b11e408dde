// The helper that goldens are compared with.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/support/golden.h"

namespace tilewright::testing {
namespace {

/// Compares, even while this program renews its goldens.
class Golden : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const char* value = std::getenv(kVariable)) saved_ = value;
    ::unsetenv(kVariable);
  }
  void TearDown() override {
    if (saved_) ::setenv(kVariable, saved_->c_str(), 1);
  }

 private:
  static constexpr const char* kVariable = "TILEWRIGHT_UPDATE_GOLDENS";
  std::optional<std::string> saved_;
};

TEST_F(Golden, MissingIsAFailure) {
  EXPECT_NONFATAL_FAILURE(expect_golden("codegen/golden/missing.cu", "x"), "there is no golden");
  EXPECT_FALSE(std::filesystem::exists(TILEWRIGHT_SOURCE_DIR "/tests/codegen/golden/missing.cu"));
}

TEST_F(Golden, OtherTextIsAFailureThatNamesTheLine) {
  EXPECT_NONFATAL_FAILURE(expect_golden("codegen/golden/schedule.ir", "// before\nx\n"),
                          "differs at line 2");
}

}  // namespace
}  // namespace tilewright::testing
