// Padded copies of operands: which tensors get one, and what the plan becomes.
#include "tilewright/codegen/repitch.h"

#include <gtest/gtest.h>

#include "tests/codegen/kernels_products.h"
#include "tests/interpreter/kernel_builder.h"
#include "tilewright/codegen/passes.h"
#include "tilewright/codegen/plan.h"
#include "tilewright/codegen/tensor_map.h"
#include "tilewright/ir/verify.h"

namespace tilewright::codegen {
namespace {

using testing::dense;
using testing::KernelCase;
using testing::product;
using testing::strided;
using testing::TestTensor;
using testing::transposed;

std::vector<int64_t> padded(DType dtype, std::vector<int64_t> sizes, std::vector<int64_t> strides) {
  const TensorSpec spec = padded_spec({dtype, std::move(sizes), std::move(strides), 2});
  EXPECT_EQ(spec.alignment, 16);
  EXPECT_TRUE(takes_tensor_map(spec)) << to_string(spec);
  return spec.strides;
}

TEST(PaddedSpec, RowsAreWholeSixteenBytes) {
  using Strides = std::vector<int64_t>;
  EXPECT_EQ(padded(DType::bf16, {4095, 4095}, {4095, 1}), (Strides{4096, 1}));
  EXPECT_EQ(padded(DType::f32, {7, 5}, {5, 1}), (Strides{8, 1}));
  EXPECT_EQ(padded(DType::i8, {7, 17}, {17, 1}), (Strides{32, 1}));
  EXPECT_EQ(padded(DType::f16, {100, 33}, {1, 101}), (Strides{1, 104}));  // stays transposed
  EXPECT_EQ(padded(DType::f32, {3, 5, 7}, {35, 1, 5}), (Strides{56, 1, 8}));
  EXPECT_EQ(padded(DType::f32, {8, 8}, {64, 2}), (Strides{8, 1}));  // gaps are closed
  EXPECT_EQ(padded(DType::f32, {3, 5, 8}, {0, 9, 1}), (Strides{40, 8, 1}));
  EXPECT_EQ(padded(DType::f32, {5, 1}, {3, 1}), (Strides{1, 8}));
}

std::vector<int> worth(const KernelCase& kernel, const LowerOptions& options = {}) {
  return params_to_repitch(kernel.fn, written_params(kernel.fn, options));
}

TEST(ParamsToRepitch, OperandsThatTakeNoMap) {
  using Params = std::vector<int>;
  EXPECT_EQ(worth(product(dense(bf16, {64, 64}), dense(bf16, {64, 64}))), Params{});
  EXPECT_EQ(worth(product(dense(bf16, {64, 63}), dense(bf16, {63, 64}))), Params{0});
  EXPECT_EQ(worth(product(dense(bf16, {64, 64}), dense(bf16, {64, 63}))), Params{1});
  EXPECT_EQ(worth(product(dense(f32, {33, 17}), transposed(f32, 17, 29))), (Params{0, 1}));
  EXPECT_EQ(worth(product(dense(f32, {64, 64}, 4), dense(f32, {64, 64}))), Params{0});
  EXPECT_EQ(worth(product(strided(f32, {64, 64}, {128, 2}), dense(f32, {64, 64}))), Params{0});
  EXPECT_EQ(worth(product(dense(f32, {64, 0}), dense(f32, {0, 63}))), Params{});  // nothing to copy
}

TEST(ParamsToRepitch, AlsoBehindElementwiseWork) {
  EXPECT_EQ(worth(testing::product_of_cast(bf16, 33, 17, 15)), (std::vector<int>{0, 1}));
  EXPECT_EQ(worth(testing::product_of_exp(33, 17, 15)), (std::vector<int>{0, 1}));
}

TEST(ParamsToRepitch, NotWhatTheProductDoesNotRead) {
  // The bias, 17 numbers, takes a map anyway; at a bad address it does not, and stays as it is.
  const KernelCase kernel =
      testing::make_case("product_bias",
                         [](Tensor a, Tensor b, Tensor bias) {
                           auto [m, k] = sizes<2>(a);
                           Tensor c = empty({m, b.size(1)}, f32);
                           for (auto [rows, cols] : tile({m, b.size(1)})) {
                             Tile acc = zeros({rows, cols}, f32);
                             for (auto ks : tile(k)) acc = addmm(acc, a[rows, ks], b[ks, cols]);
                             c[rows, cols] = acc + bias[cols];
                           }
                           return c;
                         },
                         {dense(f32, {32, 64}), dense(f32, {64, 33}), dense(f32, {33}, 4)});
  EXPECT_EQ(worth(kernel), std::vector<int>{1});
}

TEST(ParamsToRepitch, NotWhatIsWritten) {
  const KernelCase kernel = product(dense(f32, {33, 33}), dense(f32, {33, 33}));
  EXPECT_EQ(worth(kernel, {{{0, 2}}}), std::vector<int>{1});
  EXPECT_EQ(worth(kernel, {{{0, 1, 2}}}), std::vector<int>{});
}

Config product_config() { return {.block = {16, 16, 8}, .warps = 2, .stages = 2, .repitch = true}; }

TEST(RepitchPlan, CopiesComeFirstAndTheKernelReadsThem) {
  const KernelCase kernel = product(dense(bf16, {65, 63}), dense(bf16, {63, 64}));
  const Plan plan = lower(kernel.fn, product_config(), parse_target("sm_80"));
  ASSERT_EQ(plan.steps.size(), 2u);
  EXPECT_EQ(plan.launches(), 2);
  const KernelStep& copy = plan.steps[0].kernel;
  EXPECT_EQ(copy.symbol.substr(0, 17), "product_pad_arg0_");
  ASSERT_EQ(copy.params.size(), 2u);
  EXPECT_EQ(copy.params[0].source, 0);
  EXPECT_FALSE(copy.params[0].written);
  EXPECT_EQ(copy.params[1].source, 3);
  EXPECT_TRUE(copy.params[1].written);
  const KernelStep& main = plan.steps[1].kernel;
  ASSERT_EQ(main.params.size(), 3u);
  EXPECT_EQ(main.params[0].source, 3);
  EXPECT_EQ(main.params[1].source, 1);
  EXPECT_EQ(main.params[2].source, 2);
  // The tensors are as the user has them, the workspace as the copy is.
  ASSERT_EQ(plan.buffers.size(), 4u);
  EXPECT_TRUE(is_integer(plan.buffers[0].bytes, 65 * 63 * 2));
  EXPECT_EQ(plan.buffers[3].role, Buffer::Role::workspace);
  EXPECT_EQ(plan.buffers[3].name, "arg0_padded");
  EXPECT_TRUE(is_integer(plan.buffers[3].bytes, 65 * 64 * 2));
  EXPECT_EQ(plan.workspace_bytes({}), 8448);
}

int widest(const KernelStep& kernel, const std::string& tensor) {
  int bytes = 0;
  for (const OperandAccess& access : kernel.accesses)
    if (access.tensor == tensor) bytes = std::max(bytes, access.bytes);
  return bytes;
}

TEST(RepitchPlan, OddRowsAreReadWide) {
  const KernelCase kernel = product(dense(bf16, {65, 63}), dense(bf16, {63, 65}));
  Config config = product_config();
  const Plan plan = lower(kernel.fn, config, parse_target("sm_80"));
  ASSERT_EQ(plan.steps.size(), 3u);
  EXPECT_EQ(widest(plan.steps[0].kernel, "arg0"), 2);
  EXPECT_EQ(widest(plan.steps[0].kernel, "arg0_padded"), 8);
  EXPECT_EQ(widest(plan.steps[2].kernel, "arg0"), 16);
  EXPECT_EQ(widest(plan.steps[2].kernel, "arg1"), 16);
  config.repitch = false;
  const Plan without = lower(kernel.fn, config, parse_target("sm_80"));
  ASSERT_EQ(without.steps.size(), 1u);
  EXPECT_EQ(without.workspace_bytes({}), 0);
  EXPECT_EQ(widest(without.steps[0].kernel, "arg0"), 2);
}

TEST(RepitchPlan, WithoutSuchOperandsNothingChanges) {
  const KernelCase kernel = product(dense(bf16, {64, 64}), dense(bf16, {64, 64}));
  Config config = product_config();
  const Plan with = lower(kernel.fn, config, parse_target("sm_80"));
  config.repitch = false;
  const Plan without = lower(kernel.fn, config, parse_target("sm_80"));
  ASSERT_EQ(with.steps.size(), 1u);
  EXPECT_EQ(with.buffers.size(), without.buffers.size());
  EXPECT_EQ(with.tile_ir, without.tile_ir);
}

TEST(RepitchPlan, NamesOfCopiesAreNew) {
  KernelCase kernel = product(dense(f32, {33, 31}), dense(f32, {31, 33}));
  kernel.fn.params[1].name = "arg0_padded";
  const Repitched repitched = repitch(kernel.fn, written_params(kernel.fn));
  ASSERT_EQ(repitched.copies.size(), 2u);
  EXPECT_EQ(repitched.copies[0].fn.params[1].name, "arg0_padded_copy");
}

// What the copies and then the function on the copies give, all interpreted.
void expect_same_results(const KernelCase& kernel) {
  std::vector<TestTensor> tensors;
  for (const ir::Param& param : kernel.fn.params) tensors.emplace_back(param.spec);
  InterpreterArgs args;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!kernel.fn.params[i].allocated) tensors[i].randomize(static_cast<unsigned>(i));
    args.emplace_back(tensors[i].host());
  }
  interpret(kernel.fn, args, {});

