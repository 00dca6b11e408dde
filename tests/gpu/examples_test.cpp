// Every example's kernel on a GPU, against a reference in double.
#include <gtest/gtest.h>

#include "tests/support/example_cases.h"
#include "tests/support/gpu.h"

namespace tilewright::testing {
namespace {

using GpuExamples = GpuTest;

TEST_F(GpuExamples, EveryKernelOnEveryShape) {
  for (const ExampleCase& one : example_cases())
    for (const Config& config : example_configs(one))
      EXPECT_EQ(run_example(one, config, Device::cuda(0)), "")
          << one.name << " " << to_json(config);
}

// Rows of every length: whole, and in chunks.
TEST_F(GpuExamples, RowsOfEveryLength) {
  for (const int64_t n : {1, 7, 64, 1000, 1001, 12288, 65536, 1000000})
    for (const int loop : {0, 1024, 8192}) {
      if (n > 65536 && loop == 0) continue;
      ExampleCase one(examples::softmax, 1e-5, fmt::format("{} in chunks of {}", n, loop));
      const Values x = one.random({3, n});
      Values& y = one.expect({3, n});
      for (int64_t i = 0; i < 3; ++i) {
        const double sum = sum_over(n, [&](auto j) { return std::exp(x(i, j)); });
        for (int64_t j = 0; j < n; ++j) y(i, j) = std::exp(x(i, j)) / sum;
      }
      Config config{.block = {1}, .warps = n > 8192 ? 16 : 4};
      config.reduction_loop = loop;
      EXPECT_EQ(run_example(one, config, Device::cuda(0)), "") << one.name;
    }
}

}  // namespace
}  // namespace tilewright::testing
