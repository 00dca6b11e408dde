// Gathers, scatters, masks, views and atomics through the passes: every stage computes what the
// trace does, accesses stay wide, and what must not run ahead does not.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/codegen/kernels_memory.h"
#include "tests/codegen/run_case.h"
#include "tilewright/codegen/passes.h"
#include "tilewright/codegen/plan.h"
#include "tilewright/ir/error.h"
#include "tilewright/ir/print.h"
#include "tilewright/ir/verify.h"

namespace tilewright::testing {
namespace {

struct Schedule {
  std::vector<int64_t> blocks;
  int warps, stages;
  CopyKind copy;
};

const Schedule kSchedules[] = {{{16, 16, 8}, 1, 1, CopyKind::sync},
                               {{4, 8, 16}, 4, 2, CopyKind::cp_async},
                               {{3}, 1, 3, CopyKind::cp_async},
                               {{32, 5, 7}, 8, 2, CopyKind::sync}};

Config config_of(const KernelCase& kernel, const Schedule& schedule) {
  Config config;
  config.warps = schedule.warps;
  config.stages = schedule.stages;
  config.copy = schedule.copy;
  return config_for(kernel, schedule.blocks, config);
}

void expect_every_pass_right(const KernelCase& kernel, const Config& config) {
  const Target target = parse_target("sm_80");
  CaseMemory expected(kernel, true);
  interpret(kernel.fn, expected.args(), {.block = config.block});
  ir::Function fn =
      ir::Rewriter::run(kernel.fn, [](ir::Rewriter&, const ir::Op&) { return false; });
  const auto check = [&](const char* pass) {
    ir::verify(fn, pass);
    CaseMemory found(kernel, true);
    // Blocks are bound by the first passes only.
    const bool bound = std::ranges::all_of(fn.axes, [](const ir::Axis& a) { return a.block > 0; });
    interpret(fn, found.args(), {.block = bound ? std::vector<int64_t>() : config.block});
    EXPECT_EQ(found.difference(expected), "") << "after " << pass << "\n" << ir::print(fn);
  };
  const std::vector<bool> written = codegen::written_params(kernel.fn);
  for (const codegen::TilePass& pass : codegen::tile_passes(config, target, written)) {
    fn = pass.run(fn);
    check(pass.name);
  }
  codegen::LaidOut laid_out = codegen::assign_layouts(fn, config, target);
  fn = std::move(laid_out.fn);
  check("assign_layouts");
}

TEST(Memory, TilePassesKeepEveryBit) {
  for (const auto& kernels : {memory_kernels(), atomic_kernels()})
    for (const KernelCase& kernel : kernels)
      for (const Schedule& schedule : kSchedules) {
        const Config config = config_of(kernel, schedule);
        SCOPED_TRACE(kernel.name + " " + to_json(config));
        try {
          expect_every_pass_right(kernel, config);
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::config) << error.what();
        } catch (const std::exception& error) {
          ADD_FAILURE() << error.what();
        }
      }
}

std::string cuda_of(const KernelCase& kernel, const std::vector<int64_t>& blocks,
                    const char* target = "sm_80") {
  Config config;
  config.warps = 4;
  const codegen::Plan plan =
      codegen::lower(kernel.fn, config_for(kernel, blocks, config), parse_target(target));
  const std::string& source = plan.steps.back().kernel.source;
  return source.substr(source.find("__global__"));
}

void expect_text(const std::string& text, std::string_view part, bool there = true) {
  EXPECT_EQ(text.find(part) != std::string::npos, there) << part << " in\n" << text;
}

TEST(Memory, GatheredRowsAreReadInRuns) {
  expect_text(cuda_of(gather_rows(f32, 64, 128, 8), {16, 64}), "tw::load<4>(");
  expect_text(cuda_of(scatter_rows(f32, 64, 128, 5, 0), {16, 64}), "tw::store<4>(");
  expect_text(cuda_of(gather_rows(bf16, 64, 128, 8), {16, 64}), "tw::load<8>(");
  // Rows of 127 elements begin anywhere.
  expect_text(cuda_of(gather_rows(f32, 64, 127, 8), {16, 64}), "tw::load<4>(arg0_tile", false);
}

TEST(Memory, MasksThatAreEqualInARunLeaveItWhole) {
  const auto rows = make_case("rows_masked",
                              [](Tensor x) {
                                Tensor y = empty_like(x);
                                for (auto [i, j] : tile({64, 128})) {
                                  Tile odd = (i.index() % 2 == 1)(all, none);
                                  y.store({i, j}, x.load({i, j}, {.mask = odd}), {.mask = odd});
                                }
                                return y;
                              },
                              {dense(f32, {64, 128})});
  expect_text(cuda_of(rows, {16, 64}), "tw::load<4>(");
  expect_text(cuda_of(rows, {16, 64}), "tw::store<4>(");
  expect_text(cuda_of(masked(f32, 64, 128), {16, 64}), "tw::store<4>(&y", true);
  expect_text(cuda_of(masked(f32, 64, 128), {16, 64}), "tw::store<4>(&y_2", false);
}

TEST(Memory, EvictionHintsBecomeHelpers) {
  const std::string text = cuda_of(evicting(f32, 4096), {1024});
  expect_text(text, "tw::load_evict_first<4>(");
  expect_text(text, "tw::load_evict_last<4>(");
  expect_text(text, "tw::store_evict_last<4>(");
  expect_text(text, "tw::store_evict_first<4>(");
}

TEST(Memory, AtomicsAreAsWideAsTheTargetHasThem) {
  const auto of = [](DType dtype, const char* target) {
    return cuda_of(atomic_column_sum(dtype, 64, 128), {32, 64}, target);
  };
  expect_text(of(f32, "sm_80"), "tw::red_add_f32(&y[");
  expect_text(of(f32, "sm_90a"), "tw::red_add_f32x");
  expect_text(of(f16, "sm_80"), "tw::red_add_f16x2(&y[");
  expect_text(of(bf16, "sm_80"), "tw::red_add_bf16(&y[");
  expect_text(of(bf16, "sm_100a"), "tw::red_add_bf16x");
  // Rows of an odd length are not aligned.
  expect_text(cuda_of(atomic_column_sum(f16, 64, 127), {32, 64}), "tw::red_add_f16(&y[");
  const std::string every = cuda_of(every_atomic(i32, 64), {32});
  for (const char* name : {"add", "max", "min", "cas", "and", "or", "xor"})
    expect_text(every, fmt::format("tw::atomic_{}_i32(&arg1[", name));
  expect_text(every, "tw::atomic_exchange_i32_acq_rel(&arg1[");
  expect_text(cuda_of(atomic_extremes(f32, 64), {32}), "tw::atomic_max_f32_release(high");
}

TEST(Memory, FirstValuesAreStepsOfThePlan) {
  const auto steps = [](const KernelCase& kernel) {
    Config config;
    const codegen::Plan plan =
        codegen::lower(kernel.fn, config_for(kernel, {16}, config), parse_target("sm_80"));
    std::string text;
    for (const codegen::Step& step : plan.steps)
      text += step.kind == codegen::Step::Kind::memset
                  ? fmt::format("memset {} ", step.memset.value)
                  : step.kernel.symbol.substr(0, step.kernel.symbol.rfind('_')) + " ";
    return text;
  };
  EXPECT_EQ(steps(histogram(i32, 50)), "memset 0 histogram ");
  EXPECT_EQ(steps(atomic_extremes(i32, 50)),
            "atomic_extremes_fill_low memset 255 atomic_extremes ");
  EXPECT_EQ(steps(atomic_extremes(f32, 50)),
            "atomic_extremes_fill_low atomic_extremes_fill_high atomic_extremes ");
}

/// Copies in the fills of pipelined loops.
int copies_ahead(const KernelCase& kernel) {
  Config config;
  config.stages = 3;
  config = config_for(kernel, {16, 16, 8}, config);
  const Target target = parse_target("sm_80");
  const std::vector<bool> written = codegen::written_params(kernel.fn);
  ir::Function fn =
      ir::Rewriter::run(kernel.fn, [](ir::Rewriter&, const ir::Op&) { return false; });
  for (const codegen::TilePass& pass : codegen::tile_passes(config, target, written))
    fn = pass.run(fn);
  int ahead = 0;
  ir::for_each_op(fn.body(), [&](const ir::Op& op) {
    const ir::Op* loop = op.parent->parent;
    ahead += op.kind == ir::OpKind::copy && loop != nullptr && op.parent == loop->regions[1];
  });
  return ahead;
}

// A copy that ran ahead would read what the iteration before it has not written yet.
TEST(Memory, NoCopyRunsAheadOfScattersAndAtomics) {
  const auto product = [](bool scatter, bool atomic) {
    return make_case(
        "changing_product",
        [scatter, atomic](Tensor a, Tensor b) {
          Tensor c = empty({a.size(0), b.size(1)}, a.dtype());
          for (auto [rows, cols] : tile({a.size(0), b.size(1)}, {block(64), block(64)})) {
            Tile acc = zeros({rows, cols}, f32);
            for (auto ks : tile(a.size(1))) {
              acc = addmm(acc, a[rows, ks], b[ks, cols]);
              if (scatter) a[rows, ks.index() + 8] = zeros({rows, ks}, f32);
              if (atomic) atomic_add(b[ks, cols], 1);
            }
            c[rows, cols] = acc;
          }
          return c;
        },
        {dense(f32, {32, 64}), dense(f32, {64, 32})});
  };
  EXPECT_EQ(copies_ahead(product(false, false)), 2);
  EXPECT_EQ(copies_ahead(product(true, false)), 1);
  EXPECT_EQ(copies_ahead(product(false, true)), 1);
  EXPECT_EQ(copies_ahead(product(true, true)), 0);
}

// Views of which every access is proven inside keep their copies.
TEST(Memory, OperandsThroughViewsAreCopied) {
  EXPECT_EQ(copies_ahead(product_of_views(f32, 32, 48, 64)), 2);
  // Parts that begin at positions of a loop around.
  const auto parts = make_case("product_of_parts",
                               [](Tensor a, Tensor b) {
                                 Tensor c = empty({64, 48}, f32);
                                 for (auto [part, cols] : tile({each(2), 48})) {
                                   Tensor left = a.narrow(0, part * 32, 32),
                                          to = c.narrow(0, part * 32, 32);
                                   for (auto rows : tile(32)) {
                                     Tile acc = zeros({rows, cols}, f32);
                                     for (auto ks : tile(64))
                                       acc = addmm(acc, left[rows, ks], b[ks, cols]);
                                     to[rows, cols] = acc;
                                   }
                                 }
                                 return c;
                               },
                               {dense(f32, {64, 64}), dense(f32, {64, 48})});
  EXPECT_EQ(copies_ahead(parts), 2);
  const std::string text = cuda_of(parts, {16, 16, 8});
  for (const char* guard : {"thread_row <", "thread_row_2 <", " && ", " : 0"})
    expect_text(text, guard, false);
  EXPECT_EQ(copies_ahead(gathered_product(f32, 32, 48, 64)), 1);
}

}  // namespace
}  // namespace tilewright::testing
