// Workspace: given by the caller of launch, allocated for calls.
#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/small_kernels.h"
#include "tests/support/use_fake_cuda.h"
#include "tilewright/autotune/specialization.h"
#include "tilewright/ir/parse.h"
#include "tilewright/ir/print.h"

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
    specialization_.traced = examine(ir::parse(ir::print(*scale.handle().trace(specs))));
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
  void run(const TensorView& workspace, const Stream& stream = {}) {
    const std::vector<runtime::Argument> args = {
        {&x_.view()}, {nullptr, DType::f32, 0}, {&x_.view()}};
    run_specialization(specialization_, {.stream = stream, .workspace = workspace}, args);
  }

  FakeCuda& fake_ = fake_cuda();
  std::vector<std::shared_ptr<const runtime::CompiledCuda>> binaries_;
  Specialization specialization_;
  Array x_;
};

TEST_F(Workspace, OfTheCallerIsUsed) {
  const Array memory(Device::cuda(0), {1024}, DType::u8);
  const int allocated = fake_.allocated, pooled = fake_.pool_allocated;
  run(memory);
  EXPECT_EQ(fake_.allocated, allocated);
  EXPECT_EQ(fake_.pool_allocated, pooled);
  ASSERT_EQ(fake_.launches.size(), 1u);
  EXPECT_EQ(fake_.launches[0].pointer, memory.data());
  EXPECT_EQ(fake_.launches[0].bytes, 1000u);
}

TEST_F(Workspace, ThatDoesNotFitIsRefused) {
  const auto refused = [&](const TensorView& workspace, std::string_view text) {
    expect_error(ErrorId::workspace_needed, 0, text, [&] { run(workspace); });
  };
  const Array small(Device::cuda(0), {1023}, DType::u8);
  refused(small,
          "needs 1024 contiguous bytes of workspace on cuda:0, at a multiple of 256 bytes; "
          ".workspace is 1023 bytes on cuda:0");
  const Array host(Device::cpu(), {4096}, DType::u8);
  refused(host, ".workspace is 4096 bytes on cpu");
  const Array large(Device::cuda(0), {64, 64}, DType::u8);
  refused(large.t(), ".workspace is 4096 bytes on cuda:0, not contiguous");
  refused(large.slice(0, 1, 64), fmt::format(".workspace is 4032 bytes on cuda:0, at address {:#x}",
                                             reinterpret_cast<uintptr_t>(large.data()) + 64));
  std::vector<char> heap(8192);
  const auto aligned = (reinterpret_cast<uintptr_t>(heap.data()) + 255) / 256 * 256;
  expect_error(ErrorId::argument_host_memory, 0, "'.workspace' is said to be on cuda:0", [&] {
    run(TensorView(reinterpret_cast<void*>(aligned), DType::u8, {2048}, Device::cuda(0)));
  });
  EXPECT_TRUE(fake_.launches.empty());
}

TEST_F(Workspace, IsAllocatedInTheStreamsOrder) {
  const Stream stream = Stream::create();
  const int ever = fake_.pool_allocated, waits = fake_.synchronizations;
  run({}, stream);
  EXPECT_EQ(fake_.pool_allocated, ever + 1);
  EXPECT_EQ(fake_.pool_allocations, 0);
  EXPECT_EQ(fake_.pool_stream, stream.handle());
  EXPECT_EQ(fake_.pool_releases_at, 1u);  // behind the launch
  EXPECT_EQ(fake_.synchronizations, waits);
}

TEST_F(Workspace, IsAllocatedInCapture) {
  const Stream stream = Stream::create();
  fake_.capturing = stream.handle();
  run({}, stream);
  fake_.capturing = nullptr;
  EXPECT_EQ(fake_.launches.size(), 1u);
}

TEST_F(Workspace, RunningOutOfItSaysHowMuch) {
  fake_.fail_in = "cuMemAllocFromPoolAsync";
  fake_.fail_code = 2;
  expect_error(ErrorId::device_out_of_memory, 0, "allocating 1024 bytes of workspace",
               [&] { run({}); });
  EXPECT_TRUE(fake_.launches.empty());
}

}  // namespace
}  // namespace tilewright
