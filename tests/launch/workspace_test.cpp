// Workspace: given by the caller of launch, allocated for calls.
#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/small_kernels.h"
#include "tests/support/use_fake_cuda.h"
#include "tilewright/autotune/specialization.h"

namespace tilewright {
namespace {

using codegen::integer;
using testing::expect_error;
using testing::fake_cuda;
using testing::FakeCuda;

class Workspace : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto scale = testing::make_scale_into();
    const TensorSpec spec = contiguous_spec(DType::f32, {4, 4});
    const std::vector<CompileArg> specs = {spec, DType::f32, spec};
    specialization_.traced.fn = scale.handle().trace(specs);
    specialization_.traced.written = {false, false, true};
    specialization_.device = Device::cuda(0);
    specialization_.executable =
        std::make_unique<const runtime::Executable>(plan(), binaries_, parameters(), 0);
    x_ = Array(Device::cuda(0), {4, 4}, DType::f32);
    fake_.launches.clear();
  }

  // Fills 1000 bytes of workspace and launches nothing.
  static codegen::Plan plan() {
    codegen::Plan plan;
    plan.name = "scale_into";
    plan.buffers = {{codegen::Buffer::Role::workspace, "partial", integer(1000)}};
    plan.steps.push_back({codegen::Step::Kind::memset, {}, {0, 1}});
    return plan;
  }
  std::vector<runtime::Parameter> parameters() const {
    return tilewright::parameters(*specialization_.traced.fn);
  }
  void run(const TensorView& workspace, bool allocate) {
    const std::vector<runtime::Argument> args = {
        {&x_.view()}, {nullptr, DType::f32, 0}, {&x_.view()}};
    run_specialization(specialization_, {.workspace = workspace}, args, allocate);
  }

  FakeCuda& fake_ = fake_cuda();
  std::vector<std::shared_ptr<const runtime::CompiledCuda>> binaries_;
  Specialization specialization_;
  Array x_;
};

TEST_F(Workspace, OfTheCallerIsUsed) {
  const Array memory(Device::cuda(0), {1024}, DType::u8);
  const int allocated = fake_.allocated;
  run(memory, false);
  EXPECT_EQ(fake_.allocated, allocated);
  ASSERT_EQ(fake_.launches.size(), 1u);
  EXPECT_EQ(fake_.launches[0].pointer, memory.data());
  EXPECT_EQ(fake_.launches[0].bytes, 1000u);
}

TEST_F(Workspace, TooLittleOrOnTheHostIsRefused) {
  expect_error(ErrorId::workspace_needed, 0, "needs 1024 bytes of workspace; .workspace has 0",
               [&] { run({}, false); });
  const Array small(Device::cuda(0), {1023}, DType::u8);
  expect_error(ErrorId::workspace_needed, 0, ".workspace has 1023", [&] { run(small, false); });
  const Array host(Device::cpu(), {4096}, DType::u8);
  expect_error(ErrorId::workspace_needed, 0, "needs 1024", [&] { run(host, false); });
  EXPECT_TRUE(fake_.launches.empty());
}

TEST_F(Workspace, OfACallIsAllocatedAndFreed) {
  const int live = fake_.allocations, ever = fake_.allocated;
  run({}, true);
  EXPECT_EQ(fake_.allocated, ever + 1);
  EXPECT_EQ(fake_.allocations, live);
}

}  // namespace
}  // namespace tilewright
