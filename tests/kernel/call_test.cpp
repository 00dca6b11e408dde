// Kernels called on the CPU: results, checks of arguments, caches.
#include <gtest/gtest.h>

#include <thread>

#include "tests/support/expect_error.h"
#include "tests/support/small_kernels.h"

namespace tilewright {
namespace {

using testing::expect_error;
using testing::make_add;
using testing::make_apply;
using testing::make_scale_into;
using testing::make_sum_and_difference;

Array vector_of(std::vector<float> values) {
  const auto n = static_cast<int64_t>(values.size());
  return Array::from_host(values, {n}, Device::cpu());
}

std::vector<float> values_of(const Array& array) {
  const auto values = array.values<float>();
  return {values.begin(), values.end()};
}

// A view of 2-d float memory on the CPU.
TensorView view(void* data, std::initializer_list<int64_t> sizes,
                std::initializer_list<int64_t> strides) {
  return {data, DType::f32, sizes, strides, Device::cpu()};
}

TEST(Call, ReturnsAnArray) {
  const auto add = make_add();
  const Array c = add(vector_of({1, 2, 3}), vector_of({10, 20, 30}));
  EXPECT_EQ(values_of(c), (std::vector<float>{11, 22, 33}));
  EXPECT_EQ(add.name(), "add");
}

TEST(Call, ReturnsATuple) {
  const auto kernel = make_sum_and_difference();
  const auto [sum, difference] = kernel(vector_of({5, 6}), vector_of({1, 2}));
  EXPECT_EQ(values_of(sum), (std::vector<float>{6, 8}));
  EXPECT_EQ(values_of(difference), (std::vector<float>{4, 4}));
}

TEST(Call, LaunchWritesIntoGivenMemory) {
  const auto add = make_add();
  Array c = Array::zeros(Device::cpu(), {3}, DType::f32);
  add.launch({.out = {c}}, vector_of({1, 2, 3}), vector_of({1, 1, 1}));
  EXPECT_EQ(values_of(c), (std::vector<float>{2, 3, 4}));
}

TEST(Call, ResultsMayBeStrided) {
  const auto add = make_add();
  Array c = Array::zeros(Device::cpu(), {3, 2}, DType::f32);
  add.launch({.out = {view(c.data(), {3}, {2})}}, vector_of({1, 2, 3}), vector_of({1, 1, 1}));
  EXPECT_EQ(values_of(c), (std::vector<float>{2, 0, 3, 0, 4, 0}));
}

TEST(Call, ScalarsAndWrittenParameters) {
  const auto scale = make_scale_into();
  const Array x = Array::from_host(std::vector<float>{1, 2, 3, 4}, {2, 2}, Device::cpu());
  Array y = Array::zeros(Device::cpu(), {2, 2}, DType::f32);
  scale(x, 2.0f, y);
  EXPECT_EQ(values_of(y), (std::vector<float>{2, 4, 6, 8}));
  scale(x.t(), 3, y);  // an int converts to the scalar's type
  EXPECT_EQ(values_of(y), (std::vector<float>{3, 9, 6, 12}));
}

TEST(Call, InPlaceIsAllowedAndRunsOnce) {
  const auto scale = make_scale_into();
  Array x = Array::from_host(std::vector<float>{1, 2, 3, 4}, {2, 2}, Device::cpu());
  scale(x, 2.0f, x);
  EXPECT_EQ(values_of(x), (std::vector<float>{2, 4, 6, 8}));
  scale(x, 2.0f, x);
  EXPECT_EQ(values_of(x), (std::vector<float>{4, 8, 12, 16}));
}

TEST(Call, ConstantsAndCallablesSpecialize) {
  const auto apply = make_apply();
  const auto twice = [](Tile x) -> Tile { return x + x; };
  EXPECT_EQ(values_of(apply(vector_of({1, 2}), 1, twice)), (std::vector<float>{2, 4}));
  EXPECT_EQ(values_of(apply(vector_of({1, 2}), 3, twice)), (std::vector<float>{8, 16}));
  for (const float offset : {1.0f, 10.0f}) {  // captures, whose values no key can show
    const auto shift = [offset](Tile x) -> Tile { return x + offset; };
    EXPECT_EQ(values_of(apply(vector_of({1, 2}), 1, shift)),
              (std::vector<float>{1 + offset, 2 + offset}));
  }
}

TEST(Call, SizeZero) {
  const auto add = make_add();
  EXPECT_EQ(add(vector_of({}), vector_of({})).elements(), 0);
  const auto scale = make_scale_into();
  const Array none(Device::cpu(), {0, 4}, DType::f32);
  scale(none, 1.0f, none);
}

TEST(Call, SizeOneDimensionsWithOddStrides) {
  const auto scale = make_scale_into();
  float x[3] = {1, 2, 3}, y[3] = {};
  scale(view(x, {1, 3}, {1, 1}), 2.0f, view(y, {1, 3}, {777, 1}));
  EXPECT_EQ(y[2], 6);
}

TEST(Call, StrideZeroInputsRepeat) {
  const auto scale = make_scale_into();
  float x = 5, y[4] = {};
  scale(view(&x, {2, 2}, {0, 0}), 2.0f, view(y, {2, 2}, {2, 1}));
  EXPECT_EQ(y[3], 10);
}

TEST(Call, ChecksOfTheKernelNameTheLine) {
  const auto add = make_add();
  expect_error(ErrorId::check_failed, 0, "lengths differ: 2 and 3", [&] {
    add(vector_of({1, 2}), vector_of({1, 2, 3}));
  });
}

TEST(Call, ThreadsShareAKernel) {
  const auto add = make_add();
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int n = 1; n < 6; ++n) {
        const std::vector<float> x(static_cast<size_t>(n), static_cast<float>(t));
        right += values_of(add(vector_of(x), vector_of(x)))[0] == static_cast<float>(2 * t);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 40);
}

TEST(Arguments, NegativeStride) {
  float x[4] = {};
  expect_error(ErrorId::argument_stride, 0, "'x' has stride -1 in dimension 1", [&] {
    make_scale_into()(view(x + 1, {2, 2}, {2, -1}), 1.0f, view(x, {2, 2}, {2, 1}));
  });
}

TEST(Arguments, SpanBeyond64Bits) {
  float x[4] = {};
  expect_error(ErrorId::argument_span, 0, "span more than 2^63 bytes", [&] {
    make_scale_into()(view(x, {3, 2}, {int64_t{1} << 62, 1}), 1.0f, view(x, {3, 2}, {2, 1}));
  });
}

TEST(Arguments, NullPointer) {
  float x[4] = {};
  expect_error(ErrorId::argument_null, 0, "'y' is f32[2,2] at a null pointer", [&] {
    make_scale_into()(view(x, {2, 2}, {2, 1}), 1.0f, view(nullptr, {2, 2}, {2, 1}));
  });
}

TEST(Arguments, MisalignedPointer) {
  alignas(16) char bytes[64] = {};
  float y[4] = {};
  expect_error(ErrorId::argument_misaligned, 0, "not a multiple of the 4 bytes of one f32", [&] {
    make_scale_into()(view(bytes + 2, {2, 2}, {2, 1}), 1.0f, view(y, {2, 2}, {2, 1}));
  });
}

TEST(Arguments, OverlappingOutput) {
  float x[4] = {}, y[4] = {};
  expect_error(ErrorId::output_overlap, 0, "'y' is written, but several of its positions", [&] {
    make_scale_into()(view(x, {2, 2}, {2, 1}), 1.0f, view(y, {2, 2}, {0, 1}));
  });
}

TEST(Arguments, PartialAliasIsRefusedAndColumnsAreNot) {
  Array x = Array::from_host(std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}, {2, 4}, Device::cpu());
  const auto scale = make_scale_into();
  expect_error(ErrorId::alias_partial, 0, "'y' is written and overlaps 'x' in part",
               [&] { scale(x.slice(1, 0, 2), 1.0f, x.slice(1, 1, 3)); });
  scale(x.slice(1, 0, 2), 10.0f, x.slice(1, 2, 4));
  EXPECT_EQ(values_of(x), (std::vector<float>{0, 1, 0, 10, 4, 5, 40, 50}));
}

