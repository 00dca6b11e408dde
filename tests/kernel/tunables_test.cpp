// Tunables and workspace of kernels called through their handles.
#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tilewright/ir/print.h"
#include "tilewright/tilewright.h"

namespace tilewright {
namespace {

using testing::expect_error;

/// Adds `depth` to each element, after a round through workspace.
auto make_deepened() {
  return kernel("deepened", [](Tensor x) {
    const int64_t depth = tunable("depth", {3, 5});
    Tensor y = empty_like(x), between = empty_like(x);
    for (auto i : tile(x.size(0))) between[i] = x[i] + depth;
    barrier();
    for (auto i : tile(x.size(0))) y[i] = between[i];
    return y;
  });
}

Array numbers(Device device) { return Array::from_host(std::vector<float>{1, 2, 3}, {3}, device); }

float last(const Array& array) { return array.to_host().values<float>()[2]; }

Config with_depth(int64_t depth) {
  Config config{.block = {2, 2}};
  config.tunables["depth"] = depth;
  return config;
}

TEST(Tunables, ComeFromTheConfig) {
  const auto deepened = make_deepened();
  const Array x = numbers(Device::cpu());
  EXPECT_EQ(last(deepened(x)), 6);
  deepened.set_config(with_depth(5));
  EXPECT_EQ(last(deepened(x)), 8);
  deepened.set_config(std::nullopt);
  EXPECT_EQ(last(deepened(x)), 6);
  Array y = Array::zeros(Device::cpu(), {3}, DType::f32);
  deepened.launch({.out = {y}, .config = with_depth(5)}, x);
  EXPECT_EQ(last(y), 8);
  deepened.launch({.out = {y}}, x);
  EXPECT_EQ(last(y), 6);
}

TEST(Tunables, ArePartOfWhatIsCompiled) {
  const auto deepened = make_deepened();
  const std::vector<CompileArg> args = {contiguous_spec(f32, {3})};
  const Target target = parse_target("sm_80");
  const auto compiled = [&](std::optional<Config> config) {
    return deepened.compile(args, {.target = target, .config = std::move(config)});
  };
  const CompiledKernel five = compiled(with_depth(5)), three = compiled(std::nullopt);
  EXPECT_NE(five.cuda(), three.cuda());
  EXPECT_NE(five.cuda().find("\"tunables\":{\"depth\":5}"), std::string::npos);
  EXPECT_EQ(five.kernels(), 2);
  EXPECT_EQ(five.workspace_bytes(), 256);
  EXPECT_EQ(deepened.handle().trace(args, with_depth(5))->tunables.at(0).value, 5);
}

TEST(Tunables, WrongNamesAndValues) {
  const auto deepened = make_deepened();
  const Array x = numbers(Device::cpu());
  Config config{.block = {2, 2}};
  config.tunables["depth"] = 4;
  deepened.set_config(config);
  expect_error(ErrorId::config_tunable_value, 0,
               "'depth' of kernel deepened is one of 3, 5; found 4", [&] { deepened(x); });
  config.tunables = {{"width", 3}};
  deepened.set_config(config);
  expect_error(ErrorId::config_tunable_unknown, 0, "has no tunable 'width'; it has depth",
               [&] { deepened(x); });
}

TEST(Workspace, OfAKernelThatForgetsToReturnATensor) {
  const auto forgetful = kernel("forgetful", [](Tensor x) {
    Tensor y = empty_like(x);
    for (auto i : tile(x.size(0))) y[i] = x[i];
  });
  const Array x = numbers(Device::cpu());
  expect_error(ErrorId::result_not_returned, 0, "neither returns nor reads it",
               [&] { forgetful(x); });
}

}  // namespace
}  // namespace tilewright
