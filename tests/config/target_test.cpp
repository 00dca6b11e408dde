// Architectures by name and by compute capability.
#include "tilewright/codegen/target.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace tilewright {
namespace {

using testing::expect_error;

TEST(Target, NamesReadBack) {
  for (const std::string name :
       {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_120", "sm_120a"})
    EXPECT_EQ(parse_target(name).name(), name);
}

TEST(Target, LimitsAreThoseOfTheArchitecture) {
  EXPECT_EQ(parse_target("sm_75").shared_bytes, 64 * 1024);
  EXPECT_EQ(parse_target("sm_80").shared_bytes, 163 * 1024);
  EXPECT_EQ(parse_target("sm_90a").shared_bytes, 227 * 1024);
  EXPECT_FALSE(parse_target("sm_75").has_cp_async());
  EXPECT_TRUE(parse_target("sm_80").has_cp_async());
}

TEST(Target, UnknownNamesAreRefused) {
  for (const std::string name : {"", "sm_", "sm_80x", "80", "sm_80a", "sm_12", "sm_7 5",
                                 "compute_80", "sm_-80", "sm_99999999999999999999"})
    expect_error(ErrorId::unknown_target, 0, "unknown GPU architecture '" + name + "'",
                 [&] { parse_target(name); });
}

TEST(Target, DevicesGetTheNewestArchitectureTheyHave) {
  EXPECT_EQ(target_of_device(9, 0, 132).name(), "sm_90a");
  EXPECT_EQ(target_of_device(9, 0, 114).multiprocessors, 114);
  EXPECT_EQ(target_of_device(8, 6, 84).name(), "sm_86");
  // An unknown one runs code of the newest known before it, not of its "a" variant.
  EXPECT_EQ(target_of_device(9, 9, 100).name(), "sm_90");
}

TEST(Target, OldDevicesAreRefused) {
  expect_error(ErrorId::device_too_old, 0, "compute capability 7.0; Tilewright needs 7.5",
               [] { target_of_device(7, 0, 80); });
}

}  // namespace
}  // namespace tilewright
