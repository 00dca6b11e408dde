// Loops and branches that depend on run-time values, and kernels of several grids, against
// references written without the library.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/codegen/kernels_control.h"
#include "tests/interpreter/kernel_builder.h"
#include "tests/support/expect_error.h"

namespace tilewright::testing {
namespace {

/// Memory for the parameters of a kernel: whole numbers from -3 to 3 in those that are passed.
struct Memory {
  explicit Memory(const KernelCase& kernel) {
    std::mt19937 random(3);
    for (const ir::Param& param : kernel.fn.params) {
      if (!param.is_tensor()) continue;
      TestTensor& tensor = *tensors.emplace_back(std::make_unique<TestTensor>(param.spec));
      if (!param.allocated)
        tensor.for_each(
            [&](const auto& at) { tensor.set(at, static_cast<double>(random() % 7) - 3); });
    }
  }

  void run(const KernelCase& kernel, std::vector<int64_t> block) {
    InterpreterArgs args;
    size_t next = 0, scalar = 0;
    for (const ir::Param& param : kernel.fn.params) {
      if (param.is_tensor())
        args.emplace_back(tensors[next++]->host());
      else
        args.push_back(kernel.scalars.at(scalar++));
    }
    interpret(kernel.fn, args, {.block = std::move(block)});
  }

  double at(size_t tensor, std::vector<int64_t> position) const {
    return tensors.at(tensor)->get(position);
  }
  int64_t size(size_t tensor, int dim = 0) const { return tensors.at(tensor)->spec().sizes[dim]; }

