// What each tile pass makes of small functions, as text. Each golden shows the function before and
// after the pass.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/golden.h"
#include "tilewright/codegen/assign_layouts.h"
#include "tilewright/codegen/mask_edges.h"
#include "tilewright/codegen/passes.h"
#include "tilewright/codegen/pipeline.h"
#include "tilewright/codegen/place.h"
#include "tilewright/codegen/schedule.h"
#include "tilewright/codegen/specialize.h"
#include "tilewright/ir/dce.h"
#include "tilewright/ir/parse.h"
#include "tilewright/ir/print.h"
#include "tilewright/ir/verify.h"

namespace tilewright::codegen {
namespace {

using testing::expect_golden;

/// Sums of exp over rows of an n x n matrix.
std::string exp_sum_text(int n) {
  return fmt::format(R"(func @exp_sum(%x: f32[{0},{0}], %y: f32[{0}]) {{
  axis B0 "rows"
  axis B1 "cols"
  %0 = constant 0 : i64
  %n = constant {0} : i64
  tile_loop (%0) (%n) () {{axes=[0], parallel=1}} (%rows: slice<B0>) {{
    %1 = constant 0.0 : f32
    %2 = broadcast %1 {{shape=[B0], dims=[]}} : f32[B0]
    %3 = tile_loop (%0) (%n) (%2) {{axes=[1], parallel=0}} : f32[B0] (%cols: slice<B1>, %4: f32[B0]) {{
      %5 = load %x, %rows, %cols : f32[B0,B1]
      %6 = unary exp %5 : f32[B0,B1]
      %7 = reduce add %6 {{axes=[1]}} : f32[B0]
      %8 = binary add %4, %7 : f32[B0]
      yield %8
    }}
    store %y, %3, %rows
  }}
}}
)",
                     n);
}

/// c = a b, of n x n matrices, or exp(a) b.
std::string product_text(int n, bool of_exp) {
  const char* left = of_exp ? "\n      %6 = unary exp %5 : f32[B0,B2]" : "";
  return fmt::format(R"(func @product(%a: f32[{0},{0}], %b: f32[{0},{0}], %c: f32[{0},{0}]) {{
  axis B0 "rows"
  axis B1 "cols"
  axis B2 "ks"
  %0 = constant 0 : i64
  %n = constant {0} : i64
  tile_loop (%0, %0) (%n, %n) () {{axes=[0,1], parallel=1}} (%rows: slice<B0>, %cols: slice<B1>) {{
    %1 = constant 0.0 : f32
    %2 = broadcast %1 {{shape=[B0,B1], dims=[]}} : f32[B0,B1]
    %3 = tile_loop (%0) (%n) (%2) {{axes=[2], parallel=0}} : f32[B0,B1] (%ks: slice<B2>, %4: f32[B0,B1]) {{
      %5 = load %a, %rows, %ks : f32[B0,B2]{1}
      %7 = load %b, %ks, %cols : f32[B2,B1]
      %8 = dot {2}, %7, %4 : f32[B0,B1]
      yield %8
    }}
    store %c, %3, %rows, %cols
  }}
}}
)",
                     n, left, of_exp ? "%6" : "%5");
}

ir::Function parse(const std::string& text) {
  ir::Function fn = ir::parse(text);
  ir::verify(fn, "parse");
  return fn;
}

Config blocks(std::vector<int64_t> block) {
  Config config;
  config.block = std::move(block);
  return config;
}

void expect_pass(const char* golden, const ir::Function& before, const ir::Function& after) {
  ir::verify(after, golden);
  // Both parts are functions that parse back.
  for (const ir::Function* fn : {&before, &after})
    EXPECT_EQ(ir::print(parse(ir::print(*fn))), ir::print(*fn));
  expect_golden(fmt::format("codegen/golden/{}.ir", golden),
                fmt::format("// before\n{}\n// after\n{}", ir::print(before), ir::print(after)));
}

/// Runs the passes before the one called `until`.
ir::Function run_until(const ir::Function& fn, const Config& config, std::string_view until) {
  const std::vector<bool> written = written_params(fn);
  ir::Function made = parse(ir::print(fn));
  for (const TilePass& pass : tile_passes(config, parse_target("sm_80"), written)) {
    if (pass.name == until) return made;
    made = pass.run(made);
  }
  return made;
}

TEST(Passes, SpecializeWhereBlocksDivide) {
  const ir::Function fn = parse(exp_sum_text(9));
  expect_pass("specialize_divides", fn, specialize(fn, blocks({3, 3})));
}

TEST(Passes, SpecializeWhereTheyDoNot) {
  const ir::Function fn = parse(exp_sum_text(10));
  expect_pass("specialize_ragged", fn, specialize(fn, blocks({5, 3})));
}

TEST(Passes, SpecializeProduct) {
  const ir::Function fn = parse(product_text(10, true));
  expect_pass("specialize_product", fn, specialize(fn, blocks({5, 3, 4})));
}

TEST(Passes, MaskEdgesOfReductions) {
  const ir::Function fn = specialize(parse(exp_sum_text(10)), blocks({5, 3}));
  expect_pass("mask_edges_reduce", fn, mask_edges(fn));
}

TEST(Passes, MaskEdgesOfDots) {
  const ir::Function fn = specialize(parse(product_text(10, true)), blocks({5, 3, 4}));
  expect_pass("mask_edges_dot", fn, mask_edges(fn));
}

TEST(Passes, MaskEdgesAddsNoneWhereLoadsGiveZeros) {
  const ir::Function fn = specialize(parse(product_text(10, false)), blocks({5, 3, 4}));
  expect_pass("mask_edges_loaded", fn, mask_edges(fn));
}

