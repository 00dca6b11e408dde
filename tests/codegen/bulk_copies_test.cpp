// Which copies and stores become bulk copies by tensor map and which do not, and what maps and
// shared memory look like when they do.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "tests/codegen/kernels_matrix.h"
#include "tests/codegen/kernels_warpgroups.h"
#include "tests/codegen/run_case.h"
#include "tests/support/expect_error.h"
#include "tilewright/codegen/passes.h"
#include "tilewright/codegen/plan.h"
#include "tilewright/codegen/print_cuda.h"

namespace tilewright::testing {
namespace {

using codegen::KernelParam;
using codegen::Lowered;

Config wgmma_config(int warps = 4, int stages = 2) {
  return {.warps = warps, .stages = stages, .copy = CopyKind::tma, .matrix = MatrixUnit::wgmma};
}

Lowered lower_case(const KernelCase& kernel, const Config& config = wgmma_config(),
                   const std::vector<int64_t>& blocks = {64, 64, 32},
                   const codegen::LowerOptions& options = {}) {
  return codegen::lower_to_kernel_ir(kernel.fn, config_for(kernel, blocks, config),
                                     parse_target("sm_90a"), options);
}

/// Tensors loaded by bulk copies, then those stored by them: "arg0 arg1 > c".
std::string bulk_tensors(const Lowered& lowered) {
  const ir::Function& fn = lowered.laid_out.fn;
  const auto name_of = [&](const ir::Op& op) {
    return fn.param_of(ir::AccessView(op).tensor)->name;
  };
  std::set<std::string> loaded, stored;
  for (const auto& [op, bulk] : lowered.laid_out.bulk) loaded.insert(name_of(*op));
  for (const auto& [op, bulk] : lowered.laid_out.bulk_stores) stored.insert(name_of(*op));
  return fmt::format("{} > {}", fmt::join(loaded, " "), fmt::join(stored, " "));
}

std::string bulk_tensors(const KernelCase& kernel,
                         const std::vector<int64_t>& blocks = {64, 64, 32}) {
  return bulk_tensors(lower_case(kernel, wgmma_config(), blocks));
}

const KernelParam* map_of(const Lowered& lowered, const std::string& name) {
  for (const KernelParam& param : lowered.kernel.params)
    if (param.name == name && param.map) return &param;
  ADD_FAILURE() << "no map " << name;
  return nullptr;
}

TEST(BulkCopies, OfAProduct) {
  for (const char* how : {"nn", "tn", "nt", "tt"}) {
    EXPECT_EQ(bulk_tensors(product_of(how, bf16, 200, 136, 96)), "arg0 arg1 > c");
    EXPECT_EQ(bulk_tensors(product_of(how, f16, 256, 256, 256)), "arg0 arg1 > c");
  }
  EXPECT_EQ(bulk_tensors(product_of("nt", f8e4m3, 128, 128, 128)), "arg0 arg1 > ");
}

TEST(BulkCopies, NeedPitchesOfSixteenBytes) {
  EXPECT_EQ(bulk_tensors(product_of("nn", bf16, 64, 64, 100)), " > c");  // a's rows: 200 bytes
  EXPECT_EQ(bulk_tensors(product_of("tn", bf16, 64, 64, 100)), "arg0 arg1 > c");  // both across k
  EXPECT_EQ(bulk_tensors(product_of("tn", bf16, 64, 60, 100)), " > ");  // b's and c's rows
  EXPECT_EQ(bulk_tensors(product(strided(bf16, {64, 64}, {72, 1}), dense(bf16, {64, 64}))),
            "arg0 arg1 > c");
  EXPECT_EQ(bulk_tensors(product(strided(bf16, {64, 64}, {70, 1}), dense(bf16, {64, 64}))), " > c");
  // No dimension whose elements are neighbours; one that repeats.
  EXPECT_EQ(bulk_tensors(product(strided(bf16, {64, 64}, {128, 2}), dense(bf16, {64, 64}))),
            " > c");
  EXPECT_EQ(bulk_tensors(product(dense(bf16, {64, 64}), strided(bf16, {64, 64}, {0, 1}))), " > c");
}

TEST(BulkCopies, NeedAlignedTensors) {
  EXPECT_EQ(bulk_tensors(product(strided(bf16, {64, 64}, {64, 1}, 8), dense(bf16, {64, 64}))),
            " > c");
  EXPECT_EQ(bulk_tensors(product(dense(bf16, {64, 64}), strided(bf16, {64, 64}, {64, 1}, 2))),
            " > c");
}

TEST(BulkCopies, NeedTensorsThatHaveElements) {
  EXPECT_EQ(bulk_tensors(product_of("nn", bf16, 64, 64, 0)), " > ");
  EXPECT_EQ(bulk_tensors(product_of("nn", bf16, 0, 64, 64)), " > ");
}

// What lies past a tile's limits becomes zero only where the tensor has ended.
TEST(BulkCopies, NeedLimitsThatAreTheTensors) {
  EXPECT_EQ(bulk_tensors(product_of_part(bf16, 256, 256, 256)), "arg0 arg1 > c");
  EXPECT_EQ(bulk_tensors(product_of_part(bf16, 256, 128, 128)), "arg0 arg1 > c");  // whole tiles
  EXPECT_EQ(bulk_tensors(product_of_part(bf16, 256, 256, 100)), " > c");
  EXPECT_EQ(bulk_tensors(product_of_part(bf16, 256, 100, 256)), " > ");
  EXPECT_EQ(bulk_tensors(product_in_two_loops(bf16, 64, 64, 160, 64)), "arg0 arg1 > c");
  EXPECT_EQ(bulk_tensors(product_up_to(bf16, 64, 64, 160, 100)), " > c");
  EXPECT_EQ(bulk_tensors(triangular_product(bf16, 256, 64), {64, 64, 64}), "arg0 arg1 > c");
  EXPECT_EQ(bulk_tensors(triangular_product(bf16, 250, 64), {64, 64, 32}), " > c");
  // In two loops cut within a tile, the second goes on to where the tensor ends.
  const Lowered cut =
      lower_case(product_in_two_loops(bf16, 64, 64, 160, 40), wgmma_config(), {64, 64, 32, 32});
  EXPECT_EQ(cut.laid_out.bulk.size(), 2u);
  // The first one's tiles come by other copies.
  EXPECT_NE(codegen::print_cuda(cut.kernel, parse_target("sm_90a")).find("tw::copy_async<"),
            std::string::npos);
}

TEST(BulkCopies, NeedTensorsThatTheKernelDoesNotAlsoWrite) {
  EXPECT_EQ(bulk_tensors(product_into(bf16, 64, 64, 64)), "arg0 arg1 > ");
  EXPECT_EQ(bulk_tensors(product_plus(bf16, 64, 64, 64)), "arg0 arg1 > d");
  // As one memory with what is stored, a may not be read ahead; b still is.
  codegen::LowerOptions options;
  options.alias_groups = {{0, 2}};
  EXPECT_EQ(bulk_tensors(lower_case(product_of("nn", bf16, 64, 64, 64), wgmma_config(),
                                    {64, 64, 32}, options)),
            "arg1 > ");
}

// Bulk stores are not ordered with one another.
TEST(BulkCopies, NeedElementsThatAreStoredOnce) {
  EXPECT_EQ(bulk_tensors(product_stored_twice(bf16, 64, 64, 64)), "arg0 arg1 > ");
  EXPECT_EQ(bulk_tensors(product_stored_by_step(bf16, 64, 64, 64)), "arg0 arg1 > ");
  EXPECT_EQ(lower_case(two_products(64, 64, 64, bf16)).laid_out.bulk_stores.size(), 2u);
}

// The thread that copies follows the control flow around the loop, without computing tiles.
TEST(BulkCopies, NeedControlFlowThatOneThreadCanFollow) {
  EXPECT_EQ(bulk_tensors(product_of_some_tiles(bf16, 128, 128, 64)), "arg0 arg1 > c");
  EXPECT_EQ(bulk_tensors(product_if_asked(bf16, 128, 128, 64)), " > c");
  EXPECT_EQ(bulk_tensors(product_of_some_steps(bf16, 128, 128, 64)), " > c");  // no whole loop
  EXPECT_EQ(bulk_tensors(repeated_product(3, 64, 64, 64, bf16)), "arg0 arg1 > y");
  EXPECT_EQ(bulk_tensors(chained_products(64, 64, 64, 64, bf16), {64, 64, 32, 32}),
            "arg0 arg1 arg2 > y");
  EXPECT_EQ(bulk_tensors(product_without_loop(64, 64, 64, bf16)), " > c");
}

// One copy is of 256 rows at most.
TEST(BulkCopies, AreOfNoMoreRowsThanABoxHas) {
  const KernelCase kernel = product_of("nn", bf16, 512, 128, 128);
  EXPECT_EQ(bulk_tensors(lower_case(kernel, wgmma_config(8), {256, 64, 32})), "arg0 arg1 > c");
  EXPECT_EQ(bulk_tensors(lower_case(kernel, wgmma_config(8), {512, 64, 32})), " > c");
}

TEST(BulkCopies, AreMadeWhereTheConfigAsksForThem) {
  const KernelCase kernel = product_of("nn", bf16, 128, 128, 128);
  for (const CopyKind copy : {CopyKind::sync, CopyKind::cp_async}) {
    Config config = wgmma_config();
    config.copy = copy;
    EXPECT_EQ(bulk_tensors(lower_case(kernel, config)), " > ");
  }
}

TEST(BulkMaps, OfAProduct) {
  const Lowered lowered =
      lower_case(product_of("nn", bf16, 200, 136, 104), wgmma_config(8), {128, 96, 32});
  const KernelParam* a = map_of(lowered, "arg0_map");
  const KernelParam* b = map_of(lowered, "arg1_map");
  const KernelParam* c = map_of(lowered, "c_map");
  ASSERT_TRUE(a && b && c);
  EXPECT_EQ(a->source, 0);
  EXPECT_EQ(a->map->sizes, (std::vector<int64_t>{104, 200}));
  EXPECT_EQ(a->map->strides, (std::vector<int64_t>{1, 104}));
  EXPECT_EQ(a->map->box, (std::vector<int>{32, 128}));
  EXPECT_EQ(a->map->swizzle, 64);
  EXPECT_EQ(b->map->box, (std::vector<int>{32, 32}));  // three panels of 64 bytes
  EXPECT_EQ(b->map->swizzle, 64);
  EXPECT_EQ(c->map->box, (std::vector<int>{32, 64}));
  EXPECT_TRUE(c->written);
  EXPECT_EQ(lowered.kernel.threads, 3 * 128);
  EXPECT_EQ(lowered.kernel.consumers, 2 * 128);
}

TEST(BulkMaps, OfTransposedOperands) {
  const Lowered lowered =
      lower_case(product_of("tt", bf16, 200, 136, 104), wgmma_config(), {64, 64, 64});
  const KernelParam* a = map_of(lowered, "arg0_map");
  const KernelParam* b = map_of(lowered, "arg1_map");
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->map->sizes, (std::vector<int64_t>{200, 104}));
  EXPECT_EQ(a->map->box, (std::vector<int>{64, 64}));
  EXPECT_EQ(b->map->sizes, (std::vector<int64_t>{104, 136}));
}

TEST(BulkMaps, OfABatchHaveThreeDimensions) {
  const Lowered lowered = lower_case(batched_product(bf16, 5, 128, 128, 64));
  const KernelParam* a = map_of(lowered, "arg0_map");
  ASSERT_TRUE(a);
  EXPECT_EQ(a->map->sizes, (std::vector<int64_t>{64, 128, 5}));
  EXPECT_EQ(a->map->box, (std::vector<int>{32, 64, 1}));
}

// One map serves all copies of one kind from a tensor.
TEST(BulkMaps, AreSharedByLoops) {
  const Lowered lowered =
      lower_case(product_in_two_loops(bf16, 64, 64, 128, 64), wgmma_config(), {64, 64, 32, 32});
  int maps = 0;
  for (const KernelParam& param : lowered.kernel.params) maps += param.map.has_value();
  EXPECT_EQ(maps, 3);
}

// The pattern of a swizzle repeats every 8 rows; slots begin where it does.
TEST(BulkBuffers, AreAligned) {
  for (const auto& [k, alignment] : {std::pair{16, 256}, {32, 512}, {64, 1024}, {128, 1024}}) {
    const Lowered lowered =
        lower_case(product_of("nt", bf16, 256, 256, 256), wgmma_config(4, 3), {64, 64, k});
    for (const codegen::SharedBuffer& buffer : lowered.kernel.buffers) {
      if (buffer.name != "arg0_ring" && buffer.name != "arg1_ring") continue;
      EXPECT_EQ(buffer.alignment, alignment);
      EXPECT_EQ(buffer.offset % alignment, 0);
      int64_t slot = 2;
      for (size_t i = 1; i < buffer.extents.size(); ++i) slot *= buffer.extents[i];
      EXPECT_EQ(slot % alignment, 0);
    }
  }
}

std::string printed(const KernelCase& kernel, const Config& config,
                    const std::vector<int64_t>& blocks = {64, 64, 32}) {
  const codegen::Plan plan =
      codegen::lower(kernel.fn, config_for(kernel, blocks, config), parse_target("sm_90a"));
  const std::string& source = plan.steps.at(0).kernel.source;
  return source.substr(source.find("struct Shared"));
}

int count(const std::string& text, const std::string& what) {
  int found = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

// Blocks that are neighbours along the rows read the same tiles of b, along the columns of a; each
// copies a part for all.
TEST(Multicast, OfWhatAClusterReadsInCommon) {
  for (const int cluster : {2, 4})
    for (const std::vector<int>& order : {std::vector<int>{0, 1}, {1, 0}}) {
      Config config = wgmma_config();
      config.cluster = cluster;
      config.order = order;
      const std::string text = printed(product_of("nn", bf16, 512, 512, 256), config);
      const char* both = order[0] == 0 ? "arg1_map" : "arg0_map";
      EXPECT_EQ(count(text, "tw::tma_load_multicast("), 1) << text;
      const size_t at = text.find("tw::tma_load_multicast(");
      EXPECT_NE(text.substr(at, 200).find(both), std::string::npos) << text.substr(at, 200);
      EXPECT_NE(text.substr(at, 300).find(fmt::format(", {},", (1 << cluster) - 1)),
                std::string::npos)
          << text.substr(at, 300);
      EXPECT_EQ(count(text, "tw::tma_load("), 1);
      EXPECT_EQ(count(text, fmt::format("tw::barrier_init(&shared.empty[i], {})", 4 * cluster)), 1);
      EXPECT_EQ(count(text, "tw::cluster_sync()"), 2);
    }
}

TEST(Multicast, NotWhereBlocksOfAClusterGoTheirOwnWays) {
  Config config = wgmma_config();
  config.cluster = 2;
  for (const KernelCase& kernel :
       {product_of_some_tiles(bf16, 512, 512, 256), triangular_product(bf16, 512, 512)}) {
    const std::string text = printed(kernel, config, {64, 64, 64});
    EXPECT_EQ(count(text, "tw::tma_load_multicast("), 0) << text;
    EXPECT_EQ(count(text, "tw::tma_load("), 2) << text;
    EXPECT_EQ(count(text, "tw::barrier_arrive_at("), 0) << text;
  }
  // An odd matrix of a batch is none that both read; nothing is common.
  EXPECT_EQ(count(printed(batched_product(bf16, 4, 128, 128, 64), config), "multicast"), 0);
}

// Blocks past the last tile of a cluster guard what they would touch without maps.
TEST(Clusters, GuardPositionsPastTheLastTile) {
  const auto guards = [](int64_t m, int cluster) {
    Config config = wgmma_config();
    config.cluster = cluster;
    std::vector<int64_t> guard;
    const Lowered lowered = lower_case(product_plus(bf16, m, 128, 64), config);
    ir::for_each_op(lowered.laid_out.fn.body(), [&](const ir::Op& op) {
      if (op.kind == ir::OpKind::load) guard = op.integers(ir::AttrKey::guard);
    });
    return guard;
  };
  EXPECT_EQ(guards(192, 1), std::vector<int64_t>{});
  EXPECT_EQ(guards(192, 2), std::vector<int64_t>{0});
  EXPECT_EQ(guards(256, 2), std::vector<int64_t>{});
  EXPECT_EQ(guards(256, 4), std::vector<int64_t>{});
  EXPECT_EQ(guards(128, 4), std::vector<int64_t>{0});
}

// What of a loop and what follows it can be shared by the blocks of a cluster.
TEST(SplitLoops, AreRefusedWithTheReason) {
  Config config = wgmma_config();
  config.split_k = 2;
  EXPECT_GT(lower_case(product_of("nn", bf16, 64, 64, 256), config).laid_out.bulk.size(), 0u);
  EXPECT_GT(lower_case(product_bias_gelu(bf16, 64, 64, 256), config).laid_out.bulk.size(), 0u);
  const auto refused = [&](const KernelCase& kernel, const char* why) {
    expect_error(ErrorId::config_unsupported, 0, why, [&] { lower_case(kernel, config); });
  };
  refused(product_of("nn", bf16, 64, 64, 100), "no loop of the kernel is filled by tma copies");
  refused(product_of("nn", bf16, 64, 64, 32), "the loop has 1 steps");
  refused(product_onto(bf16, 64, 64, 256), "the loop does more than add up products, from zero");
  refused(repeated_product(3, 64, 64, 256, bf16), "the loop does more than add up products");
  refused(product_into(bf16, 64, 64, 256), "the kernel loads from a tensor that it stores to");
  refused(product_in_two_loops(bf16, 64, 64, 256, 128), "several loops that could be split");
  refused(triangular_product(bf16, 256, 64), "number of steps is not known before the launch");
}

TEST(Roles, HaveTheirRegisters) {
  const auto split = [](int warps, const std::vector<int64_t>& blocks, int blocks_per_sm = 1) {
    Config config = wgmma_config(warps);
    config.blocks_per_sm = blocks_per_sm;
    const std::string text = printed(product_of("nn", bf16, 1024, 1024, 256), config, blocks);
    const auto number = [&](const std::string& of) {
      const size_t at = text.find(of);
      return at == std::string::npos ? 0 : std::stoi(text.substr(at + of.size()));
    };
    return std::pair(number("tw::registers_down<"), number("tw::registers_up<"));
  };
  EXPECT_EQ(split(4, {64, 64, 32}), std::pair(0, 0));  // as launched is enough
  EXPECT_EQ(split(8, {128, 256, 64}), std::pair(40, 232));
  EXPECT_EQ(split(12, {192, 192, 64}), std::pair(32, 160));
  EXPECT_EQ(split(4, {128, 128, 64}, 2), std::pair(32, 224));
  for (const int warps : {8, 12, 16}) {
    const auto [producer, consumer] = split(warps, {16 * warps, 64, 32});
    const int launched = 65536 / (32 * warps + 128) / 8 * 8;
    EXPECT_LE(producer * 128 + consumer * 32 * warps, launched * (32 * warps + 128)) << warps;
    EXPECT_GE(producer, 24) << warps;
    EXPECT_LE(producer, launched) << warps;
    EXPECT_GE(consumer, launched) << warps;
    EXPECT_EQ(producer % 8 + consumer % 8, 0) << warps;
  }
}

// A product over nothing is zero, without products.
TEST(Accumulators, AreZeroWithoutSteps) {
  const Lowered lowered = lower_case(product_of("nn", bf16, 64, 64, 0));
  const std::string text = codegen::print_cuda(lowered.kernel, parse_target("sm_90a"));
  EXPECT_EQ(text.find("tw::wgmma_"), std::string::npos) << text;
}

// The first product overwrites where the sum begins with zero; a sum begun otherwise is added to.
TEST(Accumulators, BeginWithoutBeingCleared) {
  const std::string plain = printed(product_of("nn", bf16, 64, 64, 64), wgmma_config());
  EXPECT_NE(plain.find("float acc[2][16];"), std::string::npos) << plain;
  EXPECT_NE(plain.find("step > 0 || kk > 0"), std::string::npos) << plain;
  const std::string onto = printed(product_onto(bf16, 64, 64, 64), wgmma_config());
  EXPECT_EQ(onto.find("step > 0 || kk > 0"), std::string::npos) << onto;
  // A loop that may not run once clears it.
  const std::string maybe =
      printed(triangular_product(bf16, 256, 64), wgmma_config(), {64, 64, 64});
  EXPECT_NE(maybe.find("float acc[2][16] = {};"), std::string::npos) << maybe;
}

TEST(Turns, AreRefusedWithTheReason) {
  Config config = wgmma_config();
  config.persistent = true;
  config.turns = 2;
  const auto refused = [&](const KernelCase& kernel, const char* why) {
    testing::expect_error(ErrorId::config_unsupported, 0, why, [&] {
      lower_case(kernel, config, {64, 64, 32});
    });
  };
  lower_case(product_of("nn", bf16, 512, 512, 256), config, {64, 64, 32});
  refused(product(strided(bf16, {64, 64}, {65, 1}), dense(bf16, {64, 64})), "bulk copies");
  refused(product_in_two_loops(bf16, 64, 64, 256, 128), "several loops");
  refused(repeated_product(3, 64, 64, 256, bf16), "not one of the grid's tiles");
  refused(triangular_product(bf16, 256, 64), "number of steps is not known");
}

// A tile of halves waits in registers, packed, until the next tile's products are in flight: where
// a block has several tiles, each with steps, and the registers for both.
TEST(LateStores, WhereTheNextTilesProductsHideThem) {
  const auto is_late = [](const KernelCase& kernel, Config config,
                          const std::vector<int64_t>& blocks = {64, 64, 32}) {
    config.persistent = true;
    const std::string text = printed(kernel, config, blocks);
    const bool late = text.find("_waits) store_") != std::string::npos;
    EXPECT_EQ(late, text.find("_words[") != std::string::npos);
    return late;
  };
  const KernelCase plain = product_of("nn", bf16, 512, 512, 256);
  EXPECT_TRUE(is_late(plain, wgmma_config()));
  EXPECT_TRUE(is_late(plain, wgmma_config(8, 3), {128, 256, 64}));
  EXPECT_TRUE(is_late(batched_product(bf16, 4, 128, 128, 64), wgmma_config()));
  EXPECT_TRUE(is_late(product_bias_gelu(bf16, 512, 512, 256), wgmma_config()));
  EXPECT_EQ(count(printed(plain, wgmma_config()), "_waits"), 0);  // one tile for each block
  Config two = wgmma_config();
  two.blocks_per_sm = 2;
  EXPECT_FALSE(is_late(plain, two, {128, 128, 64}));  // registers
  EXPECT_FALSE(is_late(tf32_product("nt", 512, 512, 256, DotPrecision::tf32), wgmma_config()));
  EXPECT_FALSE(is_late(triangular_product(bf16, 256, 64), wgmma_config()));  // maybe no steps
  EXPECT_FALSE(is_late(products_of_one_b(bf16, 512, 512, 256), wgmma_config()));
}

// The eight lanes beside one another along the instruction's rows are neighbours in memory: whole
// sectors of results of 32 bits, which go there from registers, and half ones of 16 bits.
TEST(TransposedProducts, AreStoredFromRegistersInWholeSectors) {
  const auto converts = [](const KernelCase& kernel, const std::vector<int64_t>& blocks) {
    int found = 0;
    ir::for_each_op(lower_case(kernel, wgmma_config(), blocks).laid_out.fn.body(),
                    [&](const ir::Op& op) { found += op.kind == ir::OpKind::convert; });
    return found;
  };
  EXPECT_EQ(converts(tf32_product("nn", 128, 128, 64, DotPrecision::tf32), {64, 64, 32}), 0);
  EXPECT_EQ(converts(tf32_product("nt", 128, 128, 64, DotPrecision::tf32), {16, 64, 32}), 0);
  EXPECT_EQ(converts(product_of("nn", bf16, 128, 128, 64), {16, 64, 32}), 1);
}

TEST(Reports, SayHowTensorsTravel) {
  const auto kinds = [](const KernelCase& kernel) {
    std::map<std::string, std::string> found;
    for (const codegen::OperandAccess& access : lower_case(kernel).accesses)
      found[access.tensor] = fmt::format("{} {}", access.kind, access.bytes);
    return found;
  };
  const std::map<std::string, std::string> all = {
      {"arg0", "tma copy 64"}, {"arg1", "tma copy 128"}, {"c", "tma store 128"}};
  EXPECT_EQ(kinds(product_of("nn", bf16, 128, 128, 128)), all);
  EXPECT_EQ(kinds(product_of("nn", bf16, 128, 128, 100)).at("arg0"), "cp_async copy 8");
}

}  // namespace
}  // namespace tilewright::testing
