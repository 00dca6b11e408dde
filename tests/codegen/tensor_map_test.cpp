// What bulk copies by tensor map can read, and what is said about what they cannot.
#include "tilewright/codegen/tensor_map.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace tilewright::codegen {
namespace {

using testing::expect_error;

TensorSpec spec(DType dtype, std::vector<int64_t> sizes, std::vector<int64_t> strides,
                int alignment = 16) {
  return {dtype, std::move(sizes), std::move(strides), alignment};
}

TEST(TakesTensorMap, RowsOfWholeSixteenBytes) {
  EXPECT_EQ(mapped_dimension(contiguous_spec(DType::bf16, {4096, 4096})), 1);
  EXPECT_EQ(mapped_dimension(spec(DType::bf16, {100, 64}, {1, 104})), 0);
  EXPECT_EQ(mapped_dimension(contiguous_spec(DType::f32, {7})), 0);
  EXPECT_TRUE(takes_tensor_map(contiguous_spec(DType::f32, {3, 1000})));
  EXPECT_FALSE(takes_tensor_map(contiguous_spec(DType::bf16, {4095, 4095})));
  EXPECT_FALSE(takes_tensor_map(contiguous_spec(DType::f32, {3, 1001})));
  EXPECT_FALSE(takes_tensor_map(contiguous_spec(DType::i8, {3, 1000})));
  EXPECT_TRUE(takes_tensor_map(contiguous_spec(DType::f64, {3, 1002})));
}

TEST(TakesTensorMap, SomeDimensionHasNeighbours) {
  EXPECT_FALSE(takes_tensor_map(spec(DType::f32, {8, 8}, {64, 2})));
  EXPECT_FALSE(takes_tensor_map(spec(DType::f32, {8, 8}, {1, 1})));
  EXPECT_FALSE(takes_tensor_map(spec(DType::f32, {8, 8}, {0, 1})));  // one row, eight times
}

TEST(TakesTensorMap, StridesOfSingleElementsDoNotMatter) {
  EXPECT_EQ(mapped_dimension(spec(DType::f32, {1, 8}, {3, 1})), 1);
  EXPECT_EQ(mapped_dimension(spec(DType::f32, {8, 1}, {1, 1})), 0);
  EXPECT_EQ(mapped_dimension(spec(DType::f32, {8, 1}, {4, 7})), 1);
  EXPECT_EQ(mapped_dimension(spec(DType::f32, {1, 1}, {5, 7})), 0);
}

TEST(TakesTensorMap, LimitsOfRankSizeAndAlignment) {
  EXPECT_FALSE(takes_tensor_map(spec(DType::f32, {}, {})));
  EXPECT_TRUE(takes_tensor_map(contiguous_spec(DType::f32, {2, 2, 2, 2, 4})));
  EXPECT_FALSE(takes_tensor_map(contiguous_spec(DType::f32, {2, 2, 2, 2, 2, 4})));
  EXPECT_FALSE(takes_tensor_map(contiguous_spec(DType::f32, {0, 4})));
  EXPECT_TRUE(takes_tensor_map(contiguous_spec(DType::i8, {int64_t{1} << 32})));
  EXPECT_FALSE(takes_tensor_map(contiguous_spec(DType::i8, {(int64_t{1} << 32) + 16})));
  EXPECT_FALSE(takes_tensor_map(contiguous_spec(DType::f32, {4, 4}, 8)));
  const int64_t far = int64_t{1} << 40;
  EXPECT_TRUE(takes_tensor_map(spec(DType::i8, {2, 16}, {far - 16, 1})));
  EXPECT_FALSE(takes_tensor_map(spec(DType::i8, {2, 16}, {far, 1})));
}

TensorMapSpec legal() { return {DType::bf16, {4096, 1000}, {1, 4096}, {64, 128}, 128}; }

// `change` makes a legal map illegal, and the error says `text`.
template <class Change>
void expect_refused(std::string_view text, const Change& change, int alignment = 16) {
  TensorMapSpec map = legal();
  change(map);
  expect_error(ErrorId::config_tensor_map, 0, text, [&] { check_tensor_map(map, "a", alignment); });
}

TEST(CheckTensorMap, TakesWhatTheHardwareTakes) {
  check_tensor_map(legal());
  TensorMapSpec map = legal();
  map.swizzle = 0;
  map.box = {256, 256};  // without a swizzle the inner box may be wide
  check_tensor_map(map);
  map.sizes = {4096, 1};
  map.strides = {1, 3};  // never used
  check_tensor_map(map, "a", 256);
}

TEST(CheckTensorMap, NamesTheTensorAndTheWayOut) {
  expect_refused("a cannot be copied by tensor map: ", [](auto& map) { map.swizzle = 16; });
  expect_refused("use another block size, or copy cp_async", [](auto& map) { map.swizzle = 16; });
}

TEST(CheckTensorMap, Dimensions) {
  expect_refused("1 to 5 dimensions, and this one has 0", [](auto& map) { map = {}; });
  expect_refused("1 to 5 dimensions, and this one has 6", [](auto& map) {
    map.sizes = map.strides = {1, 1, 1, 1, 1, 1};
    map.box = {1, 1, 1, 1, 1, 1};
  });
  expect_refused("2 sizes need as many strides and box sizes, found 1 and 2",
                 [](auto& map) { map.strides.pop_back(); });
  expect_refused("dimension 1 has size 0", [](auto& map) { map.sizes[1] = 0; });
  expect_refused("dimension 0 has size 4294967297",
                 [](auto& map) { map.sizes[0] = (int64_t{1} << 32) + 1; });
}

TEST(CheckTensorMap, Strides) {
  expect_refused("must be neighbours, and their stride is 2",
                 [](auto& map) { map.strides[0] = 2; });
  expect_refused("dimension 1 has a stride of 4095 bf16 elements",
                 [](auto& map) { map.strides[1] = 4095; });
  expect_refused("dimension 1 has a stride of 0", [](auto& map) { map.strides[1] = 0; });
  expect_refused("below 2^40 bytes", [](auto& map) { map.strides[1] = int64_t{1} << 39; });
}

TEST(CheckTensorMap, Boxes) {
  expect_refused("moves 257 elements along dimension 1, and can move 1 to 256",
                 [](auto& map) { map.box[1] = 257; });
  expect_refused("moves 0 elements along dimension 1", [](auto& map) { map.box[1] = 0; });
  expect_refused("moves 40 bytes along the first dimension, no multiple of 16",
                 [](auto& map) { map.box[0] = 20; });
  expect_refused("moves 144 bytes along the first dimension, and with a swizzle of 128 bytes",
                 [](auto& map) { map.box[0] = 72; });
  expect_refused("swizzles 48 bytes", [](auto& map) { map.swizzle = 48; });
}

TEST(CheckTensorMap, Alignment) {
  expect_refused(
      "a multiple of 8 bytes only, and 16 are needed", [](auto&) {}, 8);
}

TEST(MapStrides, AreBytesAndLegalEverywhere) {
  EXPECT_EQ(map_strides({DType::bf16, {64, 100, 3}, {1, 192, 64}, {64, 64, 1}, 128}),
            (std::vector<int64_t>{384, 128}));
  EXPECT_EQ(map_strides({DType::bf16, {64, 1, 3}, {1, 7, 64}, {64, 1, 1}, 128}),
            (std::vector<int64_t>{16, 128}));
}

}  // namespace
}  // namespace tilewright::codegen
