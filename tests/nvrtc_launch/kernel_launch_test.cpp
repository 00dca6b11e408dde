// Kernels compiled for real and launched on a driver without a GPU: specialization, captures,
// aliases, workspace, threads.
#include <gtest/gtest.h>

#include <thread>

#include "tests/support/expect_error.h"
#include "tests/support/small_kernels.h"
#include "tests/support/use_fake_cuda.h"

namespace tilewright {
namespace {

using testing::expect_error;
using testing::fake_cuda;
using testing::FakeCuda;
using testing::make_add;
using testing::make_apply;
using testing::make_scale_into;
using testing::make_sum_and_difference;

// Before anything uses the driver.
FakeCuda& installed = fake_cuda();

std::vector<void*> seen;  // pointers given to the last launch of a kernel of three tensors

class KernelLaunch : public ::testing::Test {
 protected:
  void SetUp() override {
    fake_.launches.clear();
    fake_.capturing = nullptr;
    fake_.run = [](const char*, void** params) {
      seen = {*static_cast<void**>(params[0]), *static_cast<void**>(params[1]),
              *static_cast<void**>(params[2])};
    };
  }
  void TearDown() override {
    fake_.capturing = nullptr;
    fake_.run = nullptr;
  }
  Array make(std::vector<int64_t> sizes, DType dtype = DType::f32) {
    return Array(Device::cuda(0), std::move(sizes), dtype);
  }
  FakeCuda& fake_ = installed;
  Stream stream_ = Stream::create();
};

TEST_F(KernelLaunch, PassesPointersInOrder) {
  const auto add = make_add();
  const Array a = make({1000}), b = make({1000}), c = make({1000});
  add.launch({.stream = stream_, .out = {c}}, a, b);
  EXPECT_EQ(seen, (std::vector<void*>{a.data(), b.data(), c.data()}));
  EXPECT_EQ(fake_.launches.back().stream, stream_.handle());
  EXPECT_EQ(fake_.launches.back().kernel.substr(0, 4), "add_");
  EXPECT_EQ(fake_.launches.back().kernel.size(), 4u + 8);
}

TEST_F(KernelLaunch, RepeatedLaunchesNeitherAllocateNorWait) {
  const auto add = make_add();
  const Array a = make({1000}), b = make({1000}), c = make({1000});
  add.launch({.stream = stream_, .out = {c}}, a, b);
  const int allocated = fake_.allocated, waits = fake_.synchronizations,
            modules = fake_.loaded_modules;
  for (int i = 0; i < 3; ++i) add.launch({.stream = stream_, .out = {c}}, b, a);
  EXPECT_EQ(fake_.allocated, allocated);
  EXPECT_EQ(fake_.synchronizations, waits);
  EXPECT_EQ(fake_.loaded_modules, modules);
}

TEST_F(KernelLaunch, CallAllocatesOnTheDevice) {
  const auto kernel = make_sum_and_difference();
  const auto [sum, difference] = kernel(make({10}), make({10}));
  EXPECT_EQ(sum.device(), Device::cuda(0));
  EXPECT_EQ(difference.size(0), 10);
}

TEST_F(KernelLaunch, AlignmentMakesItsOwnVariant) {
  const auto add = make_add();
  const Array a = make({1004}), b = make({1004}), c = make({1000});
  const auto at = [&](int64_t offset) { return a.slice(0, offset, offset + 1000); };
  const TensorView right = b.slice(0, 0, 1000);
  std::vector<std::string> names;
  for (const int64_t offset : {0, 1, 0, 2, 1, 4}) {
    add.launch({.stream = stream_, .out = {c}}, at(offset), right);
    names.push_back(fake_.launches.back().kernel);
    EXPECT_EQ(seen[0], at(offset).data());
  }
  EXPECT_NE(names[0], names[1]);  // 4-byte aligned
  EXPECT_EQ(names[0], names[2]);
  EXPECT_NE(names[1], names[3]);  // 8-byte aligned
  EXPECT_EQ(names[1], names[4]);
  EXPECT_EQ(names[0], names[5]);  // 16-byte aligned again
}

TEST_F(KernelLaunch, ConfigOfCallOfKernelAndDefault) {
  const auto add = make_add();
  const Array a = make({4096}), c = make({4096});
  const auto blocks = [&](const LaunchOptions& options) {
    add.launch(options, a, a);
    return fake_.launches.back().grid;
  };
  Config config;
  config.block = {1024};
  EXPECT_EQ(blocks({.stream = stream_, .out = {c}, .config = config}), 4u);
  const auto by_default = blocks({.stream = stream_, .out = {c}});
  config.block = {256};
  add.set_config(config);
  EXPECT_EQ(blocks({.stream = stream_, .out = {c}}), 16u);
  add.set_config({});
  EXPECT_EQ(blocks({.stream = stream_, .out = {c}}), by_default);
}

TEST_F(KernelLaunch, NeverCompiledDuringCaptureNamesCompile) {
  const auto add = make_add();
  const Array a = make({1000}), b = make({1000}), c = make({1000});
  fake_.capturing = stream_.handle();
  expect_error(ErrorId::not_compiled, 0, "call compile() for these specs",
               [&] { add.launch({.stream = stream_, .out = {c}}, a, b); });
  EXPECT_TRUE(fake_.launches.empty());
}

TEST_F(KernelLaunch, CompiledBeforeCaptureIsFound) {
  const auto add = make_add();
  const Array a = make({1000}), b = make({1000}), c = make({1000});
  const CompiledKernel compiled = add.compile({a.spec(), b.spec()});
  EXPECT_EQ(compiled.target().name(), "sm_80");
  fake_.capturing = stream_.handle();
  add.launch({.stream = stream_, .out = {c}}, a, b);
  EXPECT_EQ(fake_.launches.size(), 1u);
}

TEST_F(KernelLaunch, CompiledWithAliasesBeforeCaptureIsFound) {
  const auto scale = make_scale_into();
  const Array x = make({8, 8}), y = make({8, 8});
  scale.compile({x.spec(), 1.0f, x.spec()}, {.alias_groups = {{0, 2}}});
  fake_.capturing = stream_.handle();
  fake_.run = nullptr;
  scale.launch({.stream = stream_}, x, 2.0f, x);
  EXPECT_EQ(fake_.launches.size(), 1u);
  expect_error(ErrorId::not_compiled, 0, "f32[8,8], f32, f32[8,8]",
               [&] { scale.launch({.stream = stream_}, x, 2.0f, y); });
}

TEST_F(KernelLaunch, AliasesAreCompiledApart) {
  const auto scale = make_scale_into();
  fake_.run = nullptr;
  const Array x = make({8, 8}), y = make({8, 8});
  scale(x, 1.0f, y);
  scale(x, 1.0f, x);
  scale(x, 1.0f, y);
  ASSERT_EQ(fake_.launches.size(), 3u);
  EXPECT_NE(fake_.launches[0].kernel, fake_.launches[1].kernel);
  EXPECT_EQ(fake_.launches[0].kernel, fake_.launches[2].kernel);
  expect_error(ErrorId::alias_partial, 0, "in part",
               [&] { scale(x.slice(0, 0, 4), 1.0f, x.slice(0, 2, 6)); });
}

TEST_F(KernelLaunch, HostMemoryIsRefused) {
  const auto add = make_add();
  std::vector<float> host(8);
  const Array b = make({8}), c = make({8});
  const TensorView wrong(host.data(), DType::f32, {8}, Device::cuda(0));
  const auto text = fmt::format("'a' is said to be on cuda:0, but {:#x} is not memory",
                                reinterpret_cast<uintptr_t>(host.data()));
  expect_error(ErrorId::argument_host_memory, 0, text,
               [&] { add.launch({.stream = stream_, .out = {c}}, wrong, b); });
  add.launch({.stream = stream_, .out = {c}}, b, b);
  // The same key as a launch that was right: each pointer is looked at.
  const Array a = make({8});
  add.launch({.stream = stream_, .out = {c}}, a, b);
  alignas(16) static float other[8];
  expect_error(ErrorId::argument_host_memory, 0, "not memory that this GPU can use", [&] {
    add.launch({.stream = stream_, .out = {c}}, TensorView(other, DType::f32, {8}, Device::cuda(0)),
               b);
  });
}

TEST_F(KernelLaunch, MemoryOfAnotherGpuIsRefused) {
  const Array a = make({8}), c = make({8});
  fake_.pointer_device = 1;
  expect_error(ErrorId::argument_other_gpu, 0, "said to be on cuda:0, but its memory is on cuda:1",
               [&] { make_add().launch({.stream = stream_, .out = {c}}, a, a); });
  fake_.pointer_device = 0;
  make_add().launch({.stream = stream_, .out = {c}}, a, a);
}

TEST_F(KernelLaunch, EmptyOutputsLaunchNothing) {
  const auto add = make_add();
  EXPECT_EQ(add(make({0}), make({0})).elements(), 0);
  EXPECT_TRUE(fake_.launches.empty());
}

TEST_F(KernelLaunch, CallablesWithCapturesAreTracedAgainButCompiledOnce) {
  const auto apply = make_apply();
  fake_.run = nullptr;
  const Array x = make({64});
  std::vector<std::string> names;
  for (const float offset : {1.0f, 2.0f, 1.0f}) {
    apply(x, 1, [offset](Tile t) -> Tile { return t + offset; });
    names.push_back(fake_.launches.back().kernel);
  }
  EXPECT_NE(names[0], names[1]);
  EXPECT_EQ(names[0], names[2]);
}

// Kernels and the pointers they were given.
std::vector<std::pair<std::string, std::vector<void*>>> steps;

TEST_F(KernelLaunch, CopiesOfOperandsAreMadeInWorkspace) {
  const auto product = testing::make_product();
  const Array a = make({33, 17}), b = make({17, 40}), c = make({33, 40});
  const Config config{.block = {16, 16, 8}, .copy = CopyKind::sync, .repitch = true};
  const CompiledKernel compiled = product.compile({a.spec(), b.spec()}, {.config = config});
  EXPECT_EQ(compiled.launches(), 2);
  EXPECT_EQ(compiled.kernels(), 2);
  EXPECT_EQ(compiled.binaries().size(), 2u);
  EXPECT_EQ(compiled.workspace_bytes(), 33 * 20 * 4 / 256 * 256 + 256);
  const Array workspace(Device::cuda(0), {compiled.workspace_bytes()}, DType::u8);
  steps.clear();
  fake_.run = [](const char* kernel, void** params) {
    const int count = std::string_view(kernel).find("_pad_") != std::string_view::npos ? 2 : 3;
    auto& pointers = steps.emplace_back(kernel, std::vector<void*>{}).second;
    for (int i = 0; i < count; ++i) pointers.push_back(*static_cast<void**>(params[i]));
  };
  const int allocated = fake_.allocated, pooled = fake_.pool_allocated;
  fake_.capturing = stream_.handle();
  product.launch({.stream = stream_, .out = {c}, .config = config, .workspace = workspace}, a, b);
  EXPECT_EQ(fake_.allocated, allocated);
  EXPECT_EQ(fake_.pool_allocated, pooled);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].first.substr(0, 14), "product_pad_a_");
  EXPECT_EQ(steps[0].second, (std::vector<void*>{a.data(), workspace.data()}));
  EXPECT_EQ(steps[1].second, (std::vector<void*>{workspace.data(), b.data(), c.data()}));
  // Without .workspace each launch has its own.
  product.launch({.stream = stream_, .out = {c}, .config = config}, a, b);
  EXPECT_EQ(fake_.pool_allocated, pooled + 1);
  EXPECT_EQ(fake_.pool_allocations, 0);
  EXPECT_NE(steps.back().second[0], workspace.data());
}

TEST_F(KernelLaunch, ThreadsLaunchOneKernel) {
  const auto add = make_add();
  fake_.run = nullptr;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const Array a = Array(Device::cuda(0), {100 + t % 2}, DType::f32);
      const Array c = Array(Device::cuda(0), {100 + t % 2}, DType::f32);
      for (int i = 0; i < 50; ++i) add.launch({.stream = stream_, .out = {c}}, a, a);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(fake_.launches.size(), 200u);
}

}  // namespace
}  // namespace tilewright
