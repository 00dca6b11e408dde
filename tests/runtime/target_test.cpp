// Architectures by name and by device.
#include "tilewright/codegen/target.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace tilewright {
namespace {

using testing::expect_error;

TEST(Target, NamesBothWays) {
  for (const char* name :
       {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_120a"})
    EXPECT_EQ(parse_target(name).name(), name);
}

TEST(Target, UnknownNames) {
  for (const char* name : {"", "sm_", "sm_81", "sm_80a", "compute_80", "sm_90b", "90"})
    expect_error(ErrorId::unknown_target, 0, fmt::format("'{}'", name),
                 [&] { parse_target(name); });
}

TEST(Target, OfDevices) {
  EXPECT_EQ(target_of_device(9, 0, 132).name(), "sm_90a");
  EXPECT_EQ(target_of_device(8, 0, 108).name(), "sm_80");
  EXPECT_EQ(target_of_device(8, 8, 10).name(), "sm_87");  // the newest that its code runs on
  expect_error(ErrorId::device_too_old, 0, "compute capability 6.1",
               [] { target_of_device(6, 1, 20); });
}

}  // namespace
}  // namespace tilewright
