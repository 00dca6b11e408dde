// Devices, contexts, streams, events and device memory, on a driver without a GPU.
#include "tilewright/runtime/driver.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/support/expect_error.h"
#include "tests/support/use_fake_cuda.h"
#include "tilewright/runtime/array.h"

namespace tilewright {
namespace {

using testing::expect_error;
using testing::fake_cuda;
using testing::FakeCuda;

class FakeDriver : public ::testing::Test {
 protected:
  FakeCuda& fake_ = fake_cuda();
};

TEST_F(FakeDriver, ReportsTheDevice) {
  EXPECT_TRUE(runtime::driver_status().usable());
  EXPECT_EQ(runtime::version_text(runtime::driver_status().version), "13.0");
  EXPECT_EQ(runtime::device_info(0).name, "Fake GPU");
  const Target target = runtime::device_target(0);
  EXPECT_EQ(target.name(), "sm_80");
  EXPECT_EQ(target.multiprocessors, 108);
  EXPECT_EQ(default_device(), Device::cuda(0));
  expect_error(ErrorId::no_such_device, 0, "GPU 1 is asked for, but the driver sees 1",
               [] { runtime::device_info(1); });
}

TEST_F(FakeDriver, ThreadsWithoutAContextGetThePrimaryOne) {
  Array made;
  std::thread([&] {
    made = Array::from_host(std::vector<float>{1, 2}, {2}, Device::cuda(0));
  }).join();
  EXPECT_EQ(made.to_host().value(1), 2);
}

TEST_F(FakeDriver, ArraysFreeTheirMemory) {
  const int before = fake_.allocations;
  {
    Array a = Array::zeros(Device::cuda(0), {100}, DType::f32);
    EXPECT_EQ(fake_.allocations, before + 1);
    EXPECT_EQ(a.to_host().value(99), 0);
    const Array b = a.clone();
    EXPECT_EQ(fake_.allocations, before + 2);
    a = Array();
    EXPECT_EQ(fake_.allocations, before + 1);
  }
  EXPECT_EQ(fake_.allocations, before);
}

TEST_F(FakeDriver, StridedDeviceViewsAreCopied) {
  const Array a = Array::from_host(std::vector<float>{0, 1, 2, 3, 4, 5}, {2, 3}, Device::cuda(0));
  const Array t = Array::copy_of(a.t(), Device::cpu());
  EXPECT_EQ(t.value(1), 3);
  EXPECT_EQ(Array::copy_of(a.t(), Device::cuda(0)).to_host().value(1), 3);
}

TEST_F(FakeDriver, ElementsOfDeviceArraysAreNotReadDirectly) {
  const Array a = Array::zeros(Device::cuda(0), {2}, DType::f32);
  expect_error(ErrorId::array_not_on_host, 0, "use to_host()", [&] { a.values<float>(); });
  EXPECT_EQ(to_string(a), "f32[2] on cuda:0\n[0, 0]");
}

TEST_F(FakeDriver, AllocatorCanBeReplaced) {
  const int before = fake_.allocated;
  int released = 0;
  alignas(16) static char pool[64];
  set_device_allocator({[](int, int64_t) { return static_cast<void*>(pool); },
                        [&](int, void* pointer, int64_t bytes) {
                          EXPECT_EQ(pointer, pool);
                          EXPECT_EQ(bytes, 8);
                          ++released;
                        }});
  Array a(Device::cuda(0), {2}, DType::f32);
  set_device_allocator({});
  EXPECT_EQ(a.data(), pool);
  EXPECT_EQ(fake_.allocated, before);
  a = Array();
  EXPECT_EQ(released, 1);
}

TEST_F(FakeDriver, OutOfMemorySaysHowMuch) {
  fake_.fail_in = "cuMemAlloc";
  fake_.fail_code = 2;
  expect_error(ErrorId::device_out_of_memory, 0, "allocating 4096 bytes",
               [] { Array(Device::cuda(0), {1024}, DType::f32); });
}

TEST_F(FakeDriver, FailedCallsSayWhatWasBeingDone) {
  fake_.fail_in = "cuStreamSynchronize";
  fake_.fail_code = 700;
  expect_error(ErrorId::cuda_call, 0,
               "waiting for a stream (an earlier kernel may have failed): the CUDA driver reports "
               "CUDA_ERROR_ILLEGAL_ADDRESS",
               [] { Stream().synchronize(); });
}

TEST_F(FakeDriver, StreamsAndEvents) {
  const Stream stream = Stream::create();
  EXPECT_NE(stream.handle(), nullptr);
  EXPECT_FALSE(stream.capturing());
  fake_.capturing = stream.handle();
  EXPECT_TRUE(stream.capturing());
  EXPECT_TRUE(Stream().capturing());  // the legacy stream cannot be used meanwhile
  fake_.capturing = nullptr;
  Event begin, end;
  begin.record(stream);
  end.record(stream);
  EXPECT_EQ(end.since(begin), 1.5f);
}

TEST_F(FakeDriver, KernelsOfNewerToolkitsNameBothVersions) {
  fake_.fail_in = "cuModuleLoadData";
  fake_.fail_code = 222;
  expect_error(ErrorId::driver_too_old, 0, "NVRTC 13.1 made it, and the driver supports CUDA 13.0",
               [] { runtime::Module(0, "cubin", "ptx", "k", 13010); });
}

TEST_F(FakeDriver, PtxIsUsedWhereThereIsNoMachineCode) {
  fake_.fail_in = "cuModuleLoadData";
  fake_.fail_code = 209;  // once: the second call, with the PTX, succeeds
  const int before = fake_.loaded_modules;
  {
    const runtime::Module module(0, "cubin", "ptx", "k", 13000);
    EXPECT_EQ(fake_.loaded_modules, before + 1);
  }
  EXPECT_EQ(fake_.loaded_modules, before);
  fake_.fail_in = "cuModuleLoadData";
  expect_error(ErrorId::driver_too_old, 0, "CUDA_ERROR_NO_BINARY_FOR_GPU",
               [] { runtime::Module(0, "cubin", "", "k", 13000); });
}

TEST_F(FakeDriver, NoGpuIsItsOwnError) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        fake_.usable = false;
        try {
          Array(Device::cuda(0), {1}, DType::f32);
        } catch (const Error& error) {
          std::fprintf(stderr, "%s\n", error.what());
          std::exit(error.id() == ErrorId::no_gpu ? 0 : 1);
        }
        std::exit(2);
      },
      ::testing::ExitedWithCode(0), "no GPU to run on.*CUDA_ERROR_NO_DEVICE.*nvidia-smi");
}

}  // namespace
}  // namespace tilewright