  const Repitched repitched = repitch(kernel.fn, written_params(kernel.fn));
  ir::verify(repitched.fn, "repitch");
  EXPECT_FALSE(repitched.copies.empty());
  std::vector<TestTensor> copies;
  for (const PaddingCopy& copy : repitched.copies) copies.emplace_back(copy.fn.params[1].spec);
  for (size_t i = 0; i < copies.size(); ++i) {
    const PaddingCopy& copy = repitched.copies[i];
    const auto param = static_cast<size_t>(copy.param);
    ir::verify(copy.fn, "copy");
    EXPECT_EQ(copy.bytes, copies[i].spec().span() * size_of(copies[i].spec().dtype));
    HostTensor padded = copies[i].host();
    interpret(copy.fn, {args[param], padded}, {.block = copy.config.block});
    padded.spec = repitched.fn.params[param].spec;
    args[param] = padded;
  }
  TestTensor result(kernel.fn.params.back().spec);
  args.back() = result.host();
  interpret(repitched.fn, args, {});
  EXPECT_TRUE(result.same_bits(tensors.back())) << kernel.name;
}

TEST(Repitch, TheFunctionOnCopiesComputesTheSame) {
  expect_same_results(product(dense(bf16, {33, 17}), dense(bf16, {17, 29})));
  expect_same_results(product(transposed(f32, 33, 17), dense(f32, {17, 29}, 4)));
  expect_same_results(product(strided(f16, {9, 17}, {40, 2}), strided(f16, {17, 8}, {0, 1}, 2)));
  expect_same_results(product(dense(i8, {5, 7}), transposed(i8, 7, 3)));
  expect_same_results(testing::product_of_exp(9, 10, 11));
}

}  // namespace
}  // namespace tilewright::codegen
