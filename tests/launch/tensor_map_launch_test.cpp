// Tensor maps of kernel parameters: encoded for each address once, and passed by value.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "tests/support/expect_error.h"
#include "tests/support/use_fake_cuda.h"
#include "tilewright/runtime/executable.h"

namespace tilewright::runtime {
namespace {

using codegen::Buffer;
using codegen::integer;
using codegen::KernelStep;
using codegen::Plan;
using codegen::Step;
using codegen::TensorMapSpec;
using testing::expect_error;
using testing::fake_cuda;
using testing::FakeCuda;
using testing::FakeTensorMap;

// The maps the kernel was given, as the fake driver writes them.
FakeTensorMap first, second;
void* pointer = nullptr;

class MapLaunch : public ::testing::Test {
 protected:
  void SetUp() override {
    fake_.maps.clear();
    fake_.launches.clear();
    fake_.run = [](const char*, void** params) {
      std::memcpy(&first, params[0], sizeof first);
      pointer = *static_cast<void**>(params[1]);
      std::memcpy(&second, params[2], sizeof second);
    };
  }
  void TearDown() override { fake_.run = nullptr; }

  // k(map of x, x, map of the workspace).
  static Plan plan() {
    KernelStep kernel;
    kernel.symbol = "k_01234567";
    kernel.params.resize(3);
    kernel.params[0] = {.name = "x_map", .dtype = DType::bf16, .source = 0};
    kernel.params[0].map = TensorMapSpec{DType::bf16, {4095, 100}, {1, 4096}, {64, 128}, 128};
    kernel.params[1] = {.name = "x", .dtype = DType::bf16, .source = 0};
    kernel.params[2] = {.name = "w_map", .dtype = DType::i8, .source = 2};
    kernel.params[2].map = TensorMapSpec{DType::i8, {64, 8, 3}, {1, 512, 64}, {32, 8, 1}, 32};
    kernel.grid = integer(1);
    kernel.threads = 128;
    Plan plan;
    plan.name = "k";
    plan.buffers = {{Buffer::Role::parameter, "x", integer(64)},
                    {Buffer::Role::workspace, "partial", integer(100)},
                    {Buffer::Role::workspace, "padded", integer(300)}};
    plan.steps.push_back({Step::Kind::kernel, kernel, {}});
    return plan;
  }

  static Executable load(const Plan& plan) {
    const auto binary = std::make_shared<CompiledCuda>(CompiledCuda{"cubin", "ptx", "", {}, 13000});
    const std::vector<std::shared_ptr<const CompiledCuda>> binaries = {binary};
    return Executable(plan, binaries, {{DType::bf16, true}}, 0);
  }

  void launch(const Executable& executable, const void* x, void* workspace) {
    const ContextScope scope(0);
    const std::vector<ParamValue> values = {{reinterpret_cast<uintptr_t>(x)}};
    executable.launch(values, workspace, nullptr);
  }

