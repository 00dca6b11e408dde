// Plans written by hand, launched on a driver without a GPU: what the driver is asked for.
#include "tilewright/runtime/executable.h"

#include <gtest/gtest.h>

#include <bit>

#include "tests/support/expect_error.h"
#include "tests/support/use_fake_cuda.h"

namespace tilewright::runtime {
namespace {

using codegen::Buffer;
using codegen::integer;
using codegen::KernelParam;
using codegen::KernelStep;
using codegen::Plan;
using codegen::Step;
using testing::expect_error;
using testing::fake_cuda;
using testing::FakeCuda;

// What the kernel of these tests was given.
struct Seen {
  void *x = nullptr, *scratch = nullptr;
  float scale = 0;
  int32_t n = 0;
};
Seen seen;

class LaunchPlan : public ::testing::Test {
 protected:
  void SetUp() override {
    fake_.launches.clear();
    fake_.run = nullptr;
    seen = {};
  }
  void TearDown() override {
    fake_.run = nullptr;
    fake_.capturing = nullptr;
  }

  // k(x, scale, n, scratch) with x, scale, n the function's parameters.
  Plan plan() const {
    KernelStep kernel;
    kernel.symbol = "k_01234567";
    kernel.params = {{"x", DType::f32, true, true, false, 0},
                     {"scale", DType::f32, false, false, false, 1},
                     {"n", DType::i32, false, false, false, 2},
                     {"scratch", DType::f32, true, true, false, 3}};
    kernel.grid = (codegen::name("n") + integer(127)) / integer(128);
    kernel.threads = 128;
    kernel.shared_bytes = 100 * 1024;
    Plan plan;
    plan.name = "k";
    plan.buffers = {{Buffer::Role::parameter, "x", integer(64)},
                    {Buffer::Role::workspace, "", codegen::name("n") * integer(4)},
                    {Buffer::Role::workspace, "scratch", integer(300)}};
    plan.steps.push_back({Step::Kind::memset, {}, {1, 0xff}});
    plan.steps.push_back({Step::Kind::memset, {}, {0, 7}});
    plan.steps.push_back({Step::Kind::kernel, kernel, {}});
    plan.steps.back().kernel.params[3].source = 4;  // the second workspace buffer
    return plan;
  }

  Executable load(const Plan& plan) const {
    const auto binary = std::make_shared<CompiledCuda>(CompiledCuda{"cubin", "ptx", "", {}, 13000});
    const std::vector<std::shared_ptr<const CompiledCuda>> binaries = {binary};
    return Executable(plan, binaries,
                      {{DType::f32, true}, {DType::f32, false}, {DType::i32, false}}, 0);
  }

  std::vector<ParamValue> values(int32_t n) {
    return {{reinterpret_cast<uintptr_t>(x_)},
            {std::bit_cast<uint32_t>(2.5f)},
            {static_cast<uint32_t>(n)}};
  }

  void launch(const Executable& executable, int32_t n, void* workspace,
              CUstream_st* stream = nullptr) {
    const ContextScope scope(0);
    executable.launch(values(n), workspace, stream);
  }

