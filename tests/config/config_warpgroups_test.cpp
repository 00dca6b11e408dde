// What products of warpgroups, bulk copies and clusters ask of configs, and what the message says
// when they are asked for what they cannot do.
#include <gtest/gtest.h>

#include <fmt/format.h>

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

Config wgmma(std::vector<int64_t> block, int warps = 4) {
  return {.block = std::move(block),
          .warps = warps,
          .copy = CopyKind::tma,
          .matrix = MatrixUnit::wgmma};
}

void check(const Config& config, const std::string& text, std::string_view target = "sm_90a") {
  check_config(config, ir::parse(text), parse_target(target));
}

void check_bf16(const Config& config) { check(config, product_text(1000, 1000, 1000, "bf16")); }

/// Each text is a part of the message.
void expect_refused(const Config& config, const std::string& text,
                    const std::vector<std::string>& parts, std::string_view target = "sm_90a") {
  for (const std::string& part : parts)
    expect_error(ErrorId::config_unsupported, 0, part, [&] { check(config, text, target); });
}

void expect_bf16_refused(const Config& config, const std::vector<std::string>& parts) {
  expect_refused(config, product_text(1000, 1000, 1000, "bf16"), parts);
}

/// c = a b with any types, as they are written: "f8e4m3[64,64]:[1,64]".
std::string product_of_types(std::string_view a, std::string_view b, std::string_view acc,
                             std::string_view precision = "") {
  const auto dtype = [](std::string_view type) { return type.substr(0, type.find('[')); };
  return fmt::format(R"(func @product(%a: {0}, %b: {1}, %c: {2}[128,128]) {{
  axis B0 "rows"
  axis B1 "cols"
  axis B2 "ks"
  %0 = constant 0 : i64
  %n = constant 128 : i64
  tile_loop (%0, %0) (%n, %n) () {{axes=[0,1], parallel=1}} (%rows: slice<B0>, %cols: slice<B1>) {{
    %1 = constant {6} : {2}
    %2 = broadcast %1 {{shape=[B0,B1], dims=[]}} : {2}[B0,B1]
    %3 = tile_loop (%0) (%n) (%2) {{axes=[2], parallel=0}} : {2}[B0,B1] (%ks: slice<B2>, %4: {2}[B0,B1]) {{
      %5 = load %a, %rows, %ks : {3}[B0,B2]
      %6 = load %b, %ks, %cols : {4}[B2,B1]
      %7 = dot %5, %6, %4{5} : {2}[B0,B1]
      yield %7
    }}
    store %c, %3, %rows, %cols
  }}
}}
)",
                     a, b, acc, dtype(a), dtype(b), precision, acc == "i32" ? "0" : "0.0");
}

TEST(CheckWarpgroups, TilesThatTheyCanShare) {
  for (const int warps : {4, 8})
    for (const int64_t n : {16, 32, 96, 160, 192, 256})
      check_bf16(wgmma({16 * warps, n, 64}, warps));
  for (const int64_t n : {16, 96, 160, 192}) check_bf16(wgmma({192, n, 64}, 12));
  // Whatever the consumers have later, a product's registers are there when all four warpgroups,
  // the producer's too, are launched.
  expect_error(ErrorId::config_registers, 0, "needs about 130 registers, and has at most 128", [] {
    check_bf16(wgmma({192, 208, 64}, 12));
  });
  // Two blocks on a multiprocessor have half of them: sums of 128 registers, but not by one
  // product.
  Config two = wgmma({128, 128, 64});
  two.blocks_per_sm = 2;
  check_bf16(two);
  two.block = {64, 256, 64};
  expect_error(ErrorId::config_registers, 0, "needs about 154 registers, and has at most 128",
               [&] { check_bf16(two); });
  // So have two groups that take turns.
  Config turns = wgmma({128, 128, 64});
  turns.turns = 2;
  expect_bf16_refused(turns, {"'turns' is 2", "use 1, or copy tma, matrix wgmma and persistent"});
  turns.persistent = true;
  check_bf16(turns);
  // Fewer rows than warpgroups: they share the columns.
  check_bf16(wgmma({64, 256, 64}, 8));
  check_bf16(wgmma({64, 96, 64}, 12));
  // More rows: each takes several pieces.
  check_bf16(wgmma({256, 64, 64}, 4));
  // A few rows by many columns are computed transposed.
  check_bf16(wgmma({8, 128, 64}));
  check_bf16(wgmma({16, 128, 64}, 8));
  for (const int64_t k : {16, 32, 48, 64, 128}) check_bf16(wgmma({64, 64, k}));
}

