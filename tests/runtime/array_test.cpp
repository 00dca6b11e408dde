// Arrays on the CPU, devices by name.
#include "tilewright/runtime/array.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace tilewright {
namespace {

using testing::expect_error;

TEST(Array, HoldsACopyOfHostData) {
  std::vector<float> data = {1, 2, 3, 4, 5, 6};
  const Array a = Array::from_host(data, {2, 3}, Device::cpu());
  data[0] = 99;
  EXPECT_EQ(a.dtype(), DType::f32);
  EXPECT_EQ(a.values<float>()[0], 1);
  EXPECT_EQ(a.value(5), 6);
  EXPECT_EQ(a.bytes(), 24);
  EXPECT_EQ(a.spec(), contiguous_spec(DType::f32, {2, 3}));
}

TEST(Array, CopiesStridedViews) {
  const Array a = Array::from_host(std::vector<int32_t>{0, 1, 2, 3, 4, 5}, {2, 3}, Device::cpu());
  const Array t = Array::copy_of(a.t(), Device::cpu());
  EXPECT_EQ(std::vector<int32_t>(t.values<int32_t>().begin(), t.values<int32_t>().end()),
            (std::vector<int32_t>{0, 3, 1, 4, 2, 5}));
  const Array repeated = Array::copy_of(a.slice(0, 1, 2).expand({2, 3}), Device::cpu());
  EXPECT_EQ(repeated.value(0), 3);
  EXPECT_EQ(repeated.value(3), 3);
}

TEST(Array, MovingLeavesAnEmptyOne) {
  Array a = Array::zeros(Device::cpu(), {4}, DType::f64);
  const Array b = std::move(a);
  EXPECT_EQ(a.elements(), 0);
  EXPECT_EQ(a.data(), nullptr);
  EXPECT_EQ(b.elements(), 4);
}

TEST(Array, SizeZeroAndRankZero) {
  const Array none(Device::cpu(), {0, 5}, DType::f32);
  EXPECT_EQ(none.data(), nullptr);
  EXPECT_EQ(none.to_host().elements(), 0);
  const Array one = Array::from_host(std::vector<double>{2.5}, {}, Device::cpu());
  EXPECT_EQ(one.rank(), 0);
  EXPECT_EQ(one.value(0), 2.5);
}

TEST(Array, ReadsEveryDType) {
  const auto first = [](auto value, DType dtype) {
    return Array::from_bytes(&value, 1, {1}, dtype, Device::cpu()).value(0);
  };
  EXPECT_EQ(first(uint8_t{2}, DType::boolean), 1);
  EXPECT_EQ(first(int8_t{-3}, DType::i8), -3);
  EXPECT_EQ(first(uint8_t{200}, DType::u8), 200);
  EXPECT_EQ(first(int16_t{-300}, DType::i16), -300);
  EXPECT_EQ(first(int32_t{-70000}, DType::i32), -70000);
  EXPECT_EQ(first(int64_t{1} << 40, DType::i64), 1099511627776.0);
  EXPECT_EQ(first(uint8_t{0x38}, DType::f8e4m3), 1);
  EXPECT_EQ(first(uint8_t{0xbc}, DType::f8e5m2), -1);
  EXPECT_EQ(first(uint16_t{0x3c00}, DType::f16), 1);
  EXPECT_EQ(first(uint16_t{0xbf80}, DType::bf16), -1);
  EXPECT_EQ(first(0.5f, DType::f32), 0.5);
  EXPECT_EQ(first(0.25, DType::f64), 0.25);
}

TEST(Array, BitsOfNarrowFloatsAreReachable) {
  const uint8_t codes[] = {0x38, 0xc0};
  for (const DType dtype : {DType::f8e4m3, DType::f8e5m2}) {
    const Array array = Array::from_bytes(codes, 2, {2}, dtype, Device::cpu());
    EXPECT_EQ(array.values<uint8_t>()[1], 0xc0);
    expect_error(ErrorId::array_dtype, 0, "elements of this array are f8",
                 [&] { array.values<int8_t>(); });
  }
}

TEST(Array, PrintsItselfShortened) {
  const Array small = Array::from_host(std::vector<float>{1, 2.5, -3, 4}, {2, 2}, Device::cpu());
  EXPECT_EQ(fmt::format("{}", small), "f32[2,2] on cpu\n[[1, 2.5],\n [-3, 4]]");
  const Array large = Array::zeros(Device::cpu(), {1000}, DType::i32);
  EXPECT_EQ(to_string(large), "i32[1000] on cpu\n[0, 0, 0, 0, 0, .., 0, 0, 0, 0, 0]");
}

TEST(Array, RefusesWrongUse) {
  expect_error(ErrorId::array_length, 0, "3 values are given for an array of sizes [2,2]", [] {
    Array::from_host(std::vector<float>{1, 2, 3}, {2, 2}, Device::cpu());
  });
  const Array a = Array::zeros(Device::cpu(), {2}, DType::f32);
  expect_error(ErrorId::array_dtype, 0, "f32", [&] { a.values<int32_t>(); });
  expect_error(ErrorId::view_range, 0, "size 2", [&] { a.value(2); });
  expect_error(ErrorId::view_copy, 0, "negative stride", [&] {
    Array::copy_of(TensorView(a.data(), DType::f32, {2}, {-1}, Device::cpu()), Device::cpu());
  });
  expect_error(ErrorId::host_out_of_memory, 0, "bytes of host memory",
               [] { Array(Device::cpu(), {int64_t{1} << 50}, DType::f32); });
}

TEST(Device, NamesBothWays) {
  for (const Device device : {Device::cpu(), Device::cuda(0), Device::cuda(3)})
    EXPECT_EQ(parse_device(to_string(device)), device);
  EXPECT_EQ(parse_device("cuda"), Device::cuda(0));
  for (const char* text : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x"})
    expect_error(ErrorId::unknown_device, 0, text, [&] { parse_device(text); });
}

TEST(Device, StreamsAndEventsNeedAGpu) {
  expect_error(ErrorId::bad_device, 0, "a stream needs a CUDA device",
               [] { Stream::create(Device::cpu()); });
  expect_error(ErrorId::bad_device, 0, "an event", [] { Event event(Device::cpu()); });
}

}  // namespace
}  // namespace tilewright
