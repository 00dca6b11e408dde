// Mistakes that a kernel can hide at its edges: lanes that disagree, indices outside a tensor,
// grids whose size is computed. The emulator against the interpreter.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <vector>

#include "tests/support/expect_error.h"
#include "tilewright/tilewright.h"

namespace tilewright {
namespace {

using testing::expect_error;

std::vector<double> values(const Array& array) {
  std::vector<double> result;
  for (int64_t i = 0; i < array.elements(); ++i) result.push_back(array.value(i));
  return result;
}

/// One element above 3 in every other row, at a different place in each.
Array spikes(int64_t rows, int64_t cols, Device device) {
  std::vector<float> data(static_cast<size_t>(rows * cols), 1.0f);
  for (int64_t r = 0; r < rows; r += 2) data[r * cols + (7 * r + 5) % cols] = 4.0f;
  return Array::from_host(data, {rows, cols}, device);
}

const auto any_and_all = kernel("any_and_all", [](Tensor x) {
  Tensor some = empty({x.size(0)}, boolean);
  Tensor every = empty({x.size(0)}, boolean);
  for (auto rows : tile(x.size(0))) {
    some[rows] = any(x[rows, all] > 3.0f, axis(1));
    every[rows] = tilewright::all(x[rows, all] < 3.0f, axis(1));
  }
  return std::tuple{some, every};
});

TEST(Edges, LanesThatDisagreeInAnyAndAll) {
  for (const int64_t cols : {3, 64, 1000}) {
    const auto [cpu_some, cpu_every] = any_and_all(spikes(9, cols, Device::cpu()));
    const Device device = Device::emulate("sm_80");
    const auto [some, every] = any_and_all(spikes(9, cols, device));
    EXPECT_EQ(values(some), values(cpu_some));
    EXPECT_EQ(values(every), values(cpu_every));
    EXPECT_EQ(values(some), (std::vector<double>{1, 0, 1, 0, 1, 0, 1, 0, 1}));
  }
}

const auto divide_rows = kernel("divide_rows", [](Tensor x, Tensor divisors) {
  Tensor y = empty_like(x);
  for (auto rows : tile(x.size(0))) {
    Tile divisor = divisors[rows];
    y[rows, all] = x[rows, all] / divisor[all, none];
  }
  return y;
});

TEST(Edges, RowsDividedByOneAreRoundedOnce) {
  const std::vector<float> divisors = {3.0f,     -0.1f,    65535.0f, 0x1p-149f, 0x1.8p-101f,
                                       0x1p127f, INFINITY, 0.0f,     NAN,       0x1.fffffep0f};
  std::vector<float> x;
  for (size_t row = 0; row < divisors.size(); ++row)
    for (int i = 0; i < 64; ++i)  // in runs of numbers of one size, so that most runs need no more
      x.push_back(i % 32 == 5
                      ? 0.0f
                      : std::ldexp(1.0f + static_cast<float>(i * 37 % 64) / 65, i / 8 * 36 - 126));
  const auto run = [&](Device device) {
    return values(divide_rows(Array::from_host(x, {10, 64}, device),
                              Array::from_host(divisors, {10}, device)));
  };
  const std::vector<double> expected = run(Device::cpu()), found = run(Device::emulate("sm_80"));
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_TRUE(found[i] == expected[i] || (std::isnan(found[i]) && std::isnan(expected[i])))
        << x[i] << " / " << divisors[i / 64] << " is " << found[i];
    const float quotient = x[i] / divisors[i / 64];
    EXPECT_TRUE(found[i] == quotient || std::isnan(quotient));
  }
}

const auto pick = kernel("pick", [](Tensor x, Scalar<int64_t> at) {
  Tensor y = empty({2}, f32);
  for ([[maybe_unused]] auto once : grid(1)) {
    y[0] = x[at];
    y[1] = x[at + 1] * 2.0f;
  }
  return y;
});

TEST(Edges, ScalarIndicesOutsideATensorReadZero) {
  const std::vector<float> data = {1, 2, 3, 4};
  for (const int64_t at : {-5, -1, 0, 2, 3, 4, 100}) {
    const auto element = [&](int64_t i) { return i >= 0 && i < 4 ? data[i] : 0.0; };
    for (const Device device : {Device::cpu(), Device::emulate("sm_80")})
      EXPECT_EQ(values(pick(Array::from_host(data, {4}, device), at)),
                (std::vector<double>{element(at), 2 * element(at + 1)}))
          << "at " << at;
  }
}

const auto copy_first = kernel("copy_first", [](Tensor x, Tensor y, Scalar<int> n) {
  for (auto i : tile(n)) y[i] = x[i];
});

const auto copy_range = kernel("copy_range", [](Tensor x, Tensor y, Scalar<int64_t> n) {
  for (auto i : tile(n - 1, min(n * 2 + 1, x.size(0)))) y[i] = x[i];
});

TEST(Edges, GridsOfComputedSizes) {
  std::vector<float> data(20);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i + 1);
  for (const int n : {0, 1, 5, 9, 20})
    for (const Device device : {Device::cpu(), Device::emulate("sm_80")}) {
      const Array x = Array::from_host(data, {20}, device);
      Array first = Array::zeros(device, {20}, f32), range = Array::zeros(device, {20}, f32);
      copy_first.launch({.config = Config{.block = {4}}}, x, first, n);
      copy_range.launch({.config = Config{.block = {4}}}, x, range, n);
      for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(first.value(i), i < n ? i + 1 : 0) << n;
        EXPECT_EQ(range.value(i), i >= n - 1 && i < std::min(n * 2 + 1, 20) ? i + 1 : 0) << n;
      }
    }
}

const auto half_sums = kernel("half_sums", [](Tensor x) {
  Tensor y = empty({x.size(1)}, x.dtype());
  for ([[maybe_unused]] auto once : grid(1)) y[all] = sum(x[all, all], axis(0));
  return y;
});

TEST(Edges, StoresOfHalvesAreSeenWhateverTheCompilersFlags) {
  const std::vector<uint16_t> ones(7 * 9, 0x3c00);
  ::setenv("TILEWRIGHT_EMULATOR_FLAGS", "-O0", 1);
  const Array x =
      Array::from_bytes(ones.data(), ones.size(), {7, 9}, f16, Device::emulate("sm_80"));
  const std::vector<double> sums = values(half_sums(x));
  ::unsetenv("TILEWRIGHT_EMULATOR_FLAGS");
  EXPECT_EQ(sums, std::vector<double>(9, 7.0));
}

TEST(Edges, GridsThatTheHostCannotSizeAreRefused) {
  const auto by_float = kernel("by_float", [](Tensor x, Scalar<float> f, Scalar<int64_t> n) {
    for (auto i : tile(where(f > 0.5f, n, n + 1))) x[i] = 0.0f;
  });
  expect_error(ErrorId::grid_bound, 0, "worked out before the launch", [&] {
    by_float.compile({contiguous_spec(f32, {8}), f32, i64}, parse_target("sm_80")).cuda();
  });
}

}  // namespace
}  // namespace tilewright