TEST(Arguments, TwoResultsInOnePlace) {
  Array c = Array::zeros(Device::cpu(), {2}, DType::f32);
  expect_error(ErrorId::alias_partial, 0, "'difference'", [&] {
    make_sum_and_difference().launch({.out = {c, c}}, vector_of({1, 2}), vector_of({3, 4}));
  });
}

TEST(Arguments, TensorsOnTwoDevices) {
  float x[4] = {};
  expect_error(ErrorId::argument_device, 0, "'x' is on cpu, but 'y' is on cuda:0", [&] {
    make_scale_into()(view(x, {2, 2}, {2, 1}), 1.0f,
                      TensorView(x, DType::f32, {2, 2}, Device::cuda(0)));
  });
}

TEST(Arguments, ResultsOfAnotherKind) {
  const auto add = make_add();
  const Array a = vector_of({1, 2});
  expect_error(ErrorId::out_count, 0, "returns 1 tensors, but .out has 0",
               [&] { add.launch({}, a, a); });
  Array longer = Array::zeros(Device::cpu(), {3}, DType::f32);
  expect_error(ErrorId::out_spec, 0, "result 'c' is f32[2]; .out has f32[3]",
               [&] { add.launch({.out = {longer}}, a, a); });
  Array integers = Array::zeros(Device::cpu(), {2}, DType::i32);
  expect_error(ErrorId::out_spec, 0, ".out has i32[2]",
               [&] { add.launch({.out = {integers}}, a, a); });
}

