// Measuring a GPU on a driver without one: every kernel is compiled and launched, and the figures
// follow from the times that the driver gives.
#include "tilewright/autotune/calibration.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/use_fake_cuda.h"
#include "tilewright/runtime/driver.h"

namespace tilewright::tune {
namespace {

using testing::fake_cuda;
using testing::FakeCuda;

FakeCuda& installed = fake_cuda();

TEST(MeasureCalibration, LaunchesEveryKernelAndUsesTheTimes) {
  installed.launches.clear();
  installed.run = nullptr;
  const Calibration measured = measure_calibration(0);
  std::set<std::string> seen;
  for (const testing::FakeLaunch& launch : installed.launches)
    seen.insert(launch.kernel.substr(0, launch.kernel.find("_", 12)));
  for (const char* kernel : {"tilewright_fill", "tilewright_copy", "tilewright_read"})
    EXPECT_TRUE(seen.contains(kernel)) << kernel;
  EXPECT_TRUE(measured.measured);
  EXPECT_EQ(measured.device, runtime::device_info(0).name);
  // The driver says 1.5 ms of everything, 4 copies of a quarter of its 64 MiB among them, which
  // read and write.
  EXPECT_DOUBLE_EQ(measured.copy_bytes_per_us, 2.0 * (16 << 20) * 4 / 1500);
  EXPECT_GT(measured.l2_bytes_per_us, 0);
  EXPECT_GT(measured.launch_us, 0);
  EXPECT_EQ(parse_calibration(to_json(measured)), measured);
  const Calibration typical = Calibration::typical(runtime::device_target(0));
  EXPECT_NE(measured.rate(MatrixUnit::fma, "f32"), typical.rate(MatrixUnit::fma, "f32"));
}

}  // namespace
}  // namespace tilewright::tune
