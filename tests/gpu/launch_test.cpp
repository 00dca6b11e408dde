// Launching on a GPU: results, foreign memory and streams, captures, threads, aliases.
#include <gtest/gtest.h>

#include <future>
#include <numeric>

#include "tests/support/expect_error.h"
#include "tests/support/gpu.h"
#include "tests/support/small_kernels.h"

namespace tilewright {
namespace {

using testing::CudaRuntime;
using testing::expect_error;
using testing::make_add;
using testing::make_apply;
using testing::make_scale_into;
using testing::make_sum_and_difference;
using testing::RuntimeBuffer;
using testing::RuntimeStream;

constexpr Device kGpu = Device::cuda(0);

std::vector<float> ramp(int64_t n, float start = 0) {
  std::vector<float> values(static_cast<size_t>(n));
  std::iota(values.begin(), values.end(), start);
  return values;
}

Array on_gpu(const std::vector<float>& values) {
  return Array::from_host(values, {static_cast<int64_t>(values.size())}, kGpu);
}

std::vector<float> values_of(const Array& array) {
  const Array host = array.to_host();
  const auto values = host.values<float>();
  return {values.begin(), values.end()};
}

class GpuLaunch : public testing::GpuTest {
 protected:
  // No launch may leave an error behind that a later, innocent call reports.
  void TearDown() override {
    if (IsSkipped()) return;
    synchronize(kGpu);
    EXPECT_EQ(CudaRuntime::instance().last_error(), 0);
  }
};

TEST_F(GpuLaunch, ResultsOfManySizes) {
  const auto add = make_add();
  for (const int64_t n : {1, 3, 31, 32, 1000, 4096, 4097, 1 << 20}) {
    const std::vector<float> x = ramp(n), y = ramp(n, 0.5f);
    const std::vector<float> sum = values_of(add(on_gpu(x), on_gpu(y)));
    ASSERT_EQ(sum.size(), static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(sum[i], x[i] + y[i]) << "n " << n << " i " << i;
  }
}

TEST_F(GpuLaunch, SizeZeroLaunchesNothingAndLeavesNoError) {
  const auto add = make_add();
  EXPECT_EQ(add(on_gpu({}), on_gpu({})).elements(), 0);
  synchronize(kGpu);
  EXPECT_EQ(CudaRuntime::instance().last_error(), 0);
  EXPECT_EQ(values_of(add(on_gpu({1}), on_gpu({2}))), std::vector<float>{3});
}

TEST_F(GpuLaunch, SeveralResults) {
  const auto kernel = make_sum_and_difference();
  const auto [sum, difference] = kernel(on_gpu({5, 6, 7}), on_gpu({1, 2, 3}));
  EXPECT_EQ(values_of(sum), (std::vector<float>{6, 8, 10}));
  EXPECT_EQ(values_of(difference), (std::vector<float>{4, 4, 4}));
}

TEST_F(GpuLaunch, ConstantsScalarsAndCallables) {
  const auto apply = make_apply();
  EXPECT_EQ(values_of(apply(on_gpu({1, 2}), 3, [](Tile x) -> Tile { return x + x; })),
            (std::vector<float>{8, 16}));
  const auto scale = make_scale_into();
  const Array x = Array::from_host(ramp(6), {2, 3}, kGpu);
  Array y = Array::zeros(kGpu, {3, 2}, DType::f32);
  for (const float factor : {2.0f, -0.5f}) {  // one compilation, two run-time values
    scale(x.t(), factor, y);
    for (int row = 0; row < 3; ++row)
      EXPECT_EQ(y.to_host().value(row * 2 + 1), factor * static_cast<float>(3 + row));
  }
}

TEST_F(GpuLaunch, MemoryAndStreamOfTheCudaRuntime) {
  constexpr int64_t n = 10000;
  const CudaRuntime& cuda = CudaRuntime::instance();
  const RuntimeBuffer a(n * 4), b(n * 4), c(n * 4);
  const RuntimeStream stream;
  const std::vector<float> x = ramp(n), y = ramp(n, 1);
  cuda.copy(a.get(), x.data(), n * 4);
  cuda.copy(b.get(), y.data(), n * 4);
  const auto view = [](const RuntimeBuffer& buffer) {
    return TensorView(buffer.get(), DType::f32, {n}, kGpu);
  };
  make_add().launch({.stream = stream.get(), .out = {view(c)}}, view(a), view(b));
  Stream(stream.get()).synchronize();
  std::vector<float> sum(n);
  cuda.copy(sum.data(), c.get(), n * 4);
  for (int64_t i = 0; i < n; ++i) ASSERT_EQ(sum[i], x[i] + y[i]);
}

TEST_F(GpuLaunch, ManagedAndPinnedMemoryAreUsable) {
  const CudaRuntime& cuda = CudaRuntime::instance();
  auto* managed = static_cast<float*>(cuda.allocate_managed(64));
  auto* pinned = static_cast<float*>(cuda.allocate_pinned(64));
  std::fill_n(managed, 16, 1.0f);
  std::fill_n(pinned, 16, 2.0f);
  cuda.synchronize();
  const TensorView a(managed, DType::f32, {16}, kGpu), b(pinned, DType::f32, {16}, kGpu);
  EXPECT_EQ(values_of(make_add()(a, b)), std::vector<float>(16, 3.0f));
  cuda.release(managed);
  cuda.release_pinned(pinned);
}

TEST_F(GpuLaunch, HostMemoryIsRefused) {
  if (runtime::device_info(0).pageable_access)
    return;  // here kernels can read it, and nothing is to be refused
  std::vector<float> host(8);
  const TensorView wrong(host.data(), DType::f32, {8}, kGpu);
  expect_error(ErrorId::argument_host_memory, 0, "'a' is said to be on cuda:0",
               [&] { make_add()(wrong, on_gpu(ramp(8))); });
}

TEST_F(GpuLaunch, PointersOfEveryAlignment) {
  const auto add = make_add();
  const std::vector<float> values = ramp(1040);
  const Array memory = on_gpu(values), b = on_gpu(std::vector<float>(1000, 1.0f));
  for (const int64_t offset : {0, 1, 0, 2, 3, 4, 0}) {
    const std::vector<float> sum = values_of(add(memory.slice(0, offset, offset + 1000), b));
    for (int64_t i = 0; i < 1000; ++i) ASSERT_EQ(sum[i], values[offset + i] + 1) << offset;
  }
}

TEST_F(GpuLaunch, StridesOfAnyKind) {
  const auto scale = make_scale_into();
  constexpr int64_t pitch = 1185, rows = 37, columns = 65;
  const std::vector<float> values = ramp(pitch * rows);
  const Array memory = on_gpu(values);
  const TensorView x(memory.data(), DType::f32, {rows, columns}, {pitch, 1}, kGpu);
  const TensorView repeated(memory.data(), DType::f32, {rows, columns}, {0, 0}, kGpu);
  const Array y = Array::zeros(kGpu, {rows, columns}, DType::f32);
  scale(x, 1.0f, y);
  const std::vector<float> copied = values_of(y);
  for (int64_t i = 0; i < rows * columns; ++i)
    ASSERT_EQ(copied[i], values[i / columns * pitch + i % columns]);
  scale(repeated, 1.0f, y);
  EXPECT_EQ(values_of(y), std::vector<float>(rows * columns, values[0]));
  expect_error(ErrorId::output_overlap, 0, "'y' is written", [&] { scale(x, 1.0f, repeated); });
}

TEST_F(GpuLaunch, InPlaceRunsOnceAndPartialOverlapIsRefused) {
  const auto scale = make_scale_into();
  const Array x = Array::from_host(ramp(96 * 96), {96, 96}, kGpu);
  scale(x, 2.0f, x);
  EXPECT_EQ(x.to_host().value(95), 190);
  scale(x, 2.0f, x);
  EXPECT_EQ(x.to_host().value(95), 380);
  expect_error(ErrorId::alias_partial, 0, "in part",
               [&] { scale(x.slice(0, 0, 64), 1.0f, x.slice(0, 32, 96)); });
  scale(x.slice(1, 0, 48), 1.0f, x.slice(1, 48, 96));  // columns: no element in common
  EXPECT_EQ(x.to_host().value(48 + 5), 4 * 5);
}

TEST_F(GpuLaunch, CapturedIntoAGraphAndReplayed) {
  const CudaRuntime& cuda = CudaRuntime::instance();
  const auto add = make_add();
  const Array a = on_gpu(ramp(1000)), b = on_gpu(ramp(1000, 1)), c = on_gpu(ramp(1000));
  add.compile({a.spec(), b.spec()});
  const RuntimeStream stream;
  cuda.begin_capture(stream.get());
  add.launch({.stream = stream.get(), .out = {c}}, a, b);
  void* graph = cuda.end_capture(stream.get());
  cuda.copy(a.data(), ramp(1000, 7).data(), 4000);
  cuda.launch(graph, stream.get());
  Stream(stream.get()).synchronize();
  cuda.destroy_graph(graph);
  EXPECT_EQ(values_of(c)[10], 17 + 11);
}

TEST_F(GpuLaunch, NeverCompiledDuringCaptureNamesCompile) {
  const CudaRuntime& cuda = CudaRuntime::instance();
  const auto add = make_add();
  const Array a = on_gpu(ramp(1001)), c = on_gpu(ramp(1001));
  const RuntimeStream stream;
  cuda.begin_capture(stream.get());
  expect_error(ErrorId::not_compiled, 0, "call compile()",
               [&] { add.launch({.stream = stream.get(), .out = {c}}, a, a); });
  cuda.destroy_graph(cuda.end_capture(stream.get()));  // the capture itself was not disturbed
  add.launch({.stream = stream.get(), .out = {c}}, a, a);
  Stream(stream.get()).synchronize();
  EXPECT_EQ(values_of(c)[1000], 2000);
}

TEST_F(GpuLaunch, OwnStreamsAndEvents) {
  const auto add = make_add();
  const Stream stream = Stream::create(kGpu);
  const Array a = on_gpu(ramp(1 << 22)), c = on_gpu(ramp(1 << 22));
  add.launch({.stream = stream, .out = {c}}, a, a);
  Event begin(kGpu), end(kGpu);
  begin.record(stream);
  for (int i = 0; i < 20; ++i) add.launch({.stream = stream, .out = {c}}, a, a);
  end.record(stream);
  EXPECT_GT(end.since(begin), 0);
  EXPECT_EQ(c.to_host(stream).value(1000), 2000);
}

TEST_F(GpuLaunch, ThreadsWithoutAContext) {
  const auto add = make_add();
  const Array a = on_gpu(ramp(1000));
  std::vector<std::future<float>> results;
  for (int t = 0; t < 4; ++t)
    results.push_back(std::async(std::launch::async, [&, t] {
      const Array b = on_gpu(std::vector<float>(1000, static_cast<float>(t)));
      float last = 0;
      for (int i = 0; i < 20; ++i) last = values_of(add(a, b))[999];
      return last;
    }));
  for (int t = 0; t < 4; ++t) EXPECT_EQ(results[t].get(), 999 + t);
}

TEST_F(GpuLaunch, TheThreadsContextIsRestored) {
  using GetCurrent = int (*)(void**);
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr);
  const auto get_current = reinterpret_cast<GetCurrent>(dlsym(library, "cuCtxGetCurrent"));
  const auto add = make_add();
  const Array a = on_gpu(ramp(10));
  std::thread([&] {
    void* before = &library;
    void* after = &library;
    get_current(&before);
    add(a, a);
    get_current(&after);
    EXPECT_EQ(before, nullptr);
    EXPECT_EQ(after, nullptr);
  }).join();
}

TEST_F(GpuLaunch, MoreBlocksThanAGridsYAndZHold) {
  const auto add = make_add();
  Config config;
  config.block = {32};
  add.set_config(config);
  constexpr int64_t n = 32 * 70001 + 5;
  const std::vector<float> sum =
      values_of(add(on_gpu(std::vector<float>(n, 1)), on_gpu(std::vector<float>(n, 2))));
  EXPECT_EQ(sum, std::vector<float>(n, 3));
}

TEST_F(GpuLaunch, AllocatorOfTheCudaRuntime) {
  int live = 0;
  set_device_allocator({[&](int, int64_t bytes) {
                          ++live;
                          return CudaRuntime::instance().allocate(static_cast<size_t>(bytes));
                        },
                        [&](int, void* pointer, int64_t) {
                          --live;
                          CudaRuntime::instance().release(pointer);
                        }});
  {
    const Array c = make_add()(on_gpu({1, 2}), on_gpu({3, 4}));
    EXPECT_EQ(live, 1);
    EXPECT_EQ(values_of(c), (std::vector<float>{4, 6}));
  }
  set_device_allocator({});
  EXPECT_EQ(live, 0);
}

TEST_F(GpuLaunch, TooMuchMemoryIsItsOwnError) {
  expect_error(ErrorId::device_out_of_memory, 0, "bytes of device memory",
               [] { Array(kGpu, {int64_t{1} << 46}, DType::f32); });
  EXPECT_EQ(values_of(make_add()(on_gpu({1}), on_gpu({2}))), std::vector<float>{3});
}

TEST_F(GpuLaunch, SameBitsAsTheCpu) {
  const auto scale = make_scale_into();
  const std::vector<float> values = ramp(33 * 70, 0.1f);
  const Array host = Array::from_host(values, {33, 70}, Device::cpu());
  const Array device = host.to(kGpu);
  const Array on_host = Array::zeros(Device::cpu(), {33, 70}, DType::f32);
  const Array on_device = Array::zeros(kGpu, {33, 70}, DType::f32);
  scale(host, 0.3f, on_host);
  scale(device, 0.3f, on_device);
  EXPECT_EQ(values_of(on_device), values_of(on_host));
}

}  // namespace
}  // namespace tilewright