  std::vector<std::unique_ptr<TestTensor>> tensors;
};

/// Sizes for all free axes, the given ones over and over.
std::vector<int64_t> blocks_for(const KernelCase& kernel, const std::vector<int64_t>& sizes) {
  std::vector<int64_t> blocks;
  for (const ir::Axis& axis : kernel.fn.axes)
    if (!axis.pinned) blocks.push_back(sizes[blocks.size() % sizes.size()]);
  return blocks;
}

/// Runs a kernel with several block sizes; `check` compares.
template <class Check>
void with_blocks(const KernelCase& kernel, const Check& check) {
  for (const std::vector<int64_t>& sizes :
       std::vector<std::vector<int64_t>>{{4, 8}, {3, 5, 7}, {64}, {1}}) {
    Memory memory(kernel);
    const Memory before(kernel);
    memory.run(kernel, blocks_for(kernel, sizes));
    check(memory, before);
  }
}

TEST(RunTimeControl, CausalLoops) {
  with_blocks(causal_sum(21), [](const Memory& memory, const Memory&) {
    for (int64_t r = 0; r < 21; ++r) {
      double sum = 0;
      for (int64_t c = 0; c <= r; ++c) sum += memory.at(0, {r, c});
      EXPECT_EQ(memory.at(1, {r}), sum) << r;
    }
  });
}

TEST(RunTimeControl, BoundsFromMemory) {
  with_blocks(segment_sums(9, 30), [](const Memory& memory, const Memory&) {
    for (int64_t i = 0; i < 9; ++i) {
      double sum = 0;
      for (int64_t k = i; k < 4 * memory.at(0, {i}); ++k) sum += memory.at(1, {k});
      EXPECT_EQ(memory.at(2, {i}), sum) << i;
    }
  });
}

TEST(RunTimeControl, JaggedRows) {
  with_blocks(jagged_sums(10, 14), [](const Memory& memory, const Memory&) {
    for (int64_t r = 0; r < 10; ++r) {
      double sum = 0;
      for (int64_t c = 0; c < std::min<double>(4 * memory.at(1, {r}), 14); ++c)
        sum += memory.at(0, {r, c});
      EXPECT_EQ(memory.at(2, {r}), sum) << r;
    }
  });
}

TEST(RunTimeControl, TilesOfTiles) {
  const KernelCase kernel = tiles_of_tiles(13, 19);
  Memory memory(kernel);
  memory.run(kernel, {6, 8});  // tiles of 2 by 4 inside
  for (int64_t r = 0; r < 13; ++r)
    for (int64_t c = 0; c < 19; ++c)
      EXPECT_EQ(memory.at(1, {r, c}), memory.at(0, {r, c}) + r % 6 / 2 * 10 + c % 8 / 4);
}

TEST(RunTimeControl, WhileLoops) {
  with_blocks(doubled_until(6), [](const Memory& memory, const Memory&) {
    for (int64_t i = 0; i < 6; ++i) {
      int64_t value = static_cast<int64_t>(memory.at(0, {i})), count = 0;
      std::vector<double> row;
      for (int64_t c = 0; c < 33; ++c) row.push_back(memory.at(1, {i, c}));
      for (; value > 0 && value < 100; value *= 2, ++count)
        for (double& x : row) x = x * 2 + static_cast<double>(value);
      for (int64_t c = 0; c < 33; ++c) EXPECT_EQ(memory.at(2, {i, c}), row[c]);
      EXPECT_EQ(memory.at(3, {i}), static_cast<double>(count));
    }
  });
  with_blocks(followed_links(7), [](const Memory& memory, const Memory&) {
    for (int64_t i = 0; i < 7; ++i) {
      double total = 0;
      int64_t at = i;
      for (int steps = 0; at >= 0 && steps < 5; ++steps) {
        double part = 0;
        for (int64_t c = 0; c < 20; ++c) part += memory.at(1, {at, c});
        total = part > 0 ? total + part : total - 1;
        at = static_cast<int64_t>(memory.at(0, {at}));
      }
      EXPECT_EQ(memory.at(2, {i}), total) << i;
    }
  });
}

TEST(RunTimeControl, WhileLoopsInWhileLoops) {
  const KernelCase kernel = common_divisors(9);
  Memory memory(kernel);
  memory.run(kernel, {});
  for (int64_t i = 0; i < 9; ++i)
    EXPECT_EQ(memory.at(2, {i}), std::gcd(static_cast<int64_t>(memory.at(0, {i})) * 6 + 24,
                                          static_cast<int64_t>(memory.at(1, {i})) * 9 + 27));
}

TEST(RunTimeControl, ALoopThatDoesNotEnd) {
  const int line = __LINE__ + 5;
  const KernelCase kernel =
      make_case("endless",
                [](Tensor x) {
                  for (auto i : grid(x.size(0))) {
                    while_([&] { return cast(x[i], f32) < 1; }, [&] { x[i] = -1; });
                  }
                },
                {dense(f32, {3})});
  Memory memory(kernel);
  memory.tensors[0]->fill(0);
  ::setenv("TILEWRIGHT_MAX_STEPS", "700", 1);
  expect_error(ErrorId::endless_loop, line, "ran tw::while_ loops 700 times in all",
               [&] { memory.run(kernel, {}); });
  ::unsetenv("TILEWRIGHT_MAX_STEPS");
}

TEST(RunTimeControl, ElseIfChains) {
  with_blocks(chosen_branches(4, 40), [](const Memory& memory, const Memory&) {
    for (int64_t r = 0; r < 4; ++r) EXPECT_FALSE(std::isnan(memory.at(1, {r, 39})));
  });
  const KernelCase kernel = chosen_branches(4, 40);
  Memory memory(kernel);
  memory.run(kernel, {8});
  for (int64_t r = 0; r < 4; ++r) {
    double bias = 0;
    int kind = 0;
    for (int64_t tile = 0; tile < 5; ++tile) {
      const auto at = [&](int64_t c) { return memory.at(0, {r, 8 * tile + c}); };
      double factor = 1, minus = 0;
      if (tile == 0) {
        bias += 1;
      } else if (8 * tile < 12) {
        factor = 2;
        kind += 1;
        bias = 0;
        for (int64_t c = 0; c < 8; ++c) bias += 2 * at(c);
      } else if (r > 1) {
        minus = bias;
      }
      for (int64_t c = 0; c < 8; ++c)
        EXPECT_EQ(memory.at(1, {r, 8 * tile + c}), at(c) * factor - minus + bias);
    }
    EXPECT_EQ(memory.at(2, {r}), kind > 1 ? 7 : kind);
  }
}

TEST(RunTimeControl, GridsInSteps) {
  with_blocks(rows_in_steps(9, 7, 8), [](const Memory& memory, const Memory& before) {
    for (int64_t r = 0; r < 9; ++r)
      for (int64_t c = 0; c < 7; ++c) {
        const bool touched = r % 3 == 1 && r < 8 && c % 2 == 0;
        EXPECT_EQ(memory.at(1, {r, c}),
                  touched ? before.at(0, {r, c}) + r + c : before.at(1, {r, c}));
      }
  });
}

TEST(SeveralGrids, RunInOrder) {
  with_blocks(two_grids(13, 20), [](const Memory& memory, const Memory&) {
    for (int64_t r = 0; r < 13; ++r) {
      double sum = 0;
      for (int64_t c = 0; c < 20; ++c) {
        sum += memory.at(0, {r, c});
        EXPECT_EQ(memory.at(3, {r, c}), 2 * memory.at(0, {r, c}));
      }
      EXPECT_EQ(memory.at(2, {r}), sum);
    }
  });
  with_blocks(shifted_in_place(30), [](const Memory& memory, const Memory& before) {
    for (int64_t i = 0; i < 29; ++i) EXPECT_EQ(memory.at(0, {i}), before.at(0, {i + 1}));
  });
  with_blocks(shares(11, 24), [](const Memory& memory, const Memory&) {
    double total = 0;
    memory.tensors[0]->for_each([&](const auto& at) { total += std::abs(memory.at(0, at)) + 1; });
    memory.tensors[0]->for_each([&](const auto& at) {
      EXPECT_EQ(memory.at(1, at), static_cast<float>(memory.at(0, at) / total));
    });
  });
}

TEST(SeveralGrids, SplitProducts) {
  for (const int64_t parts : {1, 2, 3})
    with_blocks(split_product(14, 11, 19, {{"split_k", parts}}),
                [](const Memory& memory, const Memory&) {
                  for (int64_t m = 0; m < 14; ++m)
                    for (int64_t n = 0; n < 11; ++n) {
                      double sum = 0;
                      for (int64_t k = 0; k < 19; ++k)
                        sum += memory.at(0, {m, k}) * memory.at(1, {k, n});
                      EXPECT_EQ(memory.at(2, {m, n}), sum);
                    }
                });
}

}  // namespace
}  // namespace tilewright::testing