  FakeCuda& fake_ = fake_cuda();
  alignas(256) char x_[64];
  alignas(256) char workspace_[4096];
};

TEST_F(LaunchPlan, RunsStepsInOrderWithEvaluatedSizes) {
  const Executable executable = load(plan());
  EXPECT_EQ(fake_.opted_in_shared, 100 * 1024);
  const auto given = values(200);
  EXPECT_EQ(executable.workspace_bytes(given), 1024 + 512);

  fake_.run = [](const char*, void** params) {
    seen = {*static_cast<void**>(params[0]), *static_cast<void**>(params[3]),
            *static_cast<float*>(params[1]), *static_cast<int32_t*>(params[2])};
  };
  const int allocated = fake_.allocated, waits = fake_.synchronizations;
  launch(executable, 200, workspace_);
  EXPECT_EQ(fake_.allocated, allocated);
  EXPECT_EQ(fake_.synchronizations, waits);

  ASSERT_EQ(fake_.launches.size(), 3u);
  EXPECT_EQ(fake_.launches[0].pointer, workspace_);
  EXPECT_EQ(fake_.launches[0].bytes, 800u);
  EXPECT_EQ(fake_.launches[0].value, 0xff);
  EXPECT_EQ(fake_.launches[1].pointer, x_);
  EXPECT_EQ(fake_.launches[1].bytes, 64u);
  EXPECT_EQ(fake_.launches[2].kernel, "k_01234567");
  EXPECT_EQ(fake_.launches[2].grid, 2u);
  EXPECT_EQ(fake_.launches[2].threads, 128u);
  EXPECT_EQ(fake_.launches[2].shared_bytes, 100u * 1024);
  EXPECT_EQ(seen.x, x_);
  EXPECT_EQ(seen.scratch, workspace_ + 1024);
  EXPECT_EQ(seen.scale, 2.5f);
  EXPECT_EQ(seen.n, 200);
}

TEST_F(LaunchPlan, CooperativeGridsHaveAsManyBlocksAsFit) {
  codegen::Plan several = plan();
  several.steps.back().kernel.cooperative = true;
  several.steps.back().kernel.grid = codegen::integer(1000);
  fake_.resident_blocks = 3;
  const Executable executable = load(several);
  launch(executable, 1, workspace_);
  EXPECT_TRUE(fake_.launches.back().cooperative);
  EXPECT_EQ(fake_.launches.back().grid, 3u * 108);
  several.steps.back().kernel.grid = codegen::integer(7);
  launch(load(several), 1, workspace_);
  EXPECT_EQ(fake_.launches.back().grid, 7u);
}

TEST_F(LaunchPlan, UsesTheGivenStream) {
  const Executable executable = load(plan());
  char stream;
  launch(executable, 1, workspace_, reinterpret_cast<CUstream_st*>(&stream));
  for (const auto& launch : fake_.launches) EXPECT_EQ(launch.stream, &stream);
}

TEST_F(LaunchPlan, IsLegalInCapture) {
  const Executable executable = load(plan());
  char stream;
  fake_.capturing = &stream;  // the fake refuses everything that waits or allocates
  launch(executable, 1, workspace_, reinterpret_cast<CUstream_st*>(&stream));
  fake_.capturing = nullptr;
  EXPECT_EQ(fake_.launches.size(), 3u);
}

TEST_F(LaunchPlan, EmptyGridsAreNotLaunched) {
  Plan empty = plan();
  empty.steps[2].kernel.grid = codegen::name("n");
  const Executable executable = load(empty);
  launch(executable, 0, workspace_);
  for (const auto& launch : fake_.launches) EXPECT_EQ(launch.kernel, "");
}

TEST_F(LaunchPlan, TooManyBlocksAreRefused) {
  Plan large = plan();
  large.buffers[1].bytes = integer(64);
  large.steps[2].kernel.grid = codegen::name("n") * integer(4);
  const Executable executable = load(large);
  launch(executable, (1 << 29) - 1, workspace_);
  EXPECT_EQ(fake_.launches.back().grid, (uint64_t{1} << 31) - 4);
  expect_error(ErrorId::grid_too_large, 0, "kernel k needs 2147483648 blocks",
               [&] { launch(executable, 1 << 29, workspace_); });
}

TEST_F(LaunchPlan, FailedLaunchNamesTheKernel) {
  const Executable executable = load(plan());
  fake_.fail_in = "cuLaunchKernel";
  fake_.fail_code = 1;
  expect_error(ErrorId::cuda_call, 0,
               "k_01234567: the CUDA driver reports CUDA_ERROR_INVALID_VALUE",
               [&] { launch(executable, 1, workspace_); });
}

TEST_F(LaunchPlan, ClustersAndCooperativeGrids) {
  Plan clustered = plan();
  KernelStep& kernel = clustered.steps[2].kernel;
  kernel.cluster = 2;
  kernel.grid = integer(6);
  fake_.opted_in_clusters = false;
  launch(load(clustered), 1, workspace_);
  EXPECT_EQ(fake_.launches.back().cluster, 2u);
  EXPECT_EQ(fake_.launches.back().grid, 6u);
  EXPECT_EQ(fake_.launches.back().threads, 128u);
  EXPECT_EQ(fake_.launches.back().shared_bytes, 100u * 1024);
  EXPECT_FALSE(fake_.launches.back().cooperative);
  EXPECT_FALSE(fake_.opted_in_clusters);

  kernel.cooperative = true;
  kernel.cluster = 1;
  launch(load(clustered), 1, workspace_);
  EXPECT_EQ(fake_.launches.back().cluster, 1u);
  EXPECT_TRUE(fake_.launches.back().cooperative);

  kernel.cluster = 16;  // more than every GPU takes must be asked for
  kernel.grid = integer(32);
  launch(load(clustered), 1, workspace_);
  EXPECT_EQ(fake_.launches.back().cluster, 16u);
  EXPECT_TRUE(fake_.opted_in_clusters);
}

TEST_F(LaunchPlan, ImpossibleClustersAreBugs) {
  Plan clustered = plan();
  clustered.steps[2].kernel.cluster = 4;
  clustered.steps[2].kernel.grid = integer(6);
  const Executable executable = load(clustered);
  EXPECT_THROW(launch(executable, 1, workspace_), InternalError);
  clustered.steps[2].kernel.cluster = 32;
  EXPECT_THROW(load(clustered), InternalError);
}

TEST_F(LaunchPlan, FailedClusterLaunchNamesTheKernel) {
  Plan clustered = plan();
  clustered.steps[2].kernel.cluster = 2;
  clustered.steps[2].kernel.grid = integer(2);
  const Executable executable = load(clustered);
  fake_.fail_in = "cuLaunchKernelEx";
  fake_.fail_code = 1;
  expect_error(ErrorId::cuda_call, 0,
               "k_01234567: the CUDA driver reports CUDA_ERROR_INVALID_VALUE",
               [&] { launch(executable, 1, workspace_); });
}

TEST_F(LaunchPlan, ModulesAreUnloaded) {
  const int before = fake_.loaded_modules;
  {
    const Executable executable = load(plan());
    EXPECT_EQ(fake_.loaded_modules, before + 1);
  }
  EXPECT_EQ(fake_.loaded_modules, before);
}

}  // namespace
}  // namespace tilewright::runtime