TEST(Arguments, DynamicCallsCheckCountAndKind) {
  const KernelHandle handle = make_scale_into();
  const Array x = Array::zeros(Device::cpu(), {2, 2}, DType::f32);
  expect_error(ErrorId::argument_count, 0, "takes 3 arguments; found 1", [&] {
    const CallArg args[] = {CallArg::tensor(x)};
    handle.launch({}, args);
  });
  expect_error(ErrorId::argument_kind, 0,
               "parameter 'factor' is a run-time scalar f32; found a run-time scalar i32", [&] {
                 const CallArg args[] = {CallArg::tensor(x), CallArg::scalar(int32_t{1}),
                                         CallArg::tensor(x)};
                 handle.launch({}, args);
               });
  expect_error(ErrorId::argument_kind, 0, "found a tensor", [&] {
    handle.trace(std::vector<CompileArg>{x, x, x});
  });
}

TEST(Results, ThatCannotBeAllocated) {
  const auto same = kernel("same", [](Tensor x) {
    auto [n] = sizes<1>(x);
    for (auto i : tile(n)) x(i) = x(i) + 1;
    return x;
  });
  Array x = vector_of({1, 2});
  expect_error(ErrorId::result_is_parameter, 0, "returns 'x', which was passed to it",
               [&] { same(x); });
  same.launch({}, x);
  EXPECT_EQ(values_of(x), (std::vector<float>{2, 3}));

  const auto twice = kernel("twice", [](Tensor x) {
    auto [n] = sizes<1>(x);
    Tensor y = empty({n}, x.dtype());
    for (auto i : tile(n)) y(i) = x(i);
    return std::tuple(y, y);
  });
  expect_error(ErrorId::result_twice, 0, "returns 'y' twice", [&] { twice(x); });

  const auto hidden = kernel("hidden", [](Tensor x) {
    auto [n] = sizes<1>(x);
    Tensor y = empty({n}, x.dtype());
    for (auto i : tile(n)) {
      y(i) = x(i);
      x(i) = x(i) + 1;
    }
  });
  expect_error(ErrorId::result_not_returned, 0, "makes 'y' with tw::empty", [&] { hidden(x); });
}

TEST(Compile, TracesOnceForEqualSpecs) {
  const auto add = make_add();
  const std::vector<CompileArg> specs = {contiguous_spec(DType::f32, {8}),
                                         contiguous_spec(DType::f32, {8})};
  EXPECT_EQ(add.handle().trace(specs), add.handle().trace(specs));
  const std::vector<CompileArg> others = {contiguous_spec(DType::f32, {9}),
                                          contiguous_spec(DType::f32, {9})};
  EXPECT_NE(add.handle().trace(specs), add.handle().trace(others));
}

TEST(Compile, GivesEveryStageWithoutAGpu) {
  const auto add = make_add();
  const TensorSpec spec = contiguous_spec(DType::f32, {1000});
  const CompiledKernel compiled = add.compile({spec, spec}, parse_target("sm_90a"));
  EXPECT_EQ(compiled.name(), "add");
  EXPECT_EQ(compiled.target().name(), "sm_90a");
  EXPECT_EQ(compiled.kernels(), 1);
  EXPECT_NE(compiled.cuda().find("__global__"), std::string::npos);
  EXPECT_NE(compiled.tile_ir().find("store"), std::string::npos);
  EXPECT_FALSE(compiled.kernel_ir().empty());
  Config config = compiled.config();
  config.block = {512};
  EXPECT_EQ(
      add.compile({spec, spec}, {.target = parse_target("sm_80"), .config = config}).config().block,
      (std::vector<int64_t>{512}));
  expect_error(ErrorId::out_count, 0, ".out has 2", [&] {
    add.compile({spec, spec}, {.target = parse_target("sm_80"), .out = {spec, spec}});
  });
}

}  // namespace
}  // namespace tilewright
