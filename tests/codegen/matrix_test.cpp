// Dots that mma multiplies: kernel IR computes what the traced kernel does, and asks of memory no
// more than it must.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/codegen/kernels_matrix.h"
#include "tests/codegen/run_case.h"
#include "tests/codegen/warp_traffic.h"
#include "tilewright/codegen/passes.h"
#include "tilewright/codegen/print_cuda.h"
#include "tilewright/ir/error.h"

namespace tilewright::testing {
namespace {

struct NamedConfig {
  std::vector<int64_t> blocks;
  int warps, stages;
  CopyKind copy = CopyKind::cp_async;
};

Config mma_config(const KernelCase& kernel, const NamedConfig& named) {
  Config config;
  config.matrix = MatrixUnit::mma;
  config.warps = named.warps;
  config.stages = named.stages;
  config.copy = named.copy;
  return config_for(kernel, named.blocks, config);
}

const NamedConfig kConfigs[] = {{{32, 32, 32}, 4, 3},
                                {{64, 16, 16}, 2, 2},
                                {{48, 24, 48}, 3, 4},
                                {{20, 36, 24}, 1, 1},
                                {{16, 16, 64}, 8, 2, CopyKind::sync}};

class EveryMatrixKernel : public ::testing::TestWithParam<size_t> {};

TEST_P(EveryMatrixKernel, KernelIrComputesTheSame) {
  const Target target = parse_target("sm_89");
  for (const KernelCase& kernel : matrix_kernels()) {
    const Config config = mma_config(kernel, kConfigs[GetParam()]);
    SCOPED_TRACE(kernel.name + " " + to_json(config));
    CaseMemory expected(kernel, false), found(kernel, false);
    const codegen::Lowered lowered = codegen::lower_to_kernel_ir(kernel.fn, config, target);
    interpret(kernel.fn, expected.args(), {.block = config.block});
    const Emulation emulation = emulate(lowered.kernel, found.args());
    std::string problem = emulation.errors.empty() ? "" : emulation.errors[0];
    if (problem.empty()) problem = found.difference(expected);
    EXPECT_EQ(problem, "") << codegen::print_cuda(lowered.kernel, target);
  }
}

INSTANTIATE_TEST_SUITE_P(Configs, EveryMatrixKernel,
                         ::testing::Range<size_t>(0, std::size(kConfigs)));

class MatrixTraffic : public ::testing::TestWithParam<std::tuple<const char*, size_t>> {};

const NamedConfig kTiles[] = {
    {{128, 128, 32}, 4, 2}, {{128, 64, 64}, 8, 3}, {{64, 128, 16}, 4, 2}, {{32, 32, 128}, 4, 2}};

TEST_P(MatrixTraffic, HasNoBankConflictsAndIsWideAndCoalesced) {
  const auto& [how, tile] = GetParam();
  const NamedConfig& named = kTiles[tile];
  const auto& block = named.blocks;
  const KernelCase kernel = product_of(how, bf16, 2 * block[0], 2 * block[1], 2 * block[2]);
  CaseMemory memory(kernel, true);
  const codegen::Lowered lowered =
      codegen::lower_to_kernel_ir(kernel.fn, mma_config(kernel, named), parse_target("sm_89"));
  const WarpTraffic traffic = warp_traffic(lowered.kernel, memory.args());
  ASSERT_EQ(traffic.problem, "");
  EXPECT_GT(traffic.shared_accesses, 0);
  EXPECT_EQ(traffic.bank_conflicts, 0) << "of " << traffic.shared_accesses;
  for (const auto& [tensor, elements] :
       std::map<std::string, int64_t>{{"arg0", 2 * block[0] * block[2]},
                                      {"arg1", 2 * block[1] * block[2]},
                                      {"c", block[0] * block[1]}}) {
    SCOPED_TRACE(tensor);
    const GlobalTraffic& global = traffic.global.at(tensor);
    EXPECT_EQ(global.narrowest, 16);
    EXPECT_EQ(global.bytes, 2 * elements);  // everything, once
    EXPECT_EQ(global.sectors * 32, global.bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Tiles, MatrixTraffic,
                         ::testing::Combine(::testing::Values("nn", "tn", "nt", "tt"),
                                            ::testing::Range<size_t>(0, std::size(kTiles))),
                         [](const auto& info) {
                           return fmt::format("{}_{}", std::get<0>(info.param),
                                              std::get<1>(info.param));
                         });

int calls_of(const std::string& helper, const std::vector<codegen::Stmt>& body) {
  int count = 0;
  for (const codegen::Stmt& stmt : body) {
    count += stmt.kind == codegen::Stmt::Kind::call && stmt.value->text.starts_with(helper);
    count += calls_of(helper, stmt.body) + calls_of(helper, stmt.otherwise);
  }
  return count;
}

// Matrices are loaded whole wherever that is possible, else element by element.
TEST(MatrixLoads, AreWholeWhereTheTileIsStoredAsItIsMultiplied) {
  const auto loads = [](const KernelCase& kernel, std::vector<int64_t> blocks) {
    const codegen::Lowered lowered = codegen::lower_to_kernel_ir(
        kernel.fn, mma_config(kernel, {std::move(blocks), 4, 2}), parse_target("sm_89"));
    EXPECT_EQ(calls_of("tw::mma_", lowered.kernel.body), 1);
    return std::pair(calls_of("tw::matrix_load<", lowered.kernel.body),
                     calls_of("tw::matrix_load_transposed<", lowered.kernel.body));
  };
  EXPECT_EQ(loads(product_of("nn", f16, 128, 128, 64), {64, 64, 32}), std::pair(1, 1));
  EXPECT_EQ(loads(product_of("nt", f16, 128, 128, 64), {64, 64, 32}), std::pair(2, 0));
  EXPECT_EQ(loads(product_of("tn", f16, 128, 128, 64), {64, 64, 32}), std::pair(0, 2));
  EXPECT_EQ(loads(product_of("tt", f16, 128, 128, 64), {64, 64, 32}), std::pair(1, 1));
  EXPECT_EQ(loads(product_of("nt", i8, 128, 128, 64), {64, 64, 32}), std::pair(2, 0));
  EXPECT_EQ(loads(product_of("nn", i8, 128, 128, 64), {64, 64, 32}), std::pair(1, 0));
  EXPECT_EQ(loads(product_of("nn", f16, 128, 128, 64), {64, 60, 32}), std::pair(1, 0));
  EXPECT_EQ(loads(product_of("nt", f16, 128, 128, 64), {64, 60, 32}), std::pair(2, 0));
  EXPECT_EQ(loads(product_of("nn", f16, 128, 128, 64), {64, 64, 24}), std::pair(0, 0));
  EXPECT_EQ(loads(product_of_cast(f16, 128, 128, 64), {64, 64, 32}), std::pair(0, 0));
}

}  // namespace
}  // namespace tilewright::testing
