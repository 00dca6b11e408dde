// What tile passes make of products for warpgroups, as text: IR before and after.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/codegen/kernels_warpgroups.h"
#include "tests/codegen/run_case.h"
#include "tests/support/golden.h"
#include "tilewright/codegen/orient_dots.h"
#include "tilewright/codegen/passes.h"
#include "tilewright/codegen/pipeline.h"
#include "tilewright/ir/dce.h"
#include "tilewright/ir/parse.h"
#include "tilewright/ir/print.h"
#include "tilewright/ir/verify.h"

namespace tilewright::codegen {
namespace {

using testing::expect_golden;
using testing::KernelCase;

const Target& hopper() {
  static const Target target = parse_target("sm_90a");
  return target;
}

Config wgmma(std::vector<int64_t> block, int stages = 2, bool persistent = false) {
  return {.block = std::move(block),
          .stages = stages,
          .copy = CopyKind::tma,
          .matrix = MatrixUnit::wgmma,
          .persistent = persistent};
}

ir::Function run_until(const KernelCase& kernel, const Config& config, std::string_view until) {
  ir::Function made =
      ir::Rewriter::run(kernel.fn, [](ir::Rewriter&, const ir::Op&) { return false; });
  const std::vector<bool> written = written_params(kernel.fn);  // which the passes refer to
  for (const TilePass& pass : tile_passes(config, hopper(), written)) {
    if (pass.name == until) break;
    made = pass.run(made);
  }
  return made;
}

void expect_pass(const char* golden, const ir::Function& before, const ir::Function& after) {
  ir::verify(after, golden);
  for (const ir::Function* fn : {&before, &after}) {
    const ir::Function again = ir::parse(ir::print(*fn));
    EXPECT_EQ(ir::print(again), ir::print(*fn));
  }
  expect_golden(fmt::format("codegen/golden/{}.ir", golden),
                fmt::format("// before\n{}\n// after\n{}", ir::print(before), ir::print(after)));
}

ir::Function oriented(const KernelCase& kernel, const Config& config) {
  return orient_dots(run_until(kernel, config, "orient_dots"), config, hopper());
}

TEST(OrientDots, FewRowsByManyColumns) {
  const Config config = wgmma({16, 64, 32});
  const KernelCase kernel = testing::product_of("nn", bf16, 16, 256, 64);
  const ir::Function before = run_until(kernel, config, "orient_dots");
  expect_pass("orient_dots", before, orient_dots(before, config, hopper()));
}

// Those that fill rows, that no wgmma multiplies or whose columns do not fill its rows stay.
TEST(OrientDots, LeavesOthers) {
  const auto unchanged = [](const KernelCase& kernel, const Config& config) {
    return ir::print(run_until(kernel, config, "orient_dots")) ==
           ir::print(oriented(kernel, config));
  };
  const KernelCase kernel = testing::product_of("nn", bf16, 16, 256, 64);
  EXPECT_TRUE(unchanged(kernel, wgmma({64, 64, 32})));
  EXPECT_FALSE(unchanged(kernel, wgmma({8, 64, 32})));
  Config mma = wgmma({16, 64, 32});
  mma.matrix = MatrixUnit::mma;
  EXPECT_TRUE(unchanged(kernel, mma));
  EXPECT_TRUE(unchanged(testing::product_of("nn", f32, 16, 256, 64), wgmma({16, 64, 32})));
}

bool is_transposed(const KernelCase& kernel, int64_t m, int64_t n) {
  bool transposed = false;
  ir::for_each_op(kernel.fn.body(), [&](const ir::Op& op) {
    if (op.kind == ir::OpKind::dot) transposed = is_transposed_for_wgmma(kernel.fn, op, m, n);
  });
  return transposed;
}

// Tiles whose rows the unit does not fill but whose columns do; and second operands that it does
// not read as they are stored, if it does read the first.
TEST(OrientDots, ByTilesAndStrides) {
  const KernelCase halves = testing::product_of("nn", bf16, 128, 256, 64);
  EXPECT_TRUE(is_transposed(halves, 8, 64));
  EXPECT_TRUE(is_transposed(halves, 72, 128));
  EXPECT_FALSE(is_transposed(halves, 64, 64));
  EXPECT_FALSE(is_transposed(halves, 12, 64));
  EXPECT_FALSE(is_transposed(halves, 16, 96));
  for (const auto& [how, transposed] :
       {std::pair{"nn", true}, {"nt", false}, {"tn", false}, {"tt", false}}) {
    const KernelCase bytes = testing::product_of(how, i8, 128, 256, 64);
    EXPECT_EQ(is_transposed(bytes, 64, 64), transposed) << how;
    EXPECT_EQ(is_transposed(bytes, 64, 32), false) << how;
  }
  EXPECT_FALSE(is_transposed(testing::product_of_masked_bytes(128, 256, 64), 64, 64));
}

int count(const ir::Function& fn, ir::OpKind kind) {
  int found = 0;
  ir::for_each_op(fn.body(), [&](const ir::Op& op) { found += op.kind == kind; });
  return found;
}

// Accumulators that something else reads in the loop too are turned at every step; two dots of one
// accumulator, and loops one after the other, are not.
TEST(OrientDots, KeepsSumsTransposedBetweenDots) {
  const Config config = wgmma({16, 64, 32, 32});
  // Two for the operands of each dot, one after each loop.
  const ir::Function plain = ir::eliminate_dead_code(
      oriented(testing::product_of("nn", bf16, 16, 256, 64), wgmma({16, 64, 32})));
  EXPECT_EQ(count(plain, ir::OpKind::permute), 3) << ir::print(plain);
  const ir::Function two = ir::eliminate_dead_code(
      oriented(testing::product_in_two_loops(bf16, 16, 256, 128, 64), config));
  EXPECT_EQ(count(two, ir::OpKind::permute), 5) << ir::print(two);
}

// Every kernel computes the same bits after the pass.
TEST(OrientDots, KeepsEveryBit) {
  for (const KernelCase& kernel :
       {testing::product_of("nn", bf16, 20, 72, 40), testing::product_of("tt", f16, 20, 72, 40),
        testing::product_bias_gelu(bf16, 20, 72, 40), testing::product_onto(bf16, 20, 72, 40),
        testing::two_products(20, 72, 40, bf16), testing::products_of_one_b(bf16, 20, 72, 40),
        testing::product_in_two_loops(bf16, 20, 72, 80, 32),
        testing::product_of_some_steps(bf16, 20, 72, 40),
        testing::product_stored_by_step(bf16, 20, 72, 40),
        testing::product_without_loop(20, 72, 48, bf16),
        testing::repeated_product(3, 20, 72, 40, bf16)}) {
    const Config config = testing::config_for(kernel, {16, 64, 32, 32}, wgmma({}));
    SCOPED_TRACE(kernel.name);
    testing::CaseMemory expected(kernel, false), found(kernel, false);
    interpret(kernel.fn, expected.args(), {.block = config.block});
    const ir::Function fn = oriented(kernel, config);
    ir::verify(fn, "orient_dots");
    interpret(fn, found.args());
    EXPECT_EQ(found.difference(expected), "") << ir::print(fn);
    bool transposed = false;
    ir::for_each_op(fn.body(), [&](const ir::Op& op) {
      if (op.kind == ir::OpKind::dot) transposed |= fn.extents(op.result()->type.shape)[0] == 64;
    });
    EXPECT_TRUE(transposed);
  }
}

// From the trace to layouts, whatever copies and whatever multiplies.
TEST(WarpgroupPasses, KeepEveryBit) {
  for (const KernelCase& kernel :
       {testing::product_of("nt", bf16, 70, 72, 40), testing::product_of_scaled(bf16, 70, 72, 40),
        testing::product_of_some_tiles(f16, 70, 72, 40), testing::triangular_product(bf16, 72, 40),
        testing::product_in_two_loops(bf16, 70, 72, 80, 40),
        testing::batched_product(bf16, 2, 70, 72, 40)})
    for (const std::vector<int64_t>& tile :
         {std::vector<int64_t>{64, 32, 32, 32}, {16, 64, 32, 32}})
      for (const int cluster : {1, 2}) {
        Config config = testing::config_for(kernel, tile, wgmma({}, 3, true));
        config.cluster = cluster;
        SCOPED_TRACE(kernel.name + " " + to_json(config));
        check_config(config, kernel.fn, hopper());
        testing::CaseMemory expected(kernel, false), found(kernel, false);
        interpret(kernel.fn, expected.args(), {.block = config.block});
        const ir::Function fn = run_until(kernel, config, "");
        const LaidOut laid_out = assign_layouts(fn, config, hopper());
        ir::verify(laid_out.fn, "assign_layouts");
        interpret(laid_out.fn, found.args());
        EXPECT_EQ(found.difference(expected), "") << ir::print(laid_out.fn);
      }
}

// Rings of bulk copies have as many slots as asked for when a block goes on to another tile, and
// two at least otherwise.
TEST(PipelineForBulkCopies, KeepsSlotsForTheNextTile) {
  const KernelCase kernel = testing::product_of("nn", bf16, 64, 64, 64);
  const auto ring_stages = [&](const Config& config) {
    int64_t stages = 0;
    const ir::Function fn =
        pipeline(run_until(kernel, config, "pipeline"), config, written_params(kernel.fn));
    ir::for_each_op(fn.body(), [&](const ir::Op& op) {
      if (op.kind == ir::OpKind::ring) stages = op.integer(ir::AttrKey::stages);
    });
    return stages;
  };
  EXPECT_EQ(ring_stages(wgmma({64, 64, 16}, 3)), 3);
  EXPECT_EQ(ring_stages(wgmma({64, 64, 16}, 6)), 4);  // as many steps as there are
  EXPECT_EQ(ring_stages(wgmma({64, 64, 64}, 6)), 2);
  EXPECT_EQ(ring_stages(wgmma({64, 64, 64}, 6, true)), 6);
  Config by_threads = wgmma({64, 64, 64}, 6);
  by_threads.copy = CopyKind::cp_async;
  EXPECT_EQ(ring_stages(by_threads), 1);  // one step: nothing to run ahead of
}

TEST(PipelineForBulkCopies, MovesCopiesToTheFill) {
  const Config config = wgmma({64, 64, 32}, 3, true);
  const KernelCase kernel = testing::product_of("nn", bf16, 128, 128, 64);
  const ir::Function fn = run_until(kernel, config, "pipeline");
  expect_pass("pipeline_tma", fn, pipeline(fn, config, written_params(fn)));
}

}  // namespace
}  // namespace tilewright::codegen