TEST(CheckWarpgroups, WholeWarpgroups) {
  for (const int warps : {1, 2, 6, 9})
    expect_error(ErrorId::config_field, 0,
                 fmt::format("config field 'warps': expected a multiple of 4 with wgmma: whole "
                             "warpgroups, found {}",
                             warps),
                 [&] {
                   check_bf16(wgmma({64, 64, 64}, warps));
                 });
  // Those that copy are warps too.
  check_bf16(wgmma({64 * 7, 32, 32}, 28));
  expect_bf16_refused(wgmma({512, 32, 32}, 32),
                      {"config field 'warps' is 32, but a block has at most 32 warps, and 4 of "
                       "them start tma copies; use 28"});
}

TEST(CheckWarpgroups, Rows) {
  expect_bf16_refused(wgmma({100, 100, 64}),
                      {"config field 'matrix' is wgmma on a 100 by 100 tile over 64 of k",
                       "warpgroups compute 64 rows at a time; use a multiple of 64 rows, or mma"});
  expect_bf16_refused(wgmma({12, 128, 64}), {"warpgroups compute 64 rows at a time"});
}

TEST(CheckWarpgroups, Columns) {
  expect_bf16_refused(wgmma({64, 264, 64}),
                      {"on a 64 by 264 tile over 64 of k, but a warpgroup computes 8 to 256 "
                       "columns, by eights; use a multiple of 8 up to 256 columns, or mma"});
  expect_bf16_refused(wgmma({64, 20, 64}), {"8 to 256 columns, by eights"});
  // Two warpgroups share the columns.
  expect_bf16_refused(wgmma({64, 24, 64}, 8), {"use a multiple of 16 up to 512 columns, or mma"});
  // A row of b in shared memory, or a warpgroup's part of it, is whole panels.
  expect_bf16_refused(
      wgmma({64, 8, 64}),
      {"rows of operands in shared memory are whole 32 bytes for each warpgroup; use multiples of "
       "16, or mma"});
  expect_bf16_refused(wgmma({64, 48, 64}, 8), {"whole 32 bytes for each warpgroup"});
  check(wgmma({64, 8, 64}), product_of_types("bf16[128,128]", "bf16[128,128]:[1,128]", "f32"));
  check(wgmma({64, 48, 64}, 8), product_of_types("bf16[128,128]", "bf16[128,128]:[1,128]", "f32"));
}

TEST(CheckWarpgroups, Depth) {
  expect_bf16_refused(wgmma({64, 64, 24}),
                      {"a product is 16 deep; use a multiple of 16 for k, or mma"});
  expect_refused(wgmma({64, 64, 48}),
                 product_of_types("f8e4m3[128,128]", "f8e4m3[128,128]:[1,128]", "f32"),
                 {"a product is 32 deep; use a multiple of 32 for k, or mma"});
}

// Both operands may be stored along m or n if they are of halves, one of others: it goes through
// registers.
TEST(CheckWarpgroups, Majors) {
  check(wgmma({64, 64, 64}), product_of_types("f16[128,128]:[1,128]", "f16[128,128]", "f32"));
  for (const auto& [dtype, acc, precision] : {std::tuple{"f8e4m3", "f32", ""},
                                              {"i8", "i32", ""},
                                              {"f32", "f32", " {precision=\"tf32\"}"}}) {
    const std::string rows = fmt::format("{}[128,128]", dtype);
    const std::string columns = fmt::format("{}[128,128]:[1,128]", dtype);
    const Config config = wgmma({64, 64, 64});
    for (const auto& [a, b] : {std::pair(rows, columns), {rows, rows}, {columns, columns}})
      check(config, product_of_types(a, b, acc, precision));
    expect_refused(config, product_of_types(columns, rows, acc, precision),
                   {fmt::format("'matrix' is wgmma on {}, but operand b of the dot is not "
                                "contiguous along k; use a tensor stored by k, or another unit",
                                dtype)});
  }
}

