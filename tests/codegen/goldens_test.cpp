// Whole printed kernels, to be read by people and to show what a change of any pass does.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "examples/kernels/matmul.h"
#include "examples/kernels/row_sum.h"
#include "examples/kernels/softmax.h"
#include "tests/codegen/kernels_elementwise.h"
#include "tests/support/golden.h"
#include "tilewright/codegen/plan.h"

namespace tilewright::testing {
namespace {

void expect_cuda(const char* golden, const ir::Function& fn, const char* config,
                 const char* target = "sm_80") {
  const codegen::Plan plan = codegen::lower(fn, parse_config(config), parse_target(target));
  expect_golden(fmt::format("codegen/golden/{}.cu", golden), plan.steps.at(0).kernel.source);
}

std::shared_ptr<const ir::Function> matmul_of(TensorSpec a, TensorSpec b) {
  const std::vector<CompileArg> args = {std::move(a), std::move(b)};
  return examples::matmul.handle().trace(args);
}

TEST(Goldens, Matmul) {
  expect_cuda("matmul_64x64x16",
              *matmul_of(contiguous_spec(f32, {1000, 992}), contiguous_spec(f32, {992, 1008})),
              R"({"block":[64,64,16],"group":8})");
}

TEST(Goldens, MatmulOfTransposed) {
  expect_cuda("matmul_nt",
              *matmul_of(contiguous_spec(f32, {1024, 512}), {f32, {512, 1024}, {1, 512}}),
              R"({"block":[64,64,16],"stages":3})");
}

TEST(Goldens, MatmulThroughRegisters) {
  expect_cuda("matmul_sm75",
              *matmul_of(contiguous_spec(f32, {1024, 512}), contiguous_spec(f32, {512, 1024})),
              R"({"block":[64,64,16],"copy":"sync"})", "sm_75");
}

TEST(Goldens, MatmulByMma) {
  expect_cuda("matmul_mma",
              *matmul_of(contiguous_spec(bf16, {4096, 4096}), contiguous_spec(bf16, {4096, 4096})),
              R"({"block":[128,128,32],"stages":4,"matrix":"mma","group":8})");
}

// Edges of all dimensions, two tiles of each block, clusters with blocks that have no tile.
TEST(Goldens, MatmulByWarpgroups) {
  expect_cuda(
      "matmul_wgmma",
      *matmul_of(contiguous_spec(bf16, {4200, 1000}), contiguous_spec(bf16, {1000, 4104})),
      R"({"block":[128,256,64],"group":8,"warps":8,"stages":4,"copy":"tma","matrix":"wgmma","persistent":true,"cluster":2})",
      "sm_90a");
}

// Sixteen rows: the product is computed transposed.
TEST(Goldens, SkinnyMatmulByWarpgroups) {
  expect_cuda("matmul_wgmma_skinny",
              *matmul_of(contiguous_spec(bf16, {16, 4096}), contiguous_spec(bf16, {4096, 4096})),
              R"({"block":[16,64,128],"stages":6,"copy":"tma","matrix":"wgmma"})", "sm_90a");
}

TEST(Goldens, SmallMatmulThatDivides) {
  expect_cuda("matmul_9x9", *matmul_of(contiguous_spec(f32, {9, 9}), contiguous_spec(f32, {9, 9})),
              R"({"block":[3,3,3],"warps":1})");
}

TEST(Goldens, SmallMatmulWithEdges) {
  expect_cuda("matmul_10x10",
              *matmul_of(contiguous_spec(f32, {10, 10}), contiguous_spec(f32, {10, 10})),
              R"({"block":[3,3,3],"warps":1})");
}

// A row of halves is reduced, and used again with weights, which every program reads.
TEST(PrintedRows, OfHalvesAreHeldAsTheyCame) {
  const auto scaled = kernel("scaled", [](Tensor x, Tensor weight) {
    Tensor y = empty_like(x);
    for (auto rows : tile(x.size(0))) {
      Tile row = cast(x[rows, all], f32), factor = cast(weight[all], f32);
      Tile mean = sum(row, axis(1), keep_dims) / 1024;
      y[rows, all] = (row - mean) * factor;
    }
    return y;
  });
  const std::vector<CompileArg> args = {contiguous_spec(bf16, {8, 1024}),
                                        contiguous_spec(bf16, {1024})};
  const std::string cuda =
      codegen::lower(*scaled.handle().trace(args), parse_config(R"({"block":[1],"warps":1})"),
                     parse_target("sm_80"))
          .steps.at(0)
          .kernel.source;
  const auto body = cuda.find("__global__");
  EXPECT_EQ(cuda.find("float row["), cuda.npos) << cuda;
  EXPECT_NE(cuda.find("tw::float_at(x_tile, ", body), cuda.npos) << cuda;
  EXPECT_LT(cuda.find("tw::hold(x_tile)", body), cuda.find("&weight[", body)) << cuda;
  EXPECT_LT(cuda.find("shuffle_xor(", body), cuda.find("tw::hold(x_tile)", body)) << cuda;
}

TEST(Goldens, Softmax) {
  const std::vector<CompileArg> args = {contiguous_spec(bf16, {8192, 4096})};
  expect_cuda("softmax_bf16", *examples::softmax.handle().trace(args),
              R"({"block":[1],"warps":8})");
}

TEST(Goldens, RowSum) {
  const std::vector<CompileArg> args = {contiguous_spec(f32, {1000, 999})};
  expect_cuda("row_sum", *examples::row_sum.handle().trace(args), R"({"block":[4,256]})");
}

TEST(Goldens, TransposedCopy) {
  expect_cuda("transposed_copy", transposed_copy(f32, 1000, 1000).fn, R"({"block":[32,32]})");
}

}  // namespace
}  // namespace tilewright::testing