  FakeCuda& fake_ = fake_cuda();
  alignas(256) char x_[256 * 64];
  alignas(256) char workspace_[4096];
};

TEST_F(MapLaunch, DescribesTheTensorAtThePointer) {
  launch(load(plan()), x_, workspace_);
  EXPECT_EQ(first.base, x_);
  EXPECT_EQ(pointer, x_);
  EXPECT_EQ(first.dtype, 9);      // CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
  EXPECT_EQ(first.swizzle, 3);    // 128 bytes
  EXPECT_EQ(first.promotion, 3);  // 256 bytes
  EXPECT_EQ(first.interleave, 0);
  EXPECT_EQ(first.fill, 0);  // zeros
  ASSERT_EQ(first.rank, 2u);
  EXPECT_EQ(first.sizes[0], 4095u);
  EXPECT_EQ(first.sizes[1], 100u);
  EXPECT_EQ(first.strides[0], 8192u);
  EXPECT_EQ(first.box[0], 64u);
  EXPECT_EQ(first.box[1], 128u);
  EXPECT_EQ(first.steps[0], 1u);
  EXPECT_EQ(first.steps[1], 1u);
}

TEST_F(MapLaunch, DescribesWorkspaceToo) {
  launch(load(plan()), x_, workspace_);
  EXPECT_EQ(second.base, workspace_ + 256);
  EXPECT_EQ(second.dtype, 0);    // CU_TENSOR_MAP_DATA_TYPE_UINT8
  EXPECT_EQ(second.swizzle, 1);  // 32 bytes
  ASSERT_EQ(second.rank, 3u);
  EXPECT_EQ(second.strides[0], 512u);
  EXPECT_EQ(second.strides[1], 64u);
}

TEST_F(MapLaunch, KnownPointersAreNotEncodedAgain) {
  const Executable executable = load(plan());
  launch(executable, x_, workspace_);
  EXPECT_EQ(fake_.maps.size(), 2u);
  for (int i = 0; i < 3; ++i) launch(executable, x_, workspace_);
  EXPECT_EQ(fake_.maps.size(), 2u);
  launch(executable, x_ + 256, workspace_);
  EXPECT_EQ(fake_.maps.size(), 3u);
  EXPECT_EQ(first.base, x_ + 256);
  launch(executable, x_, workspace_);
  EXPECT_EQ(fake_.maps.size(), 3u);
  EXPECT_EQ(first.base, x_);
}

TEST_F(MapLaunch, TheOldestPointerIsForgotten) {
  const Executable executable = load(plan());
  for (int i = 0; i < TensorMapCache::kEntries; ++i) launch(executable, x_ + 256 * i, workspace_);
  launch(executable, x_, workspace_);  // is the newest now
  const size_t made = fake_.maps.size();
  launch(executable, x_ + 256 * TensorMapCache::kEntries, workspace_);  // in place of the second
  EXPECT_EQ(fake_.maps.size(), made + 1);
  launch(executable, x_, workspace_);
  EXPECT_EQ(fake_.maps.size(), made + 1);
  launch(executable, x_ + 256, workspace_);
  EXPECT_EQ(fake_.maps.size(), made + 2);
  EXPECT_EQ(first.base, x_ + 256);
}

TEST_F(MapLaunch, IsLegalInCapture) {
  const Executable executable = load(plan());
  char stream;
  fake_.capturing = &stream;
  launch(executable, x_, workspace_);
  fake_.capturing = nullptr;
  EXPECT_EQ(fake_.launches.size(), 1u);
}

TEST_F(MapLaunch, RefusedMapNamesTheKernelAndIsNotKept) {
  const Executable executable = load(plan());
  fake_.fail_in = "cuTensorMapEncodeTiled";
  fake_.fail_code = 1;
  expect_error(ErrorId::cuda_call, 0, "k_01234567, mapping 'x_map': the CUDA driver reports",
               [&] { launch(executable, x_, workspace_); });
  launch(executable, x_, workspace_);
  EXPECT_EQ(first.base, x_);
}

TEST_F(MapLaunch, EveryDtypeHasAnElementOfItsSize) {
  constexpr int sizes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};  // by the driver's number
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    fake_.maps.clear();
    encode_tensor_map({dtype, {64}, {1}, {16}, 0}, x_, "a test");
    EXPECT_EQ(sizes[fake_.maps.at(0).dtype], size_of(dtype)) << to_string(dtype);
    EXPECT_EQ(fake_.maps.at(0).rank, 1u);
  }
}

TEST_F(MapLaunch, ImpossibleMapsAreBugs) {
  EXPECT_THROW(encode_tensor_map({DType::f32, {}, {}, {}, 0}, x_, "a test"), InternalError);
  EXPECT_THROW(encode_tensor_map({DType::f32, {64}, {1}, {16}, 48}, x_, "a test"), InternalError);
}

}  // namespace
}  // namespace tilewright::runtime