TEST(CheckWarpgroups, ColumnsOfIntegers) {
  const std::string text = product_of_types("i8[128,128]", "i8[128,128]:[1,128]", "i32");
  for (const int64_t n : {8, 16, 24, 32, 48, 96, 160, 256}) check(wgmma({64, n, 64}), text);
  expect_refused(wgmma({64, 40, 64}), text,
                 {"a warpgroup computes 8, 16, 24 or a multiple of 16 columns of integers; use 32 "
                  "columns"});
}

// Of other products and targets the unit takes none.
TEST(CheckWarpgroups, TypesAndTargets) {
  const Config config = wgmma({64, 64, 64});
  const std::string half = product_text(1000, 1000, 1000, "f16");
  expect_refused(config, product_text(1000, 1000, 1000),
                 {"'matrix' is wgmma, but on sm_90a it takes none of the products of kernel "
                  "product: f32 x f32 into f32; use fma"});
  for (const char* target : {"sm_90", "sm_100a", "sm_120a"})
    expect_refused(config, half, {fmt::format("on {} it takes none of the products", target)},
                   target);
  expect_refused(wgmma({64}), sum_text(64), {"kernel sum multiplies no matrices"});
}

TEST(CheckBulkCopies, NeedTheirTarget) {
  const std::string text = product_text(1000, 1000, 1000, "f16");
  const Config config{.block = {64, 64, 16}, .copy = CopyKind::tma};
  check(config, text, "sm_90");
  check(config, text, "sm_100a");
  expect_refused(config, text,
                 {"'copy' is tma, but sm_80 has no bulk tensor copies (sm_90 and newer have); use "
                  "cp_async"},
                 "sm_80");
  expect_refused(config, text, {"'copy' is tma, but sm_75 has no bulk", "; use sync"}, "sm_75");
}

TEST(CheckClusters, SizesAndTargets) {
  const std::string text = product_text(1000, 1000, 1000, "f16");
  Config config = wgmma({64, 64, 64});
  for (const int cluster : {1, 2, 4, 8}) {
    config.cluster = cluster;
    check(config, text);
  }
  for (const int cluster : {3, 6, 16}) {
    config.cluster = cluster;
    expect_refused(config, text,
                   {fmt::format("config field 'cluster' is {}, but clusters are of 1, 2, 4 or 8 "
                                "blocks; use 2",
                                cluster)});
  }
  expect_refused({.block = {64, 64, 16}, .cluster = 2}, text,
                 {"'cluster' is 2, but sm_89 has no clusters of blocks (sm_90 and newer have); use "
                  "1"},
                 "sm_89");
}

TEST(CheckSplitLoops, NeedBulkCopiesAndAClusterOfTheirOwn) {
  const std::string text = product_text(1000, 1000, 1000, "f16");
  Config config = wgmma({64, 64, 64});
  config.split_k = 2;
  check(config, text);
  config.split_k = 3;
  expect_refused(config, text, {"'split_k' is 3", "clusters are of 1, 2, 4 or 8 blocks"});
  config.split_k = 2;
  config.persistent = true;
  expect_refused(config, text, {"'split_k' is 2", "cluster 1, not persistent"});
  config.persistent = false;
  config.cluster = 2;
  expect_refused(config, text, {"'split_k' is 2", "cluster 1, not persistent"});
  expect_refused({.block = {64, 64, 16}, .split_k = 4}, text, {"'split_k' is 4", "; use 1"});
}

}  // namespace
}  // namespace tilewright
