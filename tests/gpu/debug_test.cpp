// Random numbers, printing and PTX on a GPU: what the interpreter gives.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/gpu.h"
#include "tilewright/tilewright.h"

namespace tilewright {
namespace {

class GpuDebug : public testing::GpuTest {};

/// The result of a kernel of one vector 0, 1, .. on a device.
template <class F>
std::vector<float> result_of(const char* name, F body, Device device) {
  auto k = kernel(name, std::move(body));
  std::vector<float> values(1000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const Array out = k(Array::from_host(values, {1000}, device)).to_host();
  const auto read = out.values<float>();
  return {read.begin(), read.end()};
}

template <class F>
void expect_equal(const char* name, F body) {
  EXPECT_EQ(result_of(name, body, Device::cuda(0)), result_of(name, body, Device::cpu()));
}

TEST_F(GpuDebug, RandomNumbersAreTheInterpreters) {
  expect_equal("uniform", [](Tensor x) {
    Tensor y = empty_like(x);
    for (auto i : tile(x.size(0))) {
      const auto numbers = rand4x({i}, 99);
      y[i] = numbers[0] + numbers[1] * 2 + numbers[2] * 4 + numbers[3] * 8;
    }
    return y;
  });
  expect_equal("dice", [](Tensor x) {
    Tensor y = empty_like(x);
    for (auto i : tile(x.size(0))) y[i] = cast(randint({i}, -100, 100, 5), f32);
    return y;
  });
}

TEST_F(GpuDebug, PtxComputesWhatItsHostFunctionDoes) {
  expect_equal("own_ptx", [](Tensor x) {
    Tensor y = empty_like(x);
    for (auto i : tile(x.size(0)))
      y[i] = inline_ptx("fma.rn.f32 %0, %1, %1, %2;", f32, {x[i], x[i] + 1.0},
                        [](float a, float b) { return std::fma(a, a, b); });
    return y;
  });
}

TEST_F(GpuDebug, PrintsToTheStandardOutput) {
  ::testing::internal::CaptureStdout();
  result_of(
      "printing",
      [](Tensor x) {
        Tensor y = empty_like(x);
        for (auto i : tile(x.size(0))) {
          print("value {}", where(x[i] == 17.0, x[i], 0.0));
          device_assert(x[i] >= 0.0, "not negative");
          y[i] = x[i];
        }
        return y;
      },
      Device::cuda(0));
  std::fflush(stdout);
  const std::string text = ::testing::internal::GetCapturedStdout();
  EXPECT_NE(text.find("value 17 (program"), std::string::npos);
  EXPECT_NE(text.find("element [17])"), std::string::npos);
}

}  // namespace
}  // namespace tilewright
