// Figures of a GPU, as text and as typical of an architecture.
#include "tilewright/autotune/calibration.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace tilewright::tune {
namespace {

using testing::expect_error;

TEST(Calibration, IsTheSameAfterBeingWrittenAndRead) {
  for (const char* name : {"sm_75", "sm_80", "sm_90a", "sm_120a"}) {
    Calibration calibration = Calibration::typical(parse_target(name));
    EXPECT_EQ(parse_calibration(to_json(calibration)), calibration) << name;
    calibration.device = "a \"GPU\"";
    calibration.measured = true;
    calibration.copy_bytes_per_us = 1.0 / 3;
    EXPECT_EQ(parse_calibration(to_json(calibration)), calibration) << name;
  }
}

TEST(Calibration, EveryArchitectureHasFigures) {
  for (const char* name : {"sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_90a",
                           "sm_100a", "sm_103a", "sm_120a", "sm_121a"}) {
    const Calibration typical = Calibration::typical(parse_target(name));
    EXPECT_EQ(typical.device, name);
    EXPECT_FALSE(typical.measured);
    for (const double figure :
         {typical.copy_bytes_per_us, typical.l2_bytes_per_us, typical.l2_bytes,
          typical.clocks_per_us, typical.launch_us, typical.rate(MatrixUnit::fma, "f32")})
      EXPECT_GT(figure, 0) << name;
    EXPECT_GT(typical.l2_bytes_per_us, typical.copy_bytes_per_us) << name;
  }
  const Calibration hopper = Calibration::typical(parse_target("sm_90a"));
  EXPECT_GT(hopper.rate(MatrixUnit::wgmma, "bf16"), hopper.rate(MatrixUnit::mma, "bf16"));
  EXPECT_GT(hopper.rate(MatrixUnit::mma, "bf16"), hopper.rate(MatrixUnit::fma, "f32"));
  // What is not listed multiplies as f32 does.
  EXPECT_EQ(hopper.rate(MatrixUnit::wgmma, "f64"), hopper.rate(MatrixUnit::fma, "f32"));
}

TEST(Calibration, HalfTheMultiprocessorsComputeHalfAsMuch) {
  Target target = parse_target("sm_90a");
  const Calibration whole = Calibration::typical(target);
  target.multiprocessors /= 2;
  const Calibration half = Calibration::typical(target);
  EXPECT_DOUBLE_EQ(half.rate(MatrixUnit::wgmma, "bf16"), whole.rate(MatrixUnit::wgmma, "bf16") / 2);
  EXPECT_EQ(half.copy_bytes_per_us, whole.copy_bytes_per_us);
}

TEST(Calibration, MistakesInItsTextAreNamed) {
  const auto refused = [](const char* json, const char* part) {
    expect_error(ErrorId::calibration_json, 0, part, [&] { parse_calibration(json); });
  };
  refused("", "no JSON object");
  refused("[1]", "no JSON object");
  refused("{}", "\"device\"");
  refused(R"({"device":"x","measured":1})", "\"measured\"");
  refused(R"({"device":"x","measured":true})", "\"copy_bytes_per_us\"");
  refused(R"({"device":"x","measured":true,"copy_bytes_per_us":-1})", "\"copy_bytes_per_us\"");
  refused(R"({"device":"x","measured":true,"copy_bytes_per_us":1,"l2_bytes_per_us":1,)"
          R"("l2_bytes":1,"clocks_per_us":1,"launch_us":1})",
          "\"operations_per_us\"");
  refused(R"({"device":"x","measured":true,"copy_bytes_per_us":1,"l2_bytes_per_us":1,)"
          R"("l2_bytes":1,"clocks_per_us":1,"launch_us":1,)"
          R"("operations_per_us":{"fma f32":"fast"}})",
          "\"fma f32\"");
}

}  // namespace
}  // namespace tilewright::tune
