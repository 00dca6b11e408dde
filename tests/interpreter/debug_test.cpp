// Printing, assertions and PTX with a host function, in the interpreter.
#include <gtest/gtest.h>

#include "tests/interpreter/kernel_builder.h"
#include "tests/support/expect_error.h"
#include "tilewright/dsl/dsl.h"

namespace tilewright::testing {
namespace {

KernelArg vector_of(DType dtype, int64_t n) {
  return KernelArg::tensor(contiguous_spec(dtype, {n}));
}

/// What a kernel of one tensor 0, 1, .. prints.
template <class F>
std::string printed(F body, DType dtype, int64_t n, std::vector<int64_t> block) {
  const ir::Function fn =
      make_traceable("k", std::move(body)).trace(std::vector{vector_of(dtype, n)});
  TestTensor x(dtype, {n});
  x.for_each([&](const auto& at) { x.set(at, static_cast<double>(at[0])); });
  ::testing::internal::CaptureStdout();
  interpret(fn, {x.host()}, {.block = std::move(block)});
  return ::testing::internal::GetCapturedStdout();
}

TEST(Print, OneLineForEachProgram) {
  int line = 0;
  const std::string text = printed(
      [&](Tensor x) {
        for (auto i : tile(x.size(0))) {
          print("from {} of {}: 100% {{", i.begin(), true), line = __LINE__;
          x[i] = x[i] + 1;
        }
      },
      DType::f32, 5, {2});
  const std::string at = fmt::format("debug_test.cpp:{}: ", line);
  EXPECT_EQ(text, at + "from 0 of true: 100% { (program (0))\n" + at +
                      "from 2 of true: 100% { (program (1))\n" + at +
                      "from 4 of true: 100% { (program (2))\n");
}

TEST(Print, OneLineForEachElement) {
  int line = 0;
  const std::string text = printed(
      [&](Tensor x) {
        for (auto i : tile(x.size(0))) {
          Tile half = x[i] / 2;
          line = __LINE__ + 1;
          print("{} and {}", half, i.index() > 1);
        }
      },
      DType::f32, 3, {2});
  const std::string at = fmt::format("debug_test.cpp:{}: ", line);
  EXPECT_EQ(text, at + "0 and false (program (0), element [0])\n" + at +
                      "0.5 and false (program (0), element [1])\n" + at +
                      "1 and true (program (1), element [2])\n");
}

TEST(DeviceAssert, FailsWithTheUsersLine) {
  int line = 0;
  const ir::Function fn = make_traceable("k", [&](Tensor x) {
                            for (auto i : tile(x.size(0))) {
                              line = __LINE__ + 1;
                              device_assert(x[i] < 4.0, "too {large}");
                              x[i] = x[i] * 2;
                            }
                          }).trace(std::vector{vector_of(DType::f32, 5)});
  const auto run = [&](double last) {
    TestTensor x(DType::f32, {5});
    x.for_each([&](const auto& at) { x.set(at, at[0] == 4 ? last : 0.0); });
    interpret(fn, {x.host()}, {.block = {2}});
  };
  run(3);
  expect_error(ErrorId::assertion_failed, line, "too {large} (program (2), element [4])",
               [&] { run(4); });
}

// The edge of a tile, which loads give 0 for, does not count.
TEST(DeviceAssert, LeavesOutWhatIsPastTheEnd) {
  EXPECT_EQ(printed(
                [](Tensor x) {
                  for (auto i : tile(x.size(0))) {
                    Tile ones = x[i] * 0 + 1;
                    device_assert(i.index() < 5, "past the end");
                    device_assert(ones == 1.0, "not one");
                  }
                },
                DType::f32, 5, {4}),
            "");
}

TEST(InlinePtx, ComputesItsHostFunction) {
  const ir::Function fn =
      make_traceable("k", [](Tensor x, Tensor y) {
        for (auto i : tile(x.size(0))) {
          y[i] = inline_ptx("mad.rn.f32 %0, %1, %2, %1;", f32, {x[i], cast(x[i], f64)},
                            [](float a, double b) { return a * static_cast<float>(b) + a; });
          x[i] =
              inline_ptx("neg.f16 %0, %1;", f16, {cast(x[i], f16)}, [](float a) { return -a / 3; });
        }
      }).trace(std::vector{vector_of(DType::f32, 7), vector_of(DType::f32, 7)});
  TestTensor x(DType::f32, {7}), y(DType::f32, {7});
  x.for_each([&](const auto& at) { x.set(at, static_cast<double>(at[0])); });
  interpret(fn, {x.host(), y.host()}, {.block = {4}});
  y.for_each([&](const auto& at) {
    const double value = static_cast<double>(at[0]);
    EXPECT_EQ(y.get(at), value * value + value);
    // Rounded to f16, which has 11 significant bits.
    EXPECT_NEAR(x.get(at), -value / 3, value / 3 / 2048);
    EXPECT_TRUE(value == 0 || value == 3 || value == 6 || x.get(at) != -value / 3);
  });
}

TEST(InlinePtx, WithoutAHostFunctionIsRefused) {
  int line = 0;
  const ir::Function fn = make_traceable("k", [&](Tensor x) {
                            for (auto i : tile(x.size(0))) {
                              line = __LINE__ + 1;
                              x[i] = inline_ptx("neg.f32 %0, %1;", f32, {x[i]});
                            }
                          }).trace(std::vector{vector_of(DType::f32, 7)});
  TestTensor x(DType::f32, {7});
  expect_error(ErrorId::ptx_without_twin, line, "the interpreter",
               [&] { interpret(fn, {x.host()}, {}); });
}

/// Both halves of every byte, as a kernel unpacks them.
template <class Unpack>
std::vector<std::array<double, 2>> unpacked(DType dtype, const Unpack& unpack) {
  const ir::Function fn = make_traceable("k",
                                         [&](Tensor x, Tensor low, Tensor high) {
                                           for (auto i : tile(x.size(0))) {
                                             const auto [first, second] = unpack(x[i]);
                                             low[i] = first;
                                             high[i] = second;
                                           }
                                         })
                              .trace(std::vector{vector_of(DType::u8, 256), vector_of(dtype, 256),
                                                 vector_of(dtype, 256)});
  TestTensor x(DType::u8, {256}), low(dtype, {256}), high(dtype, {256});
  x.for_each([&](const auto& at) { x.set(at, static_cast<double>(at[0])); });
  interpret(fn, {x.host(), low.host(), high.host()}, {});
  std::vector<std::array<double, 2>> values;
  x.for_each([&](const auto& at) { values.push_back({low.get(at), high.get(at)}); });
  return values;
}

TEST(Unpack, GivesBothHalvesOfEveryByte) {
  constexpr double magnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (const DType dtype : {f16, bf16, f32, f8e4m3}) {
    const auto ints = unpacked(dtype, [&](const Tile& x) { return unpack_int4(x, dtype); });
    const auto plain = unpacked(dtype, [&](const Tile& x) { return unpack_uint4(x, dtype); });
    const auto floats = unpacked(dtype, [&](const Tile& x) { return unpack_fp4(x, dtype); });
    for (int byte = 0; byte < 256; ++byte)
      for (int half = 0; half < 2; ++half) {
        const int code = half == 0 ? byte & 15 : byte >> 4;
        EXPECT_EQ(plain[byte][half], code);
        EXPECT_EQ(ints[byte][half], code < 8 ? code : code - 16);
        EXPECT_EQ(std::abs(floats[byte][half]), magnitudes[code & 7]);
        EXPECT_EQ(std::signbit(floats[byte][half]), code > 7);
      }
  }
  EXPECT_EQ(unpacked(i32, [](const Tile& x) { return unpack_int4(x, i32); })[0x8f][0], -1);
}

// Pairs in the order of memory: a new last dimension of two.
TEST(Unpack, JoinsInOrder) {
  const ir::Function fn = make_traceable("k",
                                         [](Tensor x, Tensor y) {
                                           for (auto i : tile(x.size(0))) {
                                             const auto [low, high] = unpack_uint4(x[i], f32);
                                             y[i, all] = join(low, high);
                                           }
                                         })
                              .trace(std::vector{vector_of(DType::u8, 20),
                                                 KernelArg::tensor(contiguous_spec(f32, {20, 2}))});
  TestTensor x(DType::u8, {20}), y(f32, {20, 2});
  x.for_each(
      [&](const auto& at) { x.set(at, static_cast<double>(at[0] % 16 * 16 + 15 - at[0] % 16)); });
  interpret(fn, {x.host(), y.host()}, {.block = {8}});
  y.for_each([&](const auto& at) {
    EXPECT_EQ(y.get(at), at[1] == 0 ? 15 - at[0] % 16 : at[0] % 16) << at[0];
  });
}

}  // namespace
}  // namespace tilewright::testing
