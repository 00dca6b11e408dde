// Rows that are taken whole, walked in chunks.
#include <gtest/gtest.h>

#include "tests/codegen/kernels_rows.h"
#include "tests/codegen/run_case.h"
#include "tests/support/expect_error.h"
#include "tests/support/golden.h"
#include "tilewright/codegen/config_needs.h"
#include "tilewright/codegen/passes.h"
#include "tilewright/codegen/print_cuda.h"
#include "tilewright/codegen/roll_rows.h"
#include "tilewright/codegen/wide_axes.h"
#include "tilewright/ir/print.h"
#include "tilewright/ir/verify.h"

namespace tilewright::testing {
namespace {

using codegen::wide_axes;
using codegen::WideAxis;
using codegen::written_params;

ir::Function rolled(const KernelCase& kernel, int chunk) {
  Config config;
  config.reduction_loop = chunk;
  ir::Function fn = codegen::roll_rows(kernel.fn, config, written_params(kernel.fn));
  ir::verify(fn, "roll_rows");
  return fn;
}

int loops_of(const ir::Function& fn) {
  int loops = 0;
  ir::for_each_op(fn.body(), [&](const ir::Op& op) { loops += op.kind == ir::OpKind::tile_loop; });
  return loops;
}

TEST(RollRows, Softmax) {
  const KernelCase kernel = softmax(dense(f32, {6, 20}));
  expect_golden("codegen/golden/roll_rows.tile",
                fmt::format("// before\n{}\n// after\n{}", ir::print(kernel.fn),
                            ir::print(rolled(kernel, 8))));
}

struct Rows {
  KernelCase kernel;
  int passes;  // over a row
};

std::vector<Rows> kernels(int64_t n) {
  std::vector<Rows> all;
  all.push_back({softmax(dense(f32, {5, n})), 3});
  all.push_back({softmax(dense(bf16, {3, n})), 3});
  all.push_back({row_minmax(dense(i32, {4, n})), 1});
  all.push_back({whole_row_sum(f16, 4, n), 1});
  all.push_back({quantized_rows(bf16, f8e4m3, 3, n), 2});
  all.push_back({layer_norm_rows(f32, 3, n), 3});
  all.push_back({rows_in_place(5, n), 2});
  all.push_back({rows_one_by_one(3, n), 2});
  all.push_back({wide_columns(n, 6), 2});
  all.push_back({rows_in_a_loop(6, n), 1});
  all.push_back({halves(3, n), 1});
  all.push_back({combined_rows(5, n), 1});
  return all;
}

// Of chunks that divide the row and that do not, longer and shorter ones.
TEST(RollRows, ComputesTheSame) {
  for (const int64_t n : {1, 7, 64, 100})
    for (const int chunk : {5, 16, 64})
      for (const Rows& rows : kernels(n)) {
        const KernelCase& kernel = rows.kernel;
        SCOPED_TRACE(fmt::format("{} {} {}", kernel.name, n, chunk));
        const ir::Function fn = rolled(kernel, chunk);
        EXPECT_EQ(loops_of(fn) - loops_of(kernel.fn), n > chunk ? rows.passes : 0) << ir::print(fn);
        const Config config = config_for(kernel, {2}, {});
        CaseMemory expected(kernel, true), found(kernel, true);
        interpret(kernel.fn, expected.args(), {.block = config.block});
        interpret(fn, found.args(), {.block = config.block});
        EXPECT_EQ(found.difference(expected,
                                   kernel.name == "layer_norm_rows" ? 1e-5 : tolerance_of(kernel)),
                  "")
            << ir::print(fn);
      }
}

// The whole compiler on them, with kernel IR run thread by thread.
TEST(RollRows, LowersToTheSame) {
  const Target target = parse_target("sm_80");
  for (const auto& [n, chunk, warps] : {std::tuple{100, 32, 1}, {96, 32, 2}, {33, 32, 4}})
    for (const Rows& rows : kernels(n)) {
      const KernelCase& kernel = rows.kernel;
      Config config = config_for(kernel, {2}, {.warps = warps});
      config.reduction_loop = chunk;
      SCOPED_TRACE(fmt::format("{} {} {}", kernel.name, n, to_json(config)));
      const codegen::Lowered lowered = codegen::lower_to_kernel_ir(kernel.fn, config, target);
      CaseMemory expected(kernel, true), found(kernel, true);
      interpret(kernel.fn, expected.args(), {.block = config.block});
      const Emulation emulation = emulate(lowered.kernel, found.args());
      std::string problem = emulation.errors.empty() ? "" : emulation.errors[0];
      if (problem.empty())
        problem = found.difference(expected,
                                   kernel.name == "layer_norm_rows" ? 1e-5 : tolerance_of(kernel));
      EXPECT_EQ(problem, "") << codegen::print_cuda(lowered.kernel, target);
    }
}

TEST(RollRows, LongRows) {
  for (const int64_t n : {1000, 1001, 12288})
    for (const KernelCase& kernel :
         {softmax(dense(f32, {1, n})), layer_norm_rows(bf16, 1, n), combined_rows(1, n)}) {
      CaseMemory expected(kernel, true), found(kernel, true);
      interpret(kernel.fn, expected.args(), {.block = {2}});
      interpret(rolled(kernel, 512), found.args(), {.block = {2}});
      EXPECT_EQ(found.difference(expected, kernel.name == "layer_norm_rows" ? 0x1p-7 : 1e-5), "")
          << kernel.name << " " << n;
    }
}

// NaN, infinities, rows of nothing but -inf, in chunks and whole.
TEST(RollRows, SpecialValues) {
  const KernelCase kernel = softmax(dense(f32, {5, 20}));
  std::vector<float> x(100, 0.5f), whole(100), parts(100);
  x[3] = NAN, x[20 + 19] = INFINITY, x[60] = -INFINITY, x[80 + 9] = -0.0f;
  std::fill(x.begin() + 40, x.begin() + 60, -INFINITY);
  const TensorSpec spec = contiguous_spec(f32, {5, 20});
  interpret(kernel.fn, {HostTensor{x.data(), spec}, HostTensor{whole.data(), spec}},
            {.block = {2}});
  interpret(rolled(kernel, 8), {HostTensor{x.data(), spec}, HostTensor{parts.data(), spec}},
            {.block = {2}});
  for (size_t i = 0; i < x.size(); ++i) {
    const bool nan = i < 60;  // also with +inf: inf - inf
    EXPECT_EQ(std::isnan(parts[i]), nan) << i;
    if (nan) continue;
    EXPECT_FLOAT_EQ(parts[i], whole[i]) << i;
  }
}

TEST(RollRows, DefaultConfigsWalkLongRows) {
  const Target target = parse_target("sm_90a");
  const auto loop_of = [&](int64_t n, DType dtype) {
    const KernelCase kernel = softmax(dense(dtype, {64, n}));
    const Config config = default_config(kernel.fn, target);
    check_config(config, kernel.fn, target);
    return config.reduction_loop;
  };
  for (const int64_t n : {1, 7, 64, 1000, 1001, 12288, 32768}) EXPECT_EQ(loop_of(n, bf16), 0) << n;
  EXPECT_EQ(loop_of(65536, bf16), 8192);
  EXPECT_EQ(loop_of(1000000, f32), 4096);
  const KernelCase carried = rows_carried(4, 100000);  // cannot be
  EXPECT_EQ(default_config(carried.fn, target).reduction_loop, 0);
}

// Chunks are stored to different places: threads need not wait for each other between them.
TEST(RollRows, BarriersAreThoseOfReductions) {
  Config config{.block = {1}};
  config.reduction_loop = 512;
  const KernelCase kernel = softmax(dense(bf16, {4, 4096}));
  const codegen::Plan plan = codegen::lower(kernel.fn, config, parse_target("sm_80"));
  const std::string& source = plan.steps.at(0).kernel.source;
  int barriers = 0;
  for (size_t at = 0; (at = source.find("__syncthreads();", at)) != source.npos; ++at) ++barriers;
  EXPECT_EQ(barriers, 2) << source;
}

TEST(RollRows, MillionsOfElements) {
  const KernelCase kernel = softmax(dense(f32, {1, 1000000}));
  CaseMemory expected(kernel, true), found(kernel, true);
  interpret(kernel.fn, expected.args(), {.block = {1}});
  interpret(rolled(kernel, 8192), found.args(), {.block = {1}});
  EXPECT_EQ(found.difference(expected, 1e-5), "");
}

std::string obstacle_of(const KernelCase& kernel, std::vector<bool> written = {}) {
  if (written.empty()) written = written_params(kernel.fn);
  std::string text;
  for (const WideAxis& axis : wide_axes(kernel.fn, 8, written))
    if (text.empty()) text = axis.obstacle;
  return text;
}

TEST(RollRows, WhatMustStayWholeSaysWhy) {
  EXPECT_NE(obstacle_of(rows_overwritten(4, 20)).find("would change places with the store"),
            std::string::npos);
  EXPECT_NE(obstacle_of(rows_carried(4, 20)).find("from one iteration to the next"),
            std::string::npos);
  EXPECT_NE(obstacle_of(product_without_loop(18, 20, 12)).find("the dot at line"),
            std::string::npos);
  EXPECT_EQ(obstacle_of(rows_in_place(4, 20)), "");
  for (const KernelCase& kernel : {rows_overwritten(4, 20), rows_carried(4, 20)})
    EXPECT_EQ(loops_of(rolled(kernel, 8)), loops_of(kernel.fn));
}

// y may be x itself: read and written at one place. What was read before stays so.
TEST(RollRows, TensorsInOnePlace) {
  const KernelCase in_one_pass = softmax(dense(f32, {4, 20}));
  EXPECT_EQ(obstacle_of(in_one_pass, {true, true}), "");
  const KernelCase norm = layer_norm_rows(f32, 4, 20);  // weight and y
  EXPECT_EQ(obstacle_of(norm), "");
  EXPECT_NE(obstacle_of(norm, {false, true, false, true, true}).find("would change places"),
            std::string::npos);
  Config config{.block = {2}};
  config.reduction_loop = 8;
  expect_error(ErrorId::config_unsupported, 0, "are the same memory", [&] {
    codegen::lower_to_kernel_ir(norm.fn, config, parse_target("sm_80"), {.alias_groups = {{1, 3}}});
  });
}

TEST(RollRows, RowsTooLongForRegisters) {
  const Target target = parse_target("sm_80");
  const KernelCase kernel = softmax(dense(f32, {4, 1000000}));
  Config config{.block = {1}};
  expect_error(ErrorId::config_row, 0, "set reduction_loop",
               [&] { check_config(config, kernel.fn, target); });
  config.reduction_loop = 4096;
  check_config(config, kernel.fn, target);
  EXPECT_LT(codegen::estimate_needs(config, kernel.fn, target).registers, 80);
  const KernelCase carried = rows_carried(4, 1000000);
  expect_error(ErrorId::config_row, 0, "because the loop", [&] {
    check_config(Config{.block = {}, .reduction_loop = 4096}, carried.fn, target);
  });
}

}  // namespace
}  // namespace tilewright::testing
