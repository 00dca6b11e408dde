// The config made for a kernel nobody tuned.
#include <gtest/gtest.h>

#include "tests/config/config_samples.h"
#include "tilewright/codegen/config.h"
#include "tilewright/ir/error.h"
#include "tilewright/ir/parse.h"

namespace tilewright {
namespace {

using Block = std::vector<int64_t>;
using testing::looped_sum_text;
using testing::product_text;
using testing::sum_text;
using testing::transposition_text;
using testing::two_dots_text;
using testing::whole_rows_text;

Config made(const std::string& text, std::string_view target = "sm_90a") {
  return default_config(ir::parse(text), parse_target(target));
}

TEST(DefaultConfig, PassesTheCheckForEveryKernelAndTarget) {
  std::vector<std::string> kernels;
  for (const auto& [m, n, k] : {std::tuple{1, 1, 1},
                                {9, 9, 9},
                                {1000, 1001, 999},
                                {4096, 4096, 4096},
                                {1, 8192, 4096},
                                {4096, 3, 70000},
                                {128, 128, 0},
                                {0, 5, 7}})
    for (std::string_view dtype : {"f32", "f16", "f64"})
      kernels.push_back(product_text(m, n, k, dtype));
  for (int pinned : {1, 8, 64, 100})
    kernels.push_back(product_text(512, 512, 512, "f32", fmt::format(" = {} pinned", pinned)));
  for (int64_t n : {0, 1, 3, 1000, 1025, 1 << 28})
    for (std::string_view dtype : {"f32", "bf16", "i8", "f64"})
      kernels.push_back(sum_text(n, dtype));
  for (const auto& [m, n] :
       {std::pair{1, 1}, {3, 5}, {8192, 4096}, {1000, 7}, {5, 40000}, {1, 65536}}) {
    kernels.push_back(transposition_text(m, n));
    kernels.push_back(whole_rows_text(m, n));
    kernels.push_back(whole_rows_text(m, n, "bf16"));
    for (int axis : {0, 1}) kernels.push_back(looped_sum_text(m, n, axis));
  }
  for (int width : {16, 64, 96, 128, 256}) kernels.push_back(two_dots_text(2048, width));
  for (const std::string& text : kernels)
    for (std::string_view name : {"sm_75", "sm_80", "sm_86", "sm_90a", "sm_120a"}) {
      const ir::Function fn = ir::parse(text);
      const Target target = parse_target(name);
      const Config config = default_config(fn, target);
      EXPECT_NO_THROW(check_config(config, fn, target)) << text << name << to_json(config);
      EXPECT_EQ(config.copy, config.matrix == MatrixUnit::wgmma ? CopyKind::tma
                             : target.has_cp_async()            ? CopyKind::cp_async
                                                                : CopyKind::sync);
      EXPECT_EQ(parse_config(to_json(config)), config);
    }
}

TEST(DefaultConfig, LargeProductsGetLargeTiles) {
  const Config large = made(product_text(4096, 4096, 4096));
  EXPECT_EQ(large.block, Block({128, 128, 16}));
  EXPECT_EQ(large.warps, 8);
  EXPECT_EQ(large.stages, 4);
  EXPECT_EQ(large.group, 8);
  EXPECT_EQ(large.matrix, MatrixUnit::fma);
  EXPECT_EQ(made(product_text(4096, 4096, 4096, "f16"), "sm_75").block, Block({128, 128, 32}));
}

TEST(DefaultConfig, ProductsOfHalvesTakeMma) {
  const Config large = made(product_text(4096, 4096, 4096, "f16"), "sm_90");
  EXPECT_EQ(large.matrix, MatrixUnit::mma);
  EXPECT_EQ(large.block, Block({128, 256, 64}));
  EXPECT_EQ(large.warps, 8);
  EXPECT_EQ(large.stages, 4);
  // Two blocks of four warps on a multiprocessor; eight warps where shared memory is small.
  const Config medium = made(product_text(2048, 2048, 2048, "bf16"), "sm_90");
  EXPECT_EQ(medium.block, Block({128, 128, 32}));
  EXPECT_EQ(medium.warps, 4);
  EXPECT_EQ(medium.stages, 4);
  const Config little_memory = made(product_text(4096, 4096, 4096, "f16"), "sm_86");
  EXPECT_EQ(little_memory.block, Block({128, 128, 32}));
  EXPECT_EQ(little_memory.warps, 8);
  EXPECT_EQ(little_memory.stages, 4);
  EXPECT_EQ(made(product_text(512, 512, 512, "bf16"), "sm_90").block, Block({32, 32, 64}));
  // The depth is a multiple of the instruction's.
  EXPECT_EQ(made(product_text(9, 9, 9, "f16"), "sm_90").block, Block({16, 16, 16}));
}

// Where there is wgmma, it multiplies what bulk copies can bring.
TEST(DefaultConfig, ProductsOfHalvesTakeWarpgroups) {
  for (const char* dtype : {"f16", "bf16"})
    for (const int size : {1024, 2048, 4096, 8192}) {
      const Config config = made(product_text(size, size, size, dtype), "sm_90a");
      EXPECT_EQ(config.matrix, MatrixUnit::wgmma) << to_json(config);
      EXPECT_EQ(config.copy, CopyKind::tma) << to_json(config);
      EXPECT_GE(config.stages, 3) << to_json(config);
    }
}

TEST(DefaultConfig, SmallProductsFillTheMultiprocessors) {
  const Config medium = made(product_text(1000, 1000, 1000));
  EXPECT_EQ(medium.block, Block({64, 64, 16}));
  EXPECT_EQ(medium.warps, 4);
  EXPECT_EQ(made(product_text(256, 256, 256)).block, Block({32, 32, 16}));
  // On a GPU with fewer multiprocessors the larger tile already fills it.
  EXPECT_EQ(made(product_text(1000, 1000, 1000), "sm_75").block, Block({128, 128, 16}));
}

TEST(DefaultConfig, ShortAxesGetShortBlocks) {
  EXPECT_EQ(made(product_text(9, 9, 9)).block, Block({16, 16, 16}));
  EXPECT_EQ(made(product_text(3, 5000, 8)).block[0], 4);
  const Config row = made(product_text(1, 8192, 4096));
  EXPECT_EQ(row.block[0], 1);
  EXPECT_EQ(made(product_text(4096, 4096, 8)).block[2], 8);
  // A loop of one step has nothing to overlap.
  EXPECT_EQ(made(product_text(4096, 4096, 8)).stages, 1);
}

TEST(DefaultConfig, StagesFollowSharedMemory) {
  EXPECT_EQ(made(product_text(4096, 4096, 4096), "sm_80").stages, 4);
  EXPECT_EQ(made(product_text(4096, 4096, 4096), "sm_86").stages, 2);
  EXPECT_EQ(made(product_text(4096, 4096, 4096), "sm_75").stages, 2);
}

TEST(DefaultConfig, TwoDots) {
  const Config config = made(two_dots_text(2048, 64));
  EXPECT_GE(config.block[0], 32);
  EXPECT_EQ(config.block[1], 32);
}

TEST(DefaultConfig, Elementwise) {
  const Config f32 = made(sum_text(1 << 28));
  EXPECT_EQ(f32.block, Block({2048}));
  EXPECT_EQ(f32.warps, 8);
  EXPECT_EQ(f32.vector, 16);
  EXPECT_EQ(made(sum_text(1 << 28, "bf16")).block, Block({4096}));
  EXPECT_EQ(made(sum_text(1 << 28, "f64")).block, Block({1024}));
  // Short arrays: enough blocks rather than full ones.
  EXPECT_EQ(made(sum_text(100)).block, Block({128}));
  EXPECT_EQ(made(sum_text(50000)).block, Block({256}));
}

TEST(DefaultConfig, TranspositionsAreWideBothWays) {
  const Config config = made(transposition_text(8192, 4096));
  EXPECT_GE(config.block[0], 32);
  EXPECT_GE(config.block[1], 32);
  EXPECT_EQ(config.block[0] * config.block[1], 2048);
}

TEST(DefaultConfig, WholeRows) {
  const Config row = made(whole_rows_text(8192, 4096, "bf16"));
  EXPECT_EQ(row.block, Block({1}));
  EXPECT_EQ(row.warps, 4);  // 32 elements a thread
  EXPECT_EQ(made(whole_rows_text(65536, 100)).block, Block({16}));
  EXPECT_EQ(made(whole_rows_text(8192, 1000)).block, Block({1}));
  EXPECT_EQ(made(whole_rows_text(8192, 1000, "bf16")).warps, 1);
  const Config wide = made(whole_rows_text(8192, 12288, "bf16"));
  EXPECT_EQ(wide.warps, 8);
  EXPECT_EQ(wide.blocks_per_sm, 3);  // rows in flight
  const Config longest = made(whole_rows_text(64, 32768)),
               longer = made(whole_rows_text(64, 65536));
  EXPECT_EQ(longest.warps, 16);
  EXPECT_EQ(longest.reduction_loop, 0);
  EXPECT_EQ(longer.warps, 8);
  EXPECT_EQ(longer.reduction_loop, 4096);  // 16 elements a thread at a time
}

TEST(DefaultConfig, LoopedReductions) {
  // Along rows: long pieces of one row. Down columns: pieces of a few rows, many columns.
  EXPECT_EQ(made(looped_sum_text(8192, 4096, 1)).block, Block({1, 1024}));
  EXPECT_EQ(made(looped_sum_text(8192, 100, 1)).block, Block({16, 128}));
  const Config columns = made(looped_sum_text(8192, 65536, 0));
  EXPECT_EQ(columns.block, Block({128, 16}));
}

TEST(DefaultConfig, WhatTheKernelPinsMayNotFit) {
  const ir::Function fn = ir::parse(two_dots_text(2048, 8192));
  const Target target = parse_target("sm_75");
  const Config config = default_config(fn, target);
  EXPECT_EQ(config.block, Block({1, 1}));
  EXPECT_THROW(check_config(config, fn, target), Error);
}

}  // namespace
}  // namespace tilewright
