// The syntax of arguments on the command line.
#include "cli/arguments.h"

#include <gtest/gtest.h>

#include "cli/npy.h"
#include "cli/tensor_memory.h"
#include "tests/support/expect_error.h"

namespace tilewright::cli {
namespace {

using testing::expect_error;

TensorArgument tensor(std::string_view text) {
  return std::get<TensorArgument>(parse_argument(text));
}

ScalarArgument scalar(std::string_view text) {
  return std::get<ScalarArgument>(parse_argument(text));
}

TEST(Arguments, TensorsAreRowMajorUnlessStridesAreGiven) {
  EXPECT_EQ(tensor("f32[1000,999]").spec, contiguous_spec(DType::f32, {1000, 999}));
  EXPECT_EQ(tensor("bf16[8,8]:[16,1]").spec, (TensorSpec{DType::bf16, {8, 8}, {16, 1}, 16}));
  EXPECT_EQ(tensor("i8[3]@1").spec, (TensorSpec{DType::i8, {3}, {1}, 1}));
  EXPECT_EQ(tensor("f32[8,8]:[0,1]@4").spec, (TensorSpec{DType::f32, {8, 8}, {0, 1}, 4}));
  EXPECT_EQ(tensor("f32[]").spec, contiguous_spec(DType::f32, {}));
  EXPECT_EQ(tensor("f32[0,5]").spec, contiguous_spec(DType::f32, {0, 5}));
}

TEST(Arguments, TextOfASpecReadsBack) {
  for (const TensorSpec& spec :
       {TensorSpec{DType::f32, {8, 8}, {16, 1}, 4}, contiguous_spec(DType::u8, {7}),
        TensorSpec{DType::i64, {2, 3, 4}, {1, 2, 6}, 8}, dynamic_spec(DType::f32, {7, 8}),
        dynamic_spec(DType::f32, {kMostDynamic, 8}, 4), dynamic_spec(DType::f32, {kMostDynamic})})
    EXPECT_EQ(tensor(to_string(spec)).spec, spec) << to_string(spec);
}

TEST(Arguments, AFileIsViewedAsAnotherType) {
  const std::string path = ::testing::TempDir() + "viewed.npy";
  write_npy(path, {DType::u8, {2, 3}, false, std::vector<std::byte>(6, std::byte(0x38))});
  EXPECT_EQ(tensor(path).spec, contiguous_spec(DType::u8, {2, 3}));
  const TensorArgument argument = tensor("f8e4m3:" + path);
  EXPECT_EQ(argument.spec, contiguous_spec(DType::f8e4m3, {2, 3}));
  const TensorMemory memory = make_tensor(argument, Device::cpu(), 1);
  EXPECT_EQ(elements_of(memory.view).value(5), 1);
  expect_error(ErrorId::argument_syntax, 0, "the file holds u8 of 1 bytes, and a bf16 has 2",
               [&] { tensor("bf16:" + path); });
}

TEST(Arguments, RandomF8LiesBetweenMinusOneAndOne) {
  for (const char* text : {"f8e4m3[1000]", "f8e5m2[1000]"}) {
    const Array array = elements_of(make_tensor(tensor(text), Device::cpu(), 1).view);
    double total = 0;
    for (int64_t i = 0; i < 1000; ++i) {
      EXPECT_LE(std::abs(array.value(i)), 1);
      total += std::abs(array.value(i));
    }
    EXPECT_NEAR(total, 500, 50);
  }
}

TEST(Arguments, Scalars) {
  EXPECT_EQ(scalar("f32=2.5"), (ScalarArgument{DType::f32, 2.5}));
  EXPECT_EQ(scalar("f64=-1e-3"), (ScalarArgument{DType::f64, -1e-3}));
  EXPECT_EQ(scalar("i64=7"), (ScalarArgument{DType::i64, int64_t{7}}));
  EXPECT_EQ(scalar("i8=-128"), (ScalarArgument{DType::i8, int64_t{-128}}));
  EXPECT_EQ(scalar("i64=-9223372036854775808").value,
            (std::variant<int64_t, double>(std::numeric_limits<int64_t>::min())));
  EXPECT_EQ(scalar("bool=true"), (ScalarArgument{DType::boolean, int64_t{1}}));
  EXPECT_EQ(number_of(scalar("f32=inf")), std::numeric_limits<double>::infinity());
  EXPECT_EQ(number_of(scalar("u8=255")), 255);
}

struct BadArgument {
  std::string text;
  std::string problem;
};

class BadArguments : public ::testing::TestWithParam<BadArgument> {};

TEST_P(BadArguments, AreRefusedWithAReason) {
  expect_error(ErrorId::argument_syntax, 0, GetParam().problem,
               [] { parse_argument(GetParam().text); });
  expect_error(ErrorId::argument_syntax, 0, "argument '" + GetParam().text + "'",
               [] { parse_argument(GetParam().text); });
}

INSTANTIATE_TEST_SUITE_P(
    Cli, BadArguments,
    ::testing::Values(
        BadArgument{"", "'' is no dtype"}, BadArgument{"f33[2]", "'f33' is no dtype"},
        BadArgument{"[2]", "'' is no dtype"}, BadArgument{"f32", "'[' is missing at the end"},
        BadArgument{"f32[2", "']' is missing at the end"},
        BadArgument{"f32[2,]", "expected a number, not negative, before ']'"},
        BadArgument{"f32[-2]", "expected a number, not negative"},
        BadArgument{"f32[2]x", "nothing is expected after it, but 'x' is"},
        BadArgument{"f32[2 ,3]", "expected ']' before ' ,3]'"},
        BadArgument{"f32[2,3]:[1]", "2 sizes but 1 strides"},
        BadArgument{"f32[2]@3", "power of two from 4 to 16 bytes; found 3"},
        BadArgument{"f32[2]@2", "found 2"}, BadArgument{"f32[2]@32", "found 32"},
        BadArgument{"f32[99999999999999999999]", "more than 63 bits"},
        BadArgument{"f32[4294967296,4294967296]", "larger than 2^63 bytes"},
        BadArgument{"f64[2]:[4611686018427387904]", "larger than 2^63 bytes"},
        BadArgument{"f32=", "'' is no number"}, BadArgument{"f32=2x", "'2x' is no number"},
        BadArgument{"i32=2.5", "'2.5' is no whole number"},
        BadArgument{"i8=128", "i8 holds -128 .. 127"}, BadArgument{"u8=-1", "u8 holds 0 .. 255"},
        BadArgument{"i64=9223372036854775808", "i64 holds"},
        BadArgument{"bool=maybe", "a bool is true or false"}));

}  // namespace
}  // namespace tilewright::cli
