// Views: sizes, strides, slices and which of them share memory.
#include "tilewright/runtime/view.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/support/expect_error.h"

namespace tilewright {
namespace {

using testing::expect_error;

// Memory that is only looked at by address.
alignas(64) char memory[1 << 16];

TensorView view(std::initializer_list<int64_t> sizes, std::initializer_list<int64_t> strides,
                int64_t offset = 0, DType dtype = DType::f32) {
  return {memory + offset * size_of(dtype), dtype, sizes, strides, Device::cpu()};
}

TEST(View, RowMajorStridesByDefault) {
  const TensorView a(memory, DType::f32, {2, 3, 4}, Device::cpu());
  EXPECT_EQ(a.stride(0), 12);
  EXPECT_EQ(a.stride(1), 4);
  EXPECT_EQ(a.stride(-1), 1);
  EXPECT_TRUE(a.contiguous());
  EXPECT_EQ(a.elements(), 24);
}

TEST(View, SizesAndStridesAre64Bit) {
  const TensorView a(memory, DType::f32, {int64_t{1} << 33, 2}, Device::cpu());
  EXPECT_EQ(a.elements(), int64_t{1} << 34);
  EXPECT_EQ(byte_range(a).end - byte_range(a).begin, uint64_t{1} << 36);
}

TEST(View, RefusesWhatIsNoTensor) {
  expect_error(ErrorId::view_size, 0, "a size is negative", [] {
    TensorView(memory, DType::f32, {2, -1}, Device::cpu());
  });
  expect_error(ErrorId::view_size, 0, "2^63", [] {
    TensorView(memory, DType::f32, {int64_t{1} << 40, int64_t{1} << 40}, Device::cpu());
  });
  expect_error(ErrorId::view_strides, 0, "2 sizes has 1 strides", [] { view({2, 3}, {3}); });
  expect_error(ErrorId::view_strides, 0, "2 sizes has 0 strides", [] { view({2, 3}, {}); });
  expect_error(ErrorId::view_rank, 0, "at most 8", [] {
    TensorView(memory, DType::f32, {1, 1, 1, 1, 1, 1, 1, 1, 1}, Device::cpu());
  });
}

TEST(View, TransposePermuteSliceExpandMoveNoData) {
  const TensorView a(memory, DType::f32, {2, 3, 4}, Device::cpu());
  const TensorView t = a.t();
  EXPECT_EQ(t.size(1), 4);
  EXPECT_EQ(t.stride(1), 1);
  EXPECT_EQ(t.stride(2), 4);
  EXPECT_EQ(t.data(), a.data());
  const TensorView p = a.permute({2, 0, 1});
  EXPECT_EQ(p.size(0), 4);
  EXPECT_EQ(p.stride(1), 12);
  const TensorView s = a.slice(1, 1, 3);
  EXPECT_EQ(s.size(1), 2);
  EXPECT_EQ(static_cast<char*>(s.data()) - memory, 4 * 4);
  const TensorView e = a.slice(0, 0, 1).expand({5, 3, 4});
  EXPECT_EQ(e.stride(0), 0);
  EXPECT_EQ(e.size(0), 5);
}

TEST(View, RefusesWrongTransformations) {
  const TensorView a(memory, DType::f32, {2, 3}, Device::cpu());
  expect_error(ErrorId::view_rank, 0, "at least 2",
               [] { TensorView(memory, DType::f32, {4}, Device::cpu()).t(); });
  expect_error(ErrorId::view_permutation, 0, "[0,0]", [&] { a.permute({0, 0}); });
  expect_error(ErrorId::view_permutation, 0, "[0]", [&] { a.permute({0}); });
  expect_error(ErrorId::view_range, 0, "1:4 are not inside dimension 1, which has size 3",
               [&] { a.slice(1, 1, 4); });
  expect_error(ErrorId::view_range, 0, "2:1", [&] { a.slice(1, 2, 1); });
  expect_error(ErrorId::view_dim, 0, "dimension 2", [&] { a.size(2); });
  expect_error(ErrorId::view_expand, 0, "[2,6]", [&] { a.expand({2, 6}); });
}

TEST(View, StridesOfSizeOneDimensionsDoNotTellSpecsApart) {
  // Sizes and strides that frameworks really give: the first stride is arbitrary.
  const TensorView odd = view({1, 8}, {12345, 1}), plain = view({1, 8}, {8, 1});
  EXPECT_EQ(odd.spec(), plain.spec());
  EXPECT_TRUE(odd.contiguous());
  EXPECT_EQ(view({16, 1, 20, 12}, {262144, 128, 128, 1}).spec().strides[1], 20 * 128);
  EXPECT_EQ(view({128, 1}, {1, 77}).spec(), contiguous_spec(DType::f32, {128, 1}));
}

TEST(View, StridesOfEmptyTensorsDoNotTellSpecsApart) {
  EXPECT_EQ(view({0, 8}, {3, 9}).spec().strides, view({0, 8}, {8, 1}).spec().strides);
}

TEST(View, AlignmentIsTheLargestPowerOfTwoUpTo16) {
  EXPECT_EQ(view({4}, {1}).alignment(), 16);
  EXPECT_EQ(view({4}, {1}, 1).alignment(), 4);
  EXPECT_EQ(view({4}, {1}, 2).alignment(), 8);
  EXPECT_EQ(view({4}, {1}, 1, DType::i8).alignment(), 1);
  EXPECT_EQ(TensorView(nullptr, DType::f32, {0}, Device::cpu()).alignment(), 16);
}

TEST(Overlap, DisjointRanges) {
  EXPECT_EQ(overlap(view({8}, {1}), view({8}, {1}, 8)), Overlap::none);
  EXPECT_EQ(overlap(view({8}, {1}), view({8}, {1}, 7)), Overlap::partial);
  EXPECT_EQ(overlap(view({0, 8}, {8, 1}), view({0, 8}, {8, 1})), Overlap::none);
}

TEST(Overlap, SameMemorySameLayoutIsExact) {
  EXPECT_EQ(overlap(view({4, 4}, {4, 1}), view({4, 4}, {4, 1})), Overlap::exact);
  EXPECT_EQ(overlap(view({1, 4}, {99, 1}), view({1, 4}, {4, 1})), Overlap::exact);
  EXPECT_EQ(overlap(view({4, 4}, {4, 1}), view({4, 4}, {1, 4})), Overlap::partial);
}

TEST(Overlap, ColumnsOfOneMatrixAreDisjoint) {
  const TensorView whole = view({16, 32}, {32, 1});
  EXPECT_EQ(overlap(whole.slice(1, 0, 16), whole.slice(1, 16, 32)), Overlap::none);
  EXPECT_EQ(overlap(whole.slice(1, 16, 32), whole.slice(1, 0, 16)), Overlap::none);
  EXPECT_EQ(overlap(whole.slice(1, 0, 17), whole.slice(1, 16, 32)), Overlap::partial);
  EXPECT_EQ(overlap(whole.slice(0, 3, 4), whole.slice(1, 3, 4)), Overlap::partial);
}

// Element addresses of a view, by enumeration.
std::multiset<const void*> addresses(const TensorView& v) {
  std::multiset<const void*> result;
  std::vector<int64_t> at(v.rank(), 0);
  if (v.empty()) return result;
  for (;;) {
    int64_t offset = 0;
    for (int d = 0; d < v.rank(); ++d) offset += at[d] * v.stride(d);
    result.insert(static_cast<const char*>(v.data()) + offset * size_of(v.dtype()));
    int d = v.rank() - 1;
    while (d >= 0 && ++at[d] == v.size(d)) at[d--] = 0;
    if (d < 0) return result;
  }
}

TEST(Overlap, AgreesWithEnumeration) {
  std::mt19937 random(1);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 3000; ++round) {
    const int64_t strides[2] = {pick(0, 12), pick(0, 4)};
    const TensorView a = view({pick(0, 4), pick(0, 4)}, {strides[0], strides[1]}, pick(0, 20));
    const TensorView b = view({pick(0, 4), pick(0, 4)}, {strides[0], strides[1]}, pick(0, 20));
    bool common = false;
    const auto in_b = addresses(b);
    for (const void* address : addresses(a)) common |= in_b.contains(address);
    EXPECT_EQ(overlap(a, b) != Overlap::none, common) << to_string(a) << " and " << to_string(b);
    const auto own = addresses(a);
    const bool repeated = std::set(own.begin(), own.end()).size() != own.size();
    EXPECT_TRUE(!repeated || overlaps_itself(a)) << to_string(a);
  }
}

TEST(Overlap, WithinOneView) {
  EXPECT_TRUE(overlaps_itself(view({4, 4}, {0, 1})));
  EXPECT_TRUE(overlaps_itself(view({4, 4}, {3, 1})));
  EXPECT_FALSE(overlaps_itself(view({4, 4}, {1, 4})));
  EXPECT_FALSE(overlaps_itself(view({1, 4}, {0, 1})));
  EXPECT_FALSE(overlaps_itself(view({0, 4}, {0, 0})));
}

}  // namespace
}  // namespace tilewright
