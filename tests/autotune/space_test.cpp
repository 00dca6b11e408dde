// The configs that a search may try.
#include "tilewright/autotune/space.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/config/config_samples.h"
#include "tilewright/autotune/time_model.h"
#include "tilewright/ir/error.h"
#include "tilewright/ir/parse.h"

namespace tilewright::tune {
namespace {

using testing::product_text;
using testing::sum_text;
using testing::two_dots_text;
using testing::whole_rows_text;

const Target kHopper = parse_target("sm_90a");

struct Kernel {
  explicit Kernel(const std::string& text, const Target& target = kHopper)
      : fn(ir::parse(text)), space(SearchSpace::of(fn, target)) {}
  ir::Function fn;
  SearchSpace space;
};

TEST(SearchSpace, OfALargeProductIsLarge) {
  const Kernel kernel(product_text(4096, 4096, 4096, "bf16"));
  EXPECT_GE(kernel.space.size(), 2000);
  EXPECT_LE(static_cast<double>(kernel.space.size()), kernel.space.combinations());
  std::set<std::string> names;
  for (const SpaceAxis& axis : kernel.space.axes()) {
    EXPECT_FALSE(axis.values.empty()) << axis.name;
    EXPECT_TRUE(names.insert(axis.name).second) << axis.name;
  }
  for (const char* name : {"rows", "cols", "ks", "warps", "stages", "matrix and copy", "cluster"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST(SearchSpace, ChoicesComeFromTheKernelAndTheTarget) {
  const auto values = [](const SearchSpace& space, std::string_view name) {
    for (const SpaceAxis& axis : space.axes())
      if (axis.name == name) return axis.values;
    return std::vector<std::string>{};
  };
  const Kernel sum(sum_text(1 << 20));
  EXPECT_EQ(values(sum.space, "matrix and copy").size(), 1U);
  EXPECT_TRUE(values(sum.space, "stages").empty());
  EXPECT_EQ(values(sum.space, "i").front(), "1");
  const Kernel narrow(sum_text(100));
  EXPECT_EQ(values(narrow.space, "i").back(), "128");
  const Kernel old(product_text(512, 512, 512, "f16"), parse_target("sm_75"));
  EXPECT_EQ(values(old.space, "cluster").size(), 1U);
  EXPECT_EQ(values(old.space, "matrix and copy"), (std::vector<std::string>{"fma sync"}));
  const Kernel floats(product_text(512, 512, 512));
  for (const std::string& unit : values(floats.space, "matrix and copy"))
    EXPECT_EQ(unit.substr(0, 3), "fma");
  const Kernel pinned(product_text(512, 512, 512, "f32", " = 16 pinned"));
  EXPECT_TRUE(values(pinned.space, "ks").empty());
}

/// Every config that a few fields allow and that the space says it has.
int64_t counted_one_by_one(const SearchSpace& space, const std::vector<int64_t>& blocks,
                           const std::vector<int>& vectors, const std::vector<int>& stages) {
  int64_t count = 0;
  Config config;
  config.copy = space.target().has_cp_async() ? CopyKind::cp_async : CopyKind::sync;
  for (const int64_t block : blocks)
    for (config.warps = 1; config.warps <= 32; ++config.warps)
      for (const int stage : stages)
        for (const int vector : vectors)
          for (const int group : {1, 2, 4, 8, 16, 32})
            for (const bool turned : {false, true})
              for (config.blocks_per_sm = 1; config.blocks_per_sm <= 4; ++config.blocks_per_sm)
                for (const bool persistent : {false, true}) {
                  config.block =
                      blocks.size() > 1 ? std::vector<int64_t>{block} : std::vector<int64_t>{};
                  config.stages = stage;
                  config.vector = vector;
                  config.group = group;
                  config.order = turned ? std::vector<int>{1, 0} : std::vector<int>{};
                  config.persistent = persistent;
                  // Those that mean the same are one.
                  if (group > 1 && blocks.size() > 1) continue;
                  count += space.contains(config);
                }
  return count;
}

TEST(SearchSpace, ItsSizeIsTheNumberOfConfigsInIt) {
  const Kernel sum(sum_text(64), parse_target("sm_80"));
  EXPECT_EQ(sum.space.size(),
            counted_one_by_one(sum.space, {1, 2, 4, 8, 16, 32, 64}, {4, 8, 16}, {2}));
  std::string text = product_text(640, 640, 640, "f64", " = 16 pinned");
  for (const char* axis : {"rows", "cols"})
    text.replace(text.find(fmt::format("\"{}\"", axis)), 6,
                 fmt::format("\"{}\" = 64 pinned", axis));
  const Kernel product(text, parse_target("sm_75"));
  const int64_t size = product.space.size();
  EXPECT_GT(size, 0);
  EXPECT_LT(static_cast<double>(size), product.space.combinations());
  EXPECT_EQ(size, counted_one_by_one(product.space, {0}, {16}, {1, 2, 3, 4, 5, 6, 7, 8}));
}

// Registers hold no such row, so that all configs walk it in chunks.
TEST(SearchSpace, OfRowsTooLongToHold) {
  const Kernel kernel(whole_rows_text(16, 200000), parse_target("sm_80"));
  EXPECT_GT(kernel.space.size(), 0);
  Rng rng(5);
  for (int i = 0; i < 10; ++i) {
    const Config config = kernel.space.sample(rng);
    EXPECT_TRUE(kernel.space.contains(config)) << to_json(config);
    EXPECT_GT(config.reduction_loop, 0);
  }
}

TEST(SearchSpace, SamplesAreInItAndRepeatWithTheSeed) {
  for (const std::string& text : {product_text(1000, 520, 300, "bf16"), sum_text(5000),
                                  two_dots_text(512, 64), whole_rows_text(64, 3000)}) {
    const Kernel kernel(text);
    Rng first(7), second(7), other(8);
    std::set<std::string> seen, different;
    for (int i = 0; i < 50; ++i) {
      const Config config = kernel.space.sample(first);
      EXPECT_TRUE(kernel.space.contains(config)) << to_json(config);
      EXPECT_EQ(config, kernel.space.sample(second));
      different.insert(to_json(kernel.space.sample(other)));
      seen.insert(to_json(config));
    }
    EXPECT_GT(seen.size(), 20U);
    EXPECT_NE(seen, different);
  }
}

TEST(SearchSpace, NeighboursAreInItAndDiffer) {
  const Kernel kernel(product_text(4096, 4096, 4096, "bf16"));
  Rng rng(3);
  for (int i = 0; i < 20; ++i) {
    const Config config = kernel.space.sample(rng);
    const std::vector<Config> neighbours = kernel.space.neighbours(config);
    EXPECT_GT(neighbours.size(), 3U) << to_json(config);
    for (const Config& neighbour : neighbours) {
      EXPECT_TRUE(kernel.space.contains(neighbour)) << to_json(neighbour);
      EXPECT_NE(neighbour, config);
      EXPECT_EQ(std::ranges::count(neighbours, neighbour), 1);
    }
  }
  // From outside of the space too.
  Config odd = parse_config(R"({"block":[100,100,48],"matrix":"mma","stages":3})");
  EXPECT_FALSE(kernel.space.contains(odd));
  EXPECT_FALSE(kernel.space.neighbours(odd).empty());
}

TEST(SearchSpace, WhatChangesNothingIsTheSameConfig) {
  const Kernel kernel(product_text(4096, 4096, 4096, "bf16"));
  const auto contains = [&](const char* json) { return kernel.space.contains(parse_config(json)); };
  EXPECT_TRUE(contains(R"({"block":[64,64,64],"matrix":"mma"})"));
  EXPECT_TRUE(contains(R"({"block":[64,64,64],"matrix":"mma","order":[0,1]})"));
  EXPECT_TRUE(contains(R"({"block":[64,64,64],"matrix":"mma","order":[1,0]})"));
  EXPECT_TRUE(contains(R"({"block":[64,64,64],"matrix":"mma","repitch":true})"));
  EXPECT_FALSE(contains(R"({"block":[64,64,64],"matrix":"mma","group":3})"));
  EXPECT_FALSE(contains(R"({"block":[64,64],"matrix":"mma"})"));
  EXPECT_FALSE(contains(R"({"block":[60,64,64],"matrix":"mma"})"));
  EXPECT_FALSE(contains(R"({"block":[256,256,64],"matrix":"mma","stages":8})"));
  EXPECT_FALSE(contains(R"({"block":[64,64,64],"matrix":"mma","cluster":2})"));
}

TEST(SearchSpace, TheRankingIsSortedDiverseAndHasTheDefault) {
  for (const char* name : {"sm_80", "sm_90a"})
    for (const std::string& text :
         {product_text(2048, 2048, 2048, "bf16"), sum_text(1 << 22), two_dots_text(1024, 64)}) {
      const Target target = parse_target(name);
      const Kernel kernel(text, target);
      const Calibration typical = Calibration::typical(target);
      const std::vector<Config> ranked = kernel.space.ranked(typical, 12);
      ASSERT_FALSE(ranked.empty());
      EXPECT_LE(ranked.size(), 12U);
      const TimeModel model(kernel.fn, target, typical);
      const Config usual = default_config(kernel.fn, target);
      std::map<std::vector<int64_t>, int> shapes;
      for (size_t i = 0; i < ranked.size(); ++i) {
        EXPECT_TRUE(kernel.space.contains(ranked[i])) << to_json(ranked[i]);
        EXPECT_EQ(std::ranges::count(ranked, ranked[i]), 1);
        if (i > 0 && i + 1 < ranked.size()) {
          EXPECT_GE(model.microseconds(ranked[i]), model.microseconds(ranked[i - 1]));
        }
        ++shapes[ranked[i].block];
      }
      EXPECT_GT(shapes.size(), 2U);
      if (kernel.space.contains(usual)) {
        EXPECT_LE(model.microseconds(ranked.front()), model.microseconds(usual));
      }
      EXPECT_EQ(ranked, kernel.space.ranked(typical, 12));
    }
}

}  // namespace
}  // namespace tilewright::tune