TEST(Passes, Schedule) {
  const ir::Function fn = parse(product_text(10, false));
  Config config = blocks({4, 4, 4});
  config.group = 8;
  config.order = {1, 0};
  const ir::Function bound = specialize(fn, config);
  expect_pass("schedule", bound, schedule(bound, config));
}

TEST(Passes, PlaceCopiesLoadsAndStagesTheRest) {
  const Config config = blocks({4, 5, 4});
  const ir::Function fn = run_until(parse(product_text(10, true)), config, "place");
  expect_pass("place", fn, ir::eliminate_dead_code(place(fn, config, parse_target("sm_80"))));
}

/// c = (exp(a) + a) w of bf16 with weights of i8, n by n.
std::string computed_product_text(int n) {
  return fmt::format(R"(func @computed(%a: bf16[{0},{0}], %w: i8[{0},{0}], %c: f32[{0},{0}]) {{
  axis B0 "rows"
  axis B1 "cols"
  axis B2 "ks"
  %0 = constant 0 : i64
  %n = constant {0} : i64
  tile_loop (%0, %0) (%n, %n) () {{axes=[0,1], parallel=1}} (%rows: slice<B0>, %cols: slice<B1>) {{
    %1 = constant 0.0 : f32
    %2 = broadcast %1 {{shape=[B0,B1], dims=[]}} : f32[B0,B1]
    %3 = tile_loop (%0) (%n) (%2) {{axes=[2], parallel=0}} : f32[B0,B1] (%ks: slice<B2>, %4: f32[B0,B1]) {{
      %5 = load %a, %rows, %ks : bf16[B0,B2]
      %6 = unary exp %5 : bf16[B0,B2]
      %7 = binary add %6, %5 : bf16[B0,B2]
      %8 = load %w, %ks, %cols : i8[B2,B1]
      %9 = cast %8 : bf16[B2,B1]
      %10 = dot %7, %9, %4 : f32[B0,B1]
      yield %10
    }}
    store %c, %3, %rows, %cols
  }}
}}
)",
                     n);
}

// Both operands stay in registers for mma; wgmma takes the second from shared memory.
TEST(Passes, PlaceFetchesWhatOperandsAreComputedFrom) {
  Config config = blocks({64, 32, 64});
  for (const auto& [unit, architecture] :
       {std::pair{MatrixUnit::mma, "sm_80"}, {MatrixUnit::wgmma, "sm_90a"}}) {
    config.matrix = unit;
    const ir::Function fn = run_until(parse(computed_product_text(128)), config, "place");
    expect_pass(unit == MatrixUnit::mma ? "place_mma" : "place_wgmma", fn,
                ir::eliminate_dead_code(place(fn, config, parse_target(architecture))));
  }
}

TEST(Passes, Pipeline) {
  Config config = blocks({4, 5, 4});
  config.stages = 3;
  const ir::Function fn = run_until(parse(product_text(10, false)), config, "pipeline");
  expect_pass("pipeline", fn, pipeline(fn, config, written_params(fn)));
}

TEST(Passes, PipelineLeavesShortLoopsAndWrittenTensors) {
  Config config = blocks({4, 5, 10});
  config.stages = 3;
  const ir::Function once = run_until(parse(product_text(10, false)), config, "pipeline");
  EXPECT_EQ(ir::print(pipeline(once, config, written_params(once))), ir::print(once));
  config.block[2] = 5;
  const ir::Function fn = run_until(parse(product_text(10, false)), config, "pipeline");
  EXPECT_EQ(ir::print(pipeline(fn, config, {true, true, true})), ir::print(fn));
  const std::string half = ir::print(pipeline(fn, config, {false, true, true}));
  EXPECT_NE(half.find("ahead=1"), std::string::npos) << half;  // as two iterations allow
}

TEST(Passes, AssignLayoutsConvertsTransposedStores) {
  const std::string text = R"(func @transposed(%x: f32[64,64], %y: f32[64,64]) {
  axis B0 "rows" = 32
  axis B1 "cols" = 32
  %0 = constant 0 : i64
  %n = constant 64 : i64
  tile_loop (%0, %0) (%n, %n) () {axes=[0,1], parallel=1} (%rows: slice<B0>, %cols: slice<B1>) {
    %1 = load %x, %rows, %cols {guard=[]} : f32[B0,B1]
    %2 = permute %1 {dims=[1,0]} : f32[B1,B0]
    store %y, %2, %cols, %rows {guard=[]}
  }
}
)";
  const ir::Function fn = parse(text);
  const LaidOut out = assign_layouts(fn, Config{}, parse_target("sm_80"));
  expect_pass("assign_layouts_transposed", fn, out.fn);
  int converts = 0;
  ir::for_each_op(out.fn.body(), [&](const ir::Op& op) {
    converts += op.kind == ir::OpKind::convert;
    for (const ir::Value* result : op.results) {
      if (result->type.is_tile()) {
        EXPECT_TRUE(out.layouts.contains(result));
      }
    }
  });
  EXPECT_EQ(converts, 1);
}

TEST(Passes, AssignLayoutsNeedsNoConvertsElementwise) {
  const ir::Function fn = run_until(parse(exp_sum_text(10)), blocks({5, 3}), "");
  const LaidOut out = assign_layouts(fn, blocks({5, 3}), parse_target("sm_80"));
  ir::for_each_op(out.fn.body(),
                  [&](const ir::Op& op) { EXPECT_NE(op.kind, ir::OpKind::convert); });
}

}  // namespace
}  // namespace tilewright::codegen
