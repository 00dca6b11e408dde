// Kernels whose products warpgroups make over rings that bulk copies fill run as printed, with no
// report and the interpreter's results.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cstdlib>
#include <optional>

#include "tests/codegen/kernels_matrix.h"
#include "tests/codegen/kernels_warpgroups.h"
#include "tests/emulate/emulate_case.h"
#include "tilewright/ir/error.h"

namespace tilewright::testing {
namespace {

/// Steps of k: enough to go around rings of two and three, with a tail.
constexpr int64_t kM = 136, kN = 72, kK = 104;

// What takes part in the kernels that follow.
struct Use {
  bool bulk_loads = true, bulk_stores = true, warpgroups = true;
};

Use use_of(const std::string& source) {
  const std::string body = source.substr(source.find("extern \"C\""));
  const auto has = [&](const char* text) { return body.find(text) != std::string::npos; };
  return {has("tw::tma_load"), has("tw::tma_store("), has("tw::wgmma_m64")};
}

/// How much a product may differ that the unit rounds in its own way: its operands in TF32 are
/// truncated, the interpreter's are f32; 56 products of numbers up to 1.
double allowance_of(const KernelCase& kernel) {
  return kernel.name == "tf32_product" ? 56 * 0x1p-9 : 0;
}

Use expect_clean(const KernelCase& kernel, Config config, std::vector<int64_t> blocks,
                 std::optional<double> allowance = {}) {
  config.block = std::move(blocks);
  const codegen::Plan plan = codegen::lower(kernel.fn, config, parse_target("sm_90a"));
  const std::string& source = plan.steps.at(0).kernel.source;
  const EmulateResult result =
      emulate_case(kernel, plan, config, {}, allowance.value_or(allowance_of(kernel)));
  EXPECT_TRUE(result.clean()) << describe(kernel, plan) << "\n"
                              << result.emulation.report() << result.difference << "\n"
                              << source;
  const Use use = use_of(source);
  EXPECT_TRUE(use.warpgroups || kernel.fn.params[0].spec.elements() == 0) << source;
  return use;
}

struct Schedule {
  const char* name;
  std::vector<int64_t> tile;  // rows, columns, k
  const char* config;
};

// One to three warpgroups along rows or columns, panels of every width, rings that wrap, clusters
// along both axes with tiles that are not there, blocks with several tiles.
const Schedule kSchedules[] = {
    {"one_warpgroup", {64, 32, 32}, R"({"block":[],"copy":"tma","matrix":"wgmma"})"},
    {"narrow_panels", {64, 16, 16}, R"({"block":[],"copy":"tma","matrix":"wgmma","stages":4})"},
    {"two_along_rows",
     {128, 64, 32},
     R"({"block":[],"copy":"tma","matrix":"wgmma","warps":8,"stages":3,"persistent":true,"cluster":2,"group":2})"},
    {"two_along_columns",
     {64, 96, 64},
     R"({"block":[],"copy":"tma","matrix":"wgmma","warps":8,"cluster":4,"order":[1,0]})"},
    {"three_along_rows",
     {192, 96, 32},
     R"({"block":[],"copy":"tma","matrix":"wgmma","warps":12,"persistent":true})"},
    {"pieces",
     {128, 32, 32},
     R"({"block":[],"copy":"tma","matrix":"wgmma","persistent":true,"blocks_per_sm":2})"},
    {"transposed", {16, 64, 32}, R"({"block":[],"copy":"tma","matrix":"wgmma","stages":3})"},
    {"by_threads", {64, 32, 32}, R"({"block":[],"copy":"cp_async","matrix":"wgmma","stages":3})"},
    {"through_registers", {64, 32, 32}, R"({"block":[],"copy":"sync","matrix":"wgmma"})"},
};

std::vector<int64_t> blocks_of(const KernelCase& kernel, const std::vector<int64_t>& tile) {
  std::vector<int64_t> blocks;
  for (const ir::Axis& axis : kernel.fn.axes)
    if (!axis.pinned) blocks.push_back(tile[std::min<size_t>(blocks.size(), 2)]);
  return blocks;
}

std::vector<KernelCase> rewrites(DType dtype) {
  std::vector<KernelCase> all;
  all.push_back(product_bias_gelu(dtype, kM, kN, kK));
  all.push_back(two_products(kM, kN, kK, dtype));
  all.push_back(product_of_exp(kM, kN, kK, dtype));
  all.push_back(chained_products(kM, kN, kK, 64, dtype));
  all.push_back(repeated_product(3, kM, kN, kK, dtype));
  all.push_back(product_plus(dtype, kM, kN, kK));
  all.push_back(product_plus(dtype, 192, 64, 64));  // tiles that divide, fewer than a cluster's
  all.push_back(product_onto(dtype, kM, kN, kK));
  all.push_back(product_into(dtype, kM, kN, kK));
  all.push_back(product_in_two_loops(dtype, kM, kN, 160, 64));
  all.push_back(product_in_two_loops(dtype, kM, kN, 160, 40));
  all.push_back(product_of_scaled(dtype, kM, kN, kK));
  all.push_back(products_of_one_b(dtype, kM, kN, kK));
  all.push_back(product_of_some_steps(dtype, kM, kN, kK));
  all.push_back(product_of_some_tiles(dtype, kM, kN, kK));
  all.push_back(triangular_product(dtype, kM, kN));
  all.push_back(product_stored_twice(dtype, kM, kN, kK));
  all.push_back(product_stored_by_step(dtype, kM, kN, kK));
  return all;
}

/// Dividing and ragged, smaller than a tile, 1 and 0, padded, not mappable.
std::vector<KernelCase> shapes(DType dtype) {
  std::vector<KernelCase> all;
  for (const char* how : {"nn", "tn", "nt", "tt"}) {
    all.push_back(product_of(how, dtype, kM, kN, kK));
    all.push_back(product_of(how, dtype, 64, 32, 64));
    all.push_back(product_of(how, dtype, 8, 8, 8));
    all.push_back(product_of(how, dtype, 70, 30, 50));
    all.push_back(product_of(how, dtype, 64, 1, 64));
    all.push_back(product_of(how, dtype, 1, 64, 1));
  }
  all.push_back(product_of("nn", dtype, 8, 8, 0));
  all.push_back(product(strided(dtype, {kM, kK}, {112, 1}), strided(dtype, {kK, kN}, {80, 1})));
  all.push_back(product(strided(dtype, {kM, kK}, {112, 1}, 8), strided(dtype, {kK, kN}, {73, 1})));
  all.push_back(product_without_loop(kM, kN, 96, dtype));
  return all;
}

class Warpgroups : public ::testing::TestWithParam<size_t> {
 protected:
  const Schedule& schedule() const { return kSchedules[GetParam()]; }
  /// TILEWRIGHT_ALL_CASES=1 runs every kernel with every schedule, else every fourth.
  int run(const std::vector<KernelCase>& kernels) const {
    const size_t every = std::getenv("TILEWRIGHT_ALL_CASES") != nullptr ? 1 : 4;
    int bulk = 0;
    for (size_t i = GetParam() % every; i < kernels.size(); i += every) {
      const KernelCase& kernel = kernels[i];
      try {
        bulk += expect_clean(kernel, parse_config(schedule().config),
                             blocks_of(kernel, schedule().tile))
                    .bulk_loads;
      } catch (const Error& error) {
        // Operands in registers are of the rows, which transposed products and inner ones have not.
        EXPECT_EQ(error.id(), ErrorId::config_unsupported) << kernel.name << error.what();
      }
    }
    return bulk;
  }
  bool asks_for_bulk_copies() const {
    return parse_config(schedule().config).copy == CopyKind::tma;
  }
};

// Both types here and there; what they differ in is one word of an instruction's name.
TEST_P(Warpgroups, Shapes) {
  EXPECT_EQ(0 < run(shapes(GetParam() % 3 == 2 ? f16 : bf16)), asks_for_bulk_copies());
}

TEST_P(Warpgroups, Rewrites) {
  EXPECT_EQ(0 < run(rewrites(GetParam() % 3 == 0 ? f16 : bf16)), asks_for_bulk_copies());
}

INSTANTIATE_TEST_SUITE_P(Schedules, Warpgroups, ::testing::Range<size_t>(0, std::size(kSchedules)),
                         [](const auto& info) { return kSchedules[info.param].name; });

Config bulk_config(int warps = 4, int stages = 2) {
  return {.warps = warps, .stages = stages, .copy = CopyKind::tma, .matrix = MatrixUnit::wgmma};
}

// Every number of columns that an instruction takes, by sums and by stores.
TEST(WarpgroupProducts, OfEveryWidth) {
  for (int64_t n = 16; n <= 256; n += 16)
    expect_clean(product_of(n % 32 == 0 ? "nn" : "tt", bf16, 64, 264, 48), bulk_config(),
                 {64, n, 32});
  for (int64_t n = 8; n <= 256; n += 24)
    expect_clean(product_of("nt", bf16, 64, 264, 48), bulk_config(), {64, n, 32});
}

TEST(WarpgroupProducts, OfOtherTypes) {
  for (const auto& [warps, tile] : {std::pair<int, std::vector<int64_t>>{4, {64, 24, 32}},
                                    {8, {128, 48, 64}},
                                    {4, {16, 64, 64}}}) {
    expect_clean(product_of("nt", f8e4m3, kM, 80, 112), bulk_config(warps), tile);
    expect_clean(product_of("nt", f8e5m2, kM, 80, 112), bulk_config(warps), tile);
    expect_clean(tf32_product("nt", 72, 40, 56, tf32), bulk_config(warps), tile);
  }
  expect_clean(product_of("nt", i8, kM, 80, 112), bulk_config(), {64, 32, 32});
}

// wgmma reads these types along k only: an operand stored the other way goes through registers, as
// the first one, for which the product is transposed where it is the second.
TEST(WarpgroupProducts, OfOperandsStoredAcrossK) {
  for (const char* how : {"nn", "tt"})
    for (const auto& [warps, tile] : {std::pair<int, std::vector<int64_t>>{4, {64, 64, 32}},
                                      {8, {64, 128, 32}},
                                      {8, {128, 64, 32}}}) {
      for (const KernelCase& kernel :
           {tf32_product(how, 72, 136, 56, tf32), product_of(how, i8, 80, 144, 64),
            product_of(how, f8e4m3, 80, 144, 64)})
        EXPECT_TRUE(expect_clean(kernel, bulk_config(warps, 3), tile).bulk_loads);
    }
  expect_clean(product_of_masked_bytes(80, 144, 64), bulk_config(8), {64, 128, 32});
}

// Operands in two parts: bulk copies and threads' bring the second one, and the low part of the
// step before is not overwritten while it is multiplied. 4 sqrt(k) eps sum |a| |b|, as by mma.
TEST(WarpgroupProducts, OfOperandsInTwoParts) {
  for (const char* how : {"nn", "nt"})
    EXPECT_TRUE(expect_clean(tf32_product(how, 72, 136, 52, tf32x3), bulk_config(8, 3),
                             {64, 128, 16}, 4.5e-5)
                    .bulk_loads);
  Config config = bulk_config(4, 3);
  config.copy = CopyKind::cp_async;
  expect_clean(tf32_product("nt", 72, 40, 52, tf32x3), config, {64, 32, 16}, 4.5e-5);
  config = bulk_config(8, 2);
  config.persistent = true;
  config.cluster = 2;
  expect_clean(tf32_product("tt", 136, 136, 52, tf32x3), config, {128, 64, 32}, 4.5e-5);
}

// Sums of tiles of k that are added as f32: one and two warpgroups, steps of one product and more.
TEST(WarpgroupProducts, InTwoLevels) {
  for (const DType b : {f8e4m3, f8e5m2})
    for (const auto& [warps, tile] : {std::pair<int, std::vector<int64_t>>{4, {64, 64, 32}},
                                      {8, {128, 128, 64}},
                                      {8, {64, 256, 32}}})
      expect_clean(scaled_product(f8e4m3, b, 80, 144, 160), bulk_config(warps, 3), tile);
}

TEST(WarpgroupProducts, OfEachMatrixOfABatch) {
  for (const std::vector<int>& order : {std::vector<int>{}, {1, 0, 2}, {2, 1, 0}})
    for (const int cluster : {1, 2}) {
      Config config = bulk_config(4, 3);
      config.order = order;
      config.cluster = cluster;
      config.persistent = cluster == 2;
      // Three matrices: the last cluster along the batch has a block without a tile.
      const Use use = expect_clean(batched_product(bf16, 3, kM, kN, kK), config, {64, 32, 32});
      EXPECT_TRUE(use.bulk_loads);
    }
}

// Blocks without a tile in the last cluster neither load bias and addend nor store.
TEST(Clusters, WithoutATileForEveryBlock) {
  for (const int cluster : {2, 4})
    for (const std::vector<int>& order : {std::vector<int>{0, 1}, {1, 0}})
      for (const bool persistent : {false, true}) {
        Config config = bulk_config();
        config.cluster = cluster;
        config.order = order;
        config.persistent = persistent;
        for (const KernelCase& kernel :
             {product_plus(bf16, 64, 32, 64), product_into(bf16, 192, 96, 64),
              product_bias_gelu(bf16, 192, 96, 64), product_of_some_tiles(bf16, 192, 96, 64)})
          expect_clean(kernel, config, {64, 32, 32});
      }
}

// What is past the end of k, or in rows of other tiles, is never multiplied.
TEST(WarpgroupProducts, IgnoreWhatIsOutside) {
  const KernelCase kernel =
      product(strided(bf16, {72, 40}, {56, 1}), strided(bf16, {40, 24}, {40, 1}));
  for (const CopyKind copy : {CopyKind::tma, CopyKind::cp_async}) {
    Config config = bulk_config();
    config.copy = copy;
    config.block = {64, 32, 32};
    const codegen::Plan plan = codegen::lower(kernel.fn, config, parse_target("sm_90a"));
    EmulateMemory expected(kernel), found(kernel);
    for (EmulateMemory* memory : {&expected, &found}) memory->spoil_gaps();
    interpret(kernel.fn, expected.interpreter_args(), {.block = config.block});
    const runtime::Emulation emulation = runtime::emulate(plan, found.emulator_args());
    EXPECT_EQ(emulation.report(), "");
    EXPECT_EQ(found.difference(expected, 0), "");
  }
}

}  // namespace
}  // namespace tilewright::testing
