// Bytes, operations and working sets, counted from tile IR.
#include "tilewright/autotune/traffic.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include <random>

#include "tests/config/config_samples.h"
#include "tilewright/autotune/work.h"
#include "tilewright/codegen/config_needs.h"
#include "tilewright/ir/parse.h"

namespace tilewright::tune {
namespace {

using testing::looped_sum_text;
using testing::product_text;
using testing::sum_text;
using testing::two_dots_text;
using testing::whole_rows_text;

constexpr int64_t kKiB = 1024;

Config blocks(std::vector<int64_t> block, int stages = 1) {
  Config config;
  config.block = std::move(block);
  config.stages = stages;
  return config;
}

Traffic count(const std::string& text, const Config& config, std::string_view target = "sm_80") {
  return traffic_of(ir::parse(text), config, parse_target(target));
}

const TensorTraffic& tensor(const Traffic& traffic, std::string_view name) {
  const auto at = std::ranges::find(traffic.tensors, name, &TensorTraffic::name);
  EXPECT_NE(at, traffic.tensors.end()) << name;
  return *at;
}

int64_t ceil_div(int64_t x, int64_t y) { return (x + y - 1) / y; }

TEST(Traffic, OfAProductByHand) {
  const Traffic traffic = count(product_text(128, 128, 128, "f16"), blocks({16, 16, 32}));
  ASSERT_EQ(traffic.working.size(), 3U);
  EXPECT_EQ(traffic.working[0].shape, "f16[16,32]");
  EXPECT_EQ(traffic.working[1].shape, "f16[32,16]");
  EXPECT_EQ(traffic.working[2].shape, "f32[16,16]");
  EXPECT_TRUE(traffic.working[2].accumulator);
  for (const WorkingTile& tile : traffic.working) EXPECT_EQ(tile.bytes, kKiB) << tile.name;
  EXPECT_EQ(traffic.working_bytes(), 3 * kKiB);
  EXPECT_EQ(traffic.further_stage_bytes(), 0);
  EXPECT_EQ(tensor(traffic, "a").read_bytes, 256 * kKiB);
  EXPECT_EQ(tensor(traffic, "b").read_bytes, 256 * kKiB);
  EXPECT_EQ(tensor(traffic, "c").written_bytes, 64 * kKiB);
  EXPECT_EQ(traffic.bytes(), 576 * kKiB);
  EXPECT_EQ(traffic.operations(), 4194304);
  EXPECT_EQ(traffic.programs, 64);
  EXPECT_DOUBLE_EQ(traffic.intensity(), 4194304.0 / (576 * 1024));
  EXPECT_DOUBLE_EQ(tensor(traffic, "a").times_read(), 8);
  EXPECT_DOUBLE_EQ(tensor(traffic, "c").times_written(), 1);
}

TEST(Traffic, FurtherStagesAreTheOtherSlotsOfRings) {
  const Traffic traffic = count(product_text(128, 128, 128, "f16"), blocks({16, 16, 32}, 3));
  EXPECT_EQ(traffic.working_bytes(), 3 * kKiB);
  EXPECT_EQ(traffic.further_stage_bytes(), 4 * kKiB);
}

// 96 with tiles of 64 is one full tile and one of 32, in storage and in traffic.
TEST(Traffic, EdgeTilesCountAtTheirRealExtents) {
  const Traffic traffic = count(product_text(96, 96, 96), blocks({64, 64, 64}));
  EXPECT_EQ(traffic.working[0].bytes, 64 * 64 * 4);
  EXPECT_EQ(traffic.working[0].edge_bytes, 32 * 32 * 4);
  EXPECT_EQ(tensor(traffic, "a").read_bytes, 2 * 96 * 96 * 4);
  EXPECT_EQ(tensor(traffic, "c").written_bytes, 96 * 96 * 4);
  EXPECT_EQ(traffic.operations(), 2.0 * 96 * 96 * 96);
  const Traffic small = count(product_text(20, 20, 20), blocks({64, 64, 64}));
  EXPECT_EQ(small.working[0].bytes, 20 * 20 * 4);
}

TEST(Traffic, OfAProductForAnySizesAndTiles) {
  std::mt19937 random(1);
  const auto draw = [&](int most) { return static_cast<int>(random() % most) + 1; };
  for (int i = 0; i < 200; ++i) {
    const int m = draw(300), n = draw(300), k = draw(300);
    const int64_t rows = draw(128), columns = draw(128);
    SCOPED_TRACE(fmt::format("{}x{}x{} by {}x{}", m, n, k, rows, columns));
    const ir::Function fn = ir::parse(product_text(m, n, k, "f16"));
    const Target target = parse_target("sm_80");
    std::optional<int64_t> bytes;
    for (const int64_t depth : {int64_t{16}, int64_t{draw(128)}}) {
      const Traffic traffic = traffic_of(fn, blocks({rows, columns, depth}), target);
      EXPECT_EQ(tensor(traffic, "a").read_bytes, ceil_div(n, columns) * m * k * 2);
      EXPECT_EQ(tensor(traffic, "b").read_bytes, ceil_div(m, rows) * k * n * 2);
      EXPECT_EQ(tensor(traffic, "c").written_bytes, int64_t{m} * n * 4);
      EXPECT_EQ(traffic.operations(), 2.0 * m * n * k);
      EXPECT_EQ(traffic.bytes(), bytes.value_or(traffic.bytes()));
      bytes = traffic.bytes();
    }
  }
}

TEST(Traffic, OfKernelsThatMoveMemory) {
  const Traffic sum = count(sum_text(1000, "f16"), blocks({64}));
  EXPECT_EQ(sum.read_bytes(), 4000);
  EXPECT_EQ(sum.written_bytes(), 2000);
  EXPECT_EQ(sum.operations(), 1000);
  EXPECT_EQ(sum.working_bytes(), 2 * 64 * 2);
  const Traffic rows = count(whole_rows_text(30, 100), blocks({4}));
  EXPECT_EQ(rows.read_bytes(), 12000);
  EXPECT_EQ(rows.written_bytes(), 12000);
  EXPECT_EQ(rows.programs, 8);
  for (const int axis : {0, 1}) {
    const Traffic looped = count(looped_sum_text(70, 90, axis), blocks({32, 16}));
    EXPECT_EQ(looped.read_bytes(), 70 * 90 * 4);
    EXPECT_EQ(looped.written_bytes(), (axis == 0 ? 90 : 70) * 4);
  }
}

// A row that is walked in chunks is read for its largest element, and again.
TEST(Traffic, OfRowsInChunks) {
  Config config = blocks({1});
  config.reduction_loop = 1024;
  const Traffic traffic = count(whole_rows_text(30, 5000), config);
  EXPECT_EQ(traffic.read_bytes(), 2 * 30 * 5000 * 4);
  EXPECT_EQ(traffic.written_bytes(), 30 * 5000 * 4);
  EXPECT_EQ(traffic.memory_bytes(), 2 * 30 * 5000 * 4);  // once each way
}

// The second dot's loop ends where the grid's tile does.
TEST(Traffic, OfChainedDotsInALoopWhoseEndDependsOnTheTile) {
  const int64_t rows = 200, width = 32, block = 64, step = 48;
  const Traffic traffic = count(two_dots_text(200, 32), blocks({block, step}));
  int64_t positions = 0, products = 0;
  for (int64_t begin = 0; begin < rows; begin += block) {
    const int64_t end = std::min(begin + block, rows);
    positions += end;
    products += (end - begin) * end;
  }
  EXPECT_EQ(tensor(traffic, "k").read_bytes, 12 * positions * width * 4);
  EXPECT_EQ(tensor(traffic, "v").read_bytes, 12 * positions * width * 4);
  EXPECT_EQ(tensor(traffic, "q").read_bytes, 12 * rows * width * 4);
  EXPECT_EQ(traffic.dot_operations, 12.0 * 2 * 2 * static_cast<double>(products * width));
  EXPECT_TRUE(traffic.notes.empty());
}

TEST(Traffic, ManyTilesWithEndsOfTheirOwnAreSampled) {
  const Traffic traffic = count(two_dots_text(64 * 200, 32), blocks({64, 64}));
  ASSERT_EQ(traffic.notes.size(), 1U);
  EXPECT_NE(traffic.notes[0].find("64 of the tiles"), std::string::npos);
  const double exact = 12.0 * 64 * 200 * 201 / 2 * 32 * 4;
  EXPECT_NEAR(static_cast<double>(tensor(traffic, "k").read_bytes), exact, 0.02 * exact);
}

TEST(Traffic, WhatAClusterSharesComesFromL2Once) {
  const std::string text = product_text(512, 512, 512, "bf16");
  Config config = blocks({128, 128, 64}, 3);
  config.copy = CopyKind::tma;
  config.matrix = MatrixUnit::wgmma;
  config.warps = 8;
  const Traffic alone = count(text, config, "sm_90a");
  EXPECT_EQ(alone.l2_bytes(), alone.bytes());
  config.cluster = 2;  // along the rows: both blocks read the same columns of b
  const Traffic shared = count(text, config, "sm_90a");
  EXPECT_EQ(shared.bytes(), alone.bytes());
  EXPECT_EQ(tensor(shared, "a").l2_bytes, tensor(alone, "a").l2_bytes);
  EXPECT_EQ(tensor(shared, "b").l2_bytes, tensor(alone, "b").l2_bytes / 2);
  config.order = {1, 0};
  EXPECT_EQ(tensor(count(text, config, "sm_90a"), "a").l2_bytes, tensor(alone, "a").l2_bytes / 2);
}

TEST(Traffic, WhatFitsTheCacheComesFromMemoryOnce) {
  const Traffic small = count(product_text(512, 512, 512, "bf16"), blocks({64, 64, 32}), "sm_90a");
  EXPECT_EQ(small.memory_bytes(), 2 * 512 * 512 * 2 + 512 * 512 * 4);
  // Each of the matrices alone is larger than the cache.
  const std::string large = product_text(16384, 16384, 16384, "bf16");
  Config config = blocks({128, 128, 32});
  const Traffic rows = count(large, config, "sm_90a");
  config.group = 8;
  const Traffic grouped = count(large, config, "sm_90a");
  EXPECT_LE(grouped.memory_bytes(), rows.memory_bytes());
  EXPECT_GE(grouped.memory_bytes(), 2 * int64_t{16384} * 16384 * 2);
  EXPECT_LE(rows.memory_bytes(), rows.bytes());
}

TEST(Traffic, RowsThatBeginBetweenLinesTouchMoreOfThem) {
  const auto lines = [](int k) {
    return tensor(count(product_text(128, 128, k, "bf16"), blocks({64, 64, 64})), "a").lines;
  };
  EXPECT_EQ(lines(512), 1);
  EXPECT_EQ(lines(1000), 2);
}

TEST(Work, CountsOnceWhatALoopComesBackTo) {
  const ir::Function fn = ir::parse(product_text(64, 64, 64));
  const WorkCounter counter(fn);
  const Work work = counter.count(codegen::bind_axes(blocks({32, 16, 8}), counter.function()));
  EXPECT_EQ(work.grid, (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(work.programs, 8);
  EXPECT_EQ(work.steps, 64);
  for (const OpWork& one : work.ops)
    if (one.read) {
      EXPECT_EQ(one.elements, one.distinct);  // both indices move with k
      EXPECT_EQ(one.runs, 64);
    }
}

}  // namespace
}  // namespace tilewright::tune
