// Random numbers: published values of the generator, and numbers that belong to positions.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/interpreter/kernel_builder.h"
#include "tilewright/dsl/dsl.h"
#include "tilewright/runtime/philox.h"

namespace tilewright::testing {
namespace {

// Known answers of philox4x32 with 10 rounds, from Random123's tests/kat_vectors: counter, key,
// result.
struct KnownAnswer {
  std::array<uint32_t, 4> counter;
  std::array<uint32_t, 2> key;
  std::array<uint32_t, 4> words;
};
constexpr KnownAnswer kAnswers[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};

int64_t joined(uint32_t low, uint32_t high) {
  return static_cast<int64_t>(uint64_t{high} << 32 | low);
}

KernelArg vector_of(DType dtype, int64_t n) {
  return KernelArg::tensor(contiguous_spec(dtype, {n}));
}

/// Runs a kernel whose tensors are all results and whose scalar is the seed.
template <class F>
void run(F body, std::vector<KernelArg> args, InterpreterArgs values, std::vector<int64_t> block) {
  const ir::Function fn = make_traceable("k", std::move(body)).trace(args);
  interpret(fn, values, {.block = std::move(block)});
}

TEST(Philox, GivesThePublishedAnswers) {
  for (const KnownAnswer& answer : kAnswers) {
    const auto& [counter, key, words] = answer;
    EXPECT_EQ(philox4x32(joined(counter[0], counter[1]), joined(counter[2], counter[3]),
                         joined(key[0], key[1])),
              words);
  }
}

TEST(Philox, GivesThemInAKernel) {
  TestTensor inputs(DType::i64, {3, 3}), out(DType::i32, {3, 4});
  for (int64_t i = 0; i < 3; ++i) {
    const auto& [counter, key, words] = kAnswers[i];
    const int64_t row[] = {joined(counter[0], counter[1]), joined(counter[2], counter[3]),
                           joined(key[0], key[1])};
    for (int64_t j = 0; j < 3; ++j) static_cast<int64_t*>(inputs.host().data)[3 * i + j] = row[j];
  }
  run(
      [](Tensor x, Tensor y) {
        for (auto i : tile(x.size(0))) {
          const auto words = philox(x[i, 0], x[i, 1], x[i, 2]);
          for (int word = 0; word < 4; ++word) y[i, word] = words[word];
        }
      },
      {KernelArg::tensor(contiguous_spec(DType::i64, {3, 3})),
       KernelArg::tensor(contiguous_spec(DType::i32, {3, 4}))},
      {inputs.host(), out.host()}, {2});
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j < 4; ++j)
      EXPECT_EQ(static_cast<uint32_t>(static_cast<int64_t>(out.get({i, j}))), kAnswers[i].words[j]);
}

// The numbers of a 37 x 50 matrix do not depend on how it is cut.
TEST(Random, BelongsToPositions) {
  const auto body = [](Tensor y, Scalar<int64_t> seed) {
    auto [m, n] = sizes<2>(y);
    for (auto rows : tile(m))
      for (auto cols : tile(n)) y[rows, cols] = rand({rows, cols}, seed);
  };
  const std::vector<KernelArg> args = {KernelArg::tensor(contiguous_spec(DType::f32, {37, 50})),
                                       KernelArg::scalar(DType::i64)};
  TestTensor a(DType::f32, {37, 50}), b(DType::f32, {37, 50}), c(DType::f32, {37, 50});
  run(body, args, {a.host(), int64_t{7}}, {64, 64});
  run(body, args, {b.host(), int64_t{7}}, {5, 3});
  run(body, args, {c.host(), int64_t{8}}, {5, 3});
  int same = 0;
  a.for_each([&](const auto& at) {
    ASSERT_EQ(a.get(at), b.get(at));
    // Position 50 r + c is the counter, word 0 the bits.
    const int32_t word = philox4x32(50 * at[0] + at[1], 0, 7)[0];
    EXPECT_EQ(a.get(at), static_cast<float>(word < 0 ? ~word : word) * 4.6566127342e-10f);
    same += a.get(at) == c.get(at);
  });
  EXPECT_LT(same, 3);
}

// Sizes in which the positions count, where loops have none that is known; and tiles of positions.
TEST(Random, TakesSizesOrPositions) {
  TestTensor a(DType::f32, {12, 10}), b(DType::f32, {12, 10}), c(DType::f32, {12, 10});
  run(
      [](Tensor a, Tensor b, Tensor c) {
        auto [m, n] = sizes<2>(a);
        for (auto outer : tile(n))
          for (auto cols : tile(outer.begin(), outer.end()))
            for (auto rows : tile(m)) {
              a[rows, cols] = rand({rows, cols}, 3, {m, n});
              Tile at = rows.index()[all, none] * n + cols.index();
              b[rows, cols] = rand(at, 3);
              c[rows, cols] = rand4x(at, 3)[0];
            }
      },
      {KernelArg::tensor(contiguous_spec(DType::f32, {12, 10})),
       KernelArg::tensor(contiguous_spec(DType::f32, {12, 10})),
       KernelArg::tensor(contiguous_spec(DType::f32, {12, 10}))},
      {a.host(), b.host(), c.host()}, {4, 3, 5});
  a.for_each([&](const auto& at) {
    ASSERT_EQ(a.get(at), b.get(at));
    ASSERT_EQ(a.get(at), c.get(at));
  });
}

struct Moments {
  double mean = 0, square = 0, low = 1e9, high = -1e9;
};

Moments moments_of(TestTensor& x, int64_t n) {
  Moments result;
  x.for_each([&](const auto& at) {
    const double value = x.get(at);
    result.mean += value / static_cast<double>(n);
    result.square += value * value / static_cast<double>(n);
    result.low = std::min(result.low, value);
    result.high = std::max(result.high, value);
  });
  return result;
}

// Over 20000 numbers, within five standard deviations of what each distribution has.
TEST(Random, HasTheDistributions) {
  constexpr int64_t n = 20000;
  TestTensor uniform(DType::f32, {n}), normal(DType::f32, {n}), dice(DType::i32, {n});
  run(
      [](Tensor u, Tensor g, Tensor d) {
        for (auto i : tile(u.size(0))) {
          u[i] = rand({i}, 1);
          g[i] = randn({i}, 2);
          d[i] = randint({i}, -2, 4, 3);
        }
      },
      {vector_of(DType::f32, n), vector_of(DType::f32, n), vector_of(DType::i32, n)},
      {uniform.host(), normal.host(), dice.host()}, {});
  const Moments u = moments_of(uniform, n), g = moments_of(normal, n), d = moments_of(dice, n);
  EXPECT_NEAR(u.mean, 0.5, 5 * std::sqrt(1.0 / 12 / n));
  EXPECT_NEAR(u.square, 1.0 / 3, 5 * std::sqrt(4.0 / 45 / n));
  EXPECT_GE(u.low, 0);
  EXPECT_LT(u.high, 1);
  EXPECT_NEAR(g.mean, 0, 5 / std::sqrt(n));
  EXPECT_NEAR(g.square, 1, 5 * std::sqrt(2.0 / n));
  EXPECT_NEAR(d.mean, 0.5, 5 * std::sqrt(35.0 / 12 / n));
  EXPECT_EQ(d.low, -2);
  EXPECT_EQ(d.high, 3);
}

}  // namespace
}  // namespace tilewright::testing
