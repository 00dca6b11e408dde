// Configs against kernels and targets: what is refused, and what the message says.
#include <gtest/gtest.h>

#include "tests/config/config_samples.h"
#include "tests/support/expect_error.h"
#include "tilewright/codegen/config.h"
#include "tilewright/codegen/config_needs.h"
#include "tilewright/ir/parse.h"

namespace tilewright {
namespace {

using testing::expect_error;
using testing::product_text;
using testing::sum_text;

void check(const Config& config, std::string_view target = "sm_80", std::string text = {}) {
  check_config(config, ir::parse(text.empty() ? product_text(1000, 1001, 999) : text),
               parse_target(target));
}

TEST(CheckConfig, AnyBlockSizesAreLegal) {
  for (int64_t m : {1, 3, 96, 128})
    for (int64_t n : {1, 3, 96, 192})
      for (int64_t k : {1, 3, 16, 33})
        for (int warps : {4, 8}) check({.block = {m, n, k}, .warps = warps});
}

TEST(CheckConfig, AnyNumberOfWarpsIsLegal) {
  for (int warps = 2; warps <= 32; ++warps) check({.block = {96, 96, 16}, .warps = warps});
}

TEST(CheckConfig, FieldsAreCheckedWithoutJson) {
  Config config{.block = {64, 64, 16}};
  config.warps = 0;
  expect_error(ErrorId::config_field, 0, "config field 'warps': expected an integer from 1",
               [&] { check(config); });
  expect_error(ErrorId::config_field, 0, "found [64,-64,16]", [&] {
    check({.block = {64, -64, 16}});
  });
}

TEST(CheckConfig, BlockCount) {
  expect_error(ErrorId::config_block_count, 0,
               "kernel product has 3 tile axes whose block size the config chooses (rows, cols, "
               "ks), found 2 block sizes",
               [] {
                 check({.block = {64, 64}});
               });
  const std::string pinned = product_text(64, 64, 64, "f32", " = 8 pinned");
  check({.block = {64, 64}}, "sm_80", pinned);
  expect_error(ErrorId::config_block_count, 0, "has 2 tile axes", [&] {
    check({.block = {64, 64, 8}}, "sm_80", pinned);
  });
}

TEST(CheckConfig, Tunables) {
  std::string text = product_text(64, 64, 64);
  const Config config{.block = {64, 64, 16}, .tunables = {{"split", 4}}};
  expect_error(ErrorId::config_tunable_unknown, 0,
               "'tunables': kernel product has no tunable 'split'; it has none",
               [&] { check(config, "sm_80", text); });
  text.insert(text.find("  %"), "  tunable \"split\" = 4 of [1,4]\n  tunable \"x\" = 0 of [0]\n");
  check(config, "sm_80", text);
  check({.block = {64, 64, 16}}, "sm_80", text);
  expect_error(ErrorId::config_tunable_unknown, 0, "no tunable 'parts'; it has split, x", [&] {
    check({.block = {64, 64, 16}, .tunables = {{"parts", 4}}}, "sm_80", text);
  });
  expect_error(ErrorId::config_tunable_value, 0,
               "'split' of kernel product is one of 1, 4; found 2", [&] {
                 check({.block = {64, 64, 16}, .tunables = {{"split", 2}}}, "sm_80", text);
               });
}

TEST(CheckConfig, Order) {
  check({.block = {64, 64, 16}, .order = {1, 0}});
  expect_error(ErrorId::config_field, 0, "'order': expected the 2 axes of the grid", [] {
    check({.block = {64, 64, 16}, .order = {2, 1, 0}});
  });
  expect_error(ErrorId::config_field, 0, "found [0,0]", [] {
    check({.block = {64, 64, 16}, .order = {0, 0}});
  });
}

TEST(CheckConfig, UnsupportedValuesSayWhatToUse) {
  const std::vector<int64_t> block = {64, 64, 16};
  const auto refused = [](const Config& config, std::string_view target, std::string_view field,
                          std::string_view use) {
    const auto run = [&] { check(config, target); };
    expect_error(ErrorId::config_unsupported, 0, field, run);
    expect_error(ErrorId::config_unsupported, 0, use, run);
  };
  refused({.block = block, .matrix = MatrixUnit::mma}, "sm_80", "'matrix' is mma", "; use fma");
  refused({.block = block, .matrix = MatrixUnit::wgmma}, "sm_90a", "'matrix' is wgmma",
          "; use fma");
  refused({.block = block, .copy = CopyKind::tma}, "sm_75", "'copy' is tma", "; use sync");
  refused({.block = block, .copy = CopyKind::cp_async}, "sm_75",
          "'copy' is cp_async, but sm_75 cannot copy asynchronously", "; use sync");
  refused({.block = block, .split_k = 4}, "sm_80", "'split_k' is 4", "; use 1");
}

TEST(CheckConfig, MatrixUnitsMustTakeADot) {
  const Config mma{.block = {64, 64, 32}, .matrix = MatrixUnit::mma};
  for (std::string_view target : {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"})
    for (std::string_view dtype : {"f16", "bf16"})
      check(mma, target, product_text(100, 100, 100, dtype));
  // Depths that are no multiple of the instruction's are padded with zeros.
  check({.block = {20, 12, 7}, .matrix = MatrixUnit::mma}, "sm_80",
        product_text(64, 64, 64, "f16"));
  expect_error(ErrorId::config_unsupported, 0,
               "'matrix' is mma, but on sm_80 it takes none of the products of kernel product: f32 "
               "x f32 into f32; use fma",
               [&] { check(mma); });
  expect_error(ErrorId::config_unsupported, 0, "on sm_75 it takes none of the products", [&] {
    Config config = mma;
    config.copy = CopyKind::sync;
    check(config, "sm_75", product_text(64, 64, 64, "f16"));
  });
  expect_error(ErrorId::config_unsupported, 0, "kernel sum multiplies no matrices",
               [] { check({.block = {64}, .matrix = MatrixUnit::mma}, "sm_80", sum_text(64)); });
}

TEST(CheckConfig, Threads) {
  check({.block = {128, 128, 16}, .warps = 32});
  expect_error(ErrorId::config_threads, 0,
               "33 warps are 1056 threads, and a block has at most 1024", [] {
                 check({.block = {128, 128, 16}, .warps = 33});
               });
}

TEST(CheckConfig, Registers) {
  check({.block = {128, 256, 16}, .warps = 8});
  const auto large = [] { check({.block = {128, 256, 16}, .warps = 4}); };
  expect_error(ErrorId::config_registers, 0,
               "config {\"block\":[128,256,16]}: a thread needs about", large);
  expect_error(ErrorId::config_registers, 0,
               "at most 255 when a multiprocessor runs 1 x 128 threads", large);
  // The same tile is fine alone, and not with two blocks on a multiprocessor.
  check({.block = {128, 128, 16}, .warps = 4});
  expect_error(ErrorId::config_registers, 0,
               "at most 64 when a multiprocessor runs 4 x 256 threads", [] {
                 check({.block = {128, 128, 16}, .warps = 8, .blocks_per_sm = 4});
               });
  // mma: 64 by 64 of a warp are 128 registers, fragments another 32.
  const std::string half = product_text(512, 512, 512, "f16");
  check({.block = {128, 256, 64}, .warps = 8, .matrix = MatrixUnit::mma}, "sm_80", half);
  expect_error(ErrorId::config_registers, 0, "needs about 184", [&] {
    check({.block = {128, 256, 64}, .warps = 8, .matrix = MatrixUnit::mma, .blocks_per_sm = 2},
          "sm_80", half);
  });
  // f64 takes two registers an element.
  expect_error(ErrorId::config_registers, 0, "needs about", [] {
    check({.block = {128, 128, 8}, .warps = 4}, "sm_80", product_text(512, 512, 512, "f64"));
  });
  // Tiles that live only shortly may be large, but not absurdly so.
  check({.block = {65536}, .warps = 4}, "sm_80", sum_text(1 << 20));
  expect_error(ErrorId::config_registers, 0, "needs about 262144 registers",
               [] { check({.block = {1 << 25}, .warps = 4}, "sm_80", sum_text(1 << 26)); });
}

TEST(CheckConfig, HugeBlocksDoNotOverflow) {
  const int64_t huge = int64_t{1} << 30;
  expect_error(ErrorId::config_registers, 0, "needs about", [&] {
    check({.block = {huge, huge, huge}});
  });
}

TEST(CheckConfig, SharedMemory) {
  check({.block = {128, 128, 32}, .warps = 8, .stages = 3});
  const auto deep = [] { check({.block = {128, 128, 32}, .warps = 8, .stages = 4}, "sm_86"); };
  expect_error(ErrorId::config_shared, 0,
               "config {\"block\":[128,128,32],\"warps\":8,\"stages\":4}: a block needs 131072 "
               "bytes of shared memory, and has at most 101376 on sm_86",
               deep);
  check({.block = {128, 128, 32}, .warps = 8, .stages = 3}, "sm_86");
}

TEST(ConfigNeeds, CountsRingsAndAccumulators) {
  const ir::Function fn = ir::parse(product_text(1024, 1024, 1024, "f16"));
  const Config config{.block = {128, 64, 32}, .warps = 4, .stages = 3};
  const codegen::ConfigNeeds needs = codegen::estimate_needs(config, fn, parse_target("sm_80"));
  EXPECT_EQ(needs.shared_bytes, 3 * 2 * (128 * 32 + 32 * 64));
  EXPECT_GE(needs.registers, 128 * 64 / 128 + 16);
  EXPECT_LE(needs.registers, 128);
  // A carried tile that continues as another loop's is counted once; the first operand of the first
  // dot is loaded outside of the loop and has one slot; the second dot's is computed and has one.
  const ir::Function two = ir::parse(testing::two_dots_text(2048, 64));
  const Config other{.block = {64, 32}, .warps = 4, .stages = 2};
  EXPECT_EQ(codegen::estimate_needs(other, two, parse_target("sm_80")).shared_bytes,
            4 * (64 * 64 + 2 * 64 * 32 + 64 * 32 + 2 * 32 * 64));
  EXPECT_EQ(codegen::bind_axes(other, two), (std::vector<int64_t>{1, 64, 32}));
}

}  // namespace
}  // namespace tilewright
