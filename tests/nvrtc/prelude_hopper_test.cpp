// The device helpers of sm_90a compile, become the instructions they promise, and leave products
// of warpgroups in flight.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tilewright/codegen/kernel_ir.h"
#include "tilewright/codegen/prelude.h"
#include "tilewright/codegen/prelude_wgmma.h"
#include "tilewright/codegen/print_cuda.h"
#include "tilewright/ir/error.h"
#include "tilewright/runtime/nvrtc.h"

namespace tilewright::codegen {
namespace {

/// A kernel with this body, and with tensor map `map` and shared memory as parameters of it.
std::string kernel_text(const std::string& body) {
  const std::string code = R"(
extern "C" __global__ void __launch_bounds__(128, 1)
kernel(const __grid_constant__ tw::TensorMap map, float* out, int n) {
  extern __shared__ __align__(1024) unsigned char bytes[];
  tw::Barrier* barrier = reinterpret_cast<tw::Barrier*>(bytes);
  void* tile = bytes + 1024;
)" + body + "}\n";
  return prelude_text(helpers_used(code), parse_target("sm_90a")) + code;
}

runtime::CompiledCuda compile(const std::string& body) {
  const std::string source = kernel_text(body);
  runtime::CompiledCuda compiled = runtime::compile_cuda(source, "kernel", parse_target("sm_90a"));
  EXPECT_EQ(compiled.log.find("serialized"), std::string::npos) << compiled.log << source;
  EXPECT_EQ(compiled.resources.spill_bytes, 0) << source;
  return compiled;
}

void expect_instruction(const std::string& body, const std::string& instruction) {
  const std::string ptx = compile(body).ptx;
  EXPECT_NE(ptx.find(instruction), std::string::npos) << body << ptx;
}

TEST(HopperPrelude, BarriersBecomeTheirInstructions) {
  expect_instruction("tw::barrier_init(barrier, n);\ntw::barrier_init_fence();\n",
                     "mbarrier.init.shared::cta.b64");
  expect_instruction("tw::barrier_init_fence();\n", "fence.mbarrier_init.release.cluster");
  expect_instruction("tw::barrier_expect(barrier, 4096);\n",
                     "mbarrier.arrive.expect_tx.shared::cta.b64 _");
  expect_instruction("tw::barrier_arrive(barrier);\n", "mbarrier.arrive.shared::cta.b64 _");
  expect_instruction("tw::barrier_arrive_at(barrier, n);\n", "mapa.shared::cluster.u32");
  expect_instruction("tw::barrier_wait(barrier, 1);\ntw::barrier_wait(barrier, 0);\n",
                     "mbarrier.try_wait.parity.shared::cta.b64");
  expect_instruction("tw::sync_warps(1 + n, 128);\n", "bar.sync");
  expect_instruction("out[0] = tw::cluster_rank();\n", "%cluster_ctarank");
  expect_instruction("tw::cluster_sync();\n", "barrier.cluster.wait.aligned");
  expect_instruction("if (n == 0) tw::registers_down<24>();\nelse tw::registers_up<240>();\n",
                     "setmaxnreg.inc.sync.aligned.u32 240");
  expect_instruction("tw::fence_async_shared();\n", "fence.proxy.async.shared::cta");
}

TEST(HopperPrelude, TensorCopiesOfEveryRank) {
  const std::vector<std::string> coordinates = {"n", "n, 1", "n, 1, 2", "n, 1, 2, 3",
                                                "n, 1, 2, 3, 4"};
  std::string body;
  for (const std::string& at : coordinates) {
    body += fmt::format("tw::tma_load(tile, map, barrier, {});\n", at);
    body += fmt::format("tw::tma_load_multicast(tile, map, barrier, (unsigned short)3, {});\n", at);
    body += fmt::format("tw::tma_store(map, tile, {});\n", at);
  }
  body += "tw::tma_store_commit();\ntw::tma_store_wait_read<1>();\ntw::tma_store_wait<0>();\n";
  const std::string ptx = compile(body).ptx;
  for (int rank = 1; rank <= 5; ++rank) {
    const std::string load = fmt::format(
        "cp.async.bulk.tensor.{}d.shared::cluster.global.mbarrier::complete_tx::bytes", rank);
    EXPECT_NE(ptx.find(load + " ["), std::string::npos) << ptx;
    EXPECT_NE(ptx.find(load + ".multicast::cluster ["), std::string::npos) << ptx;
    EXPECT_NE(
        ptx.find(fmt::format("cp.async.bulk.tensor.{}d.global.shared::cta.bulk_group [", rank)),
        std::string::npos)
        << ptx;
  }
  EXPECT_NE(ptx.find("cp.async.bulk.wait_group.read 1;"), std::string::npos);
  EXPECT_NE(ptx.find("cp.async.bulk.wait_group 0;"), std::string::npos);
}

TEST(HopperPrelude, OnlyTheCalledOverloadIsPrinted) {
  const std::string source = kernel_text("tw::tma_load(tile, map, barrier, (n + 1), min(n, 2));\n");
  EXPECT_NE(source.find("tensor.2d"), std::string::npos) << source;
  EXPECT_EQ(source.find("tensor.1d"), std::string::npos) << source;
  EXPECT_EQ(source.find("tensor.3d"), std::string::npos) << source;
  EXPECT_EQ(helpers_used("unsigned p[4][4];\ntw::wgmma_m64n64k16_bf16(acc, p[i], b, 1);"),
            (std::set<std::string>{"wgmma_m64n64k16_bf16:registers"}));
  EXPECT_EQ(helpers_used("tw::wgmma_m64n64k16_bf16(acc, a, b, 1); tw::tma_store(m, s, 0, 1, z);"),
            (std::set<std::string>{"wgmma_m64n64k16_bf16:shared", "tma_store:3"}));
}

TEST(HopperPrelude, MatrixStoresAndPacking) {
  expect_instruction(
      "unsigned r[4] = {tw::pack<tw::bf16>(out[0], out[1]), tw::pack<tw::f16>(out[2], out[3])};\n"
      "tw::matrix_store<4>(tile, r);\n",
      "stmatrix.sync.aligned.m8n8.x4.shared.b16");
  expect_instruction("unsigned r[2] = {};\ntw::matrix_store_transposed<2>(tile, r);\n",
                     "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16");
}

struct Product {
  std::string name, a, b;  // operands
  bool registers = false;
};

/// A product that reads its sums, in a loop of two groups.
std::string product_body(const Product& product) {
  const std::optional<WgmmaShape> shape = parse_wgmma(product.name);
  EXPECT_TRUE(shape.has_value()) << product.name;
  const std::string type = product.name.ends_with("s8") ? "int" : "float";
  std::string body = fmt::format("  {} acc[2][{}] = {{}};\n  unsigned p[4] = {{1, 2, 3, 4}};\n",
                                 type, shape->n / 4);
  body += fmt::format(
      "  for (int i = 0; i < n; ++i) {{\n    tw::wgmma_fence();\n"
      "    tw::{}(acc, {}, {}, i > 0);\n    tw::wgmma_commit();\n"
      "    tw::wgmma_wait<0>();\n  }}\n",
      product.name, product.registers ? "p" : product.a, product.b);
  return body + fmt::format(
                    "  for (int i = 0; i < {}; ++i) out[threadIdx.x + 128 * i] = acc[0][i] + "
                    "acc[1][i];\n",
                    shape->n / 4);
}

TEST(HopperPrelude, ProductsOfEveryTypeAndOrder) {
  const auto k_major = [](const char* type) {
    return fmt::format("tw::k_major<128>((const {}*)(bytes + 1024 * (i + 1)), 1024)", type);
  };
  const auto mn_major = [](const char* type) {
    return fmt::format("tw::mn_major<64>((const {}*)(bytes + 1024 * (i + 9)), 4096, 512)", type);
  };
  std::vector<Product> products;
  for (const char* half : {"bf16", "f16"})
    for (const bool registers : {false, true}) {
      const std::string type = fmt::format("tw::{}", half);
      const std::string k = k_major(type.c_str()), mn = mn_major(type.c_str());
      for (const int n : {8, 64, 256})
        products.push_back({fmt::format("wgmma_m64n{}k16_{}", n, half), k, mn, registers});
      products.push_back({fmt::format("wgmma_m64n160k16_{}", half), mn, k, registers});
    }
  const std::string byte = k_major("unsigned char");
  for (const bool registers : {false, true}) {
    products.push_back({"wgmma_m64n192k8_tf32", k_major("float"), k_major("float"), registers});
    products.push_back(
        {"wgmma_m64n96k32_s8", k_major("signed char"), k_major("signed char"), registers});
    for (const char* pair : {"e4m3", "e5m2", "e4m3_e5m2", "e5m2_e4m3"})
      products.push_back({fmt::format("wgmma_m64n128k32_{}", pair), byte, byte, registers});
  }
  for (const Product& product : products) {
    const WgmmaShape shape = *parse_wgmma(product.name);
    const std::string sums = shape.a == "s8" ? "s32" : "f32";
    expect_instruction(product_body(product),
                       fmt::format("wgmma.mma_async.sync.aligned.m64n{}k{}.{}.{}.{}", shape.n,
                                   shape.k, sums, shape.a, shape.b));
  }
}

TEST(HopperPrelude, ShapesThatTheInstructionLacks) {
  for (const char* name :
       {"wgmma_m64n8k16", "wgmma_m64n12k16_bf16", "wgmma_m64n264k16_bf16", "wgmma_m64n8k8_bf16",
        "wgmma_m64n40k32_s8", "wgmma_m64n8k16_bf16_f16", "wgmma_m64n8k32_e4m3_e4m3",
        "wgmma_m64n08k16_bf16", "wgmma_m64n8k16_bf16x", "wgmma_wait"})
    EXPECT_FALSE(parse_wgmma(name)) << name;
  EXPECT_EQ(find_helper("tw::wgmma_m64n12k16_bf16"), nullptr);
  ASSERT_NE(find_helper("tw::wgmma_m64n16k16_bf16"), nullptr);
  EXPECT_EQ(find_helper("tw::wgmma_m64n16k16_bf16"), find_helper("wgmma_m64n16k16_bf16"));
}

TEST(HopperPrelude, TargetsThatCannotHaveThem) {
  for (const char* name : {"wgmma_wait", "wgmma_m64n8k16_bf16", "registers_up"})
    for (const char* target : {"sm_80", "sm_90"})
      EXPECT_THROW(prelude_text({name}, parse_target(target)), InternalError) << name << target;
  EXPECT_THROW(prelude_text({"wgmma_wait"}, parse_target("sm_100a")), InternalError);
  EXPECT_NE(prelude_text({"registers_up"}, parse_target("sm_100a")), "");
  EXPECT_NE(prelude_text({"tma_load"}, parse_target("sm_90")), "");
}

TEST(HopperPrelude, KernelsTakeTensorMapsAndHoldBarriers) {
  Kernel kernel;
  kernel.name = "kernel";
  kernel.params.push_back(
      {.name = "a_map", .map = TensorMapSpec{.sizes = {64}, .strides = {1}, .box = {64}}});
  SharedBuffer tile;
  tile.name = "tile";
  tile.extents = {64};
  tile.offset = 0;
  SharedBuffer full;
  full.name = "full";
  full.extents = {4};
  full.type = "tw::Barrier";
  full.type_bytes = 8;
  full.offset = 256;
  kernel.buffers = {tile, full};
  kernel.shared_bytes = 288;
  kernel.body.push_back(
      call_stmt(call("tw::tma_load", {address(shared("tile", {integer(0)})), name("a_map"),
                                      address(shared("full", {integer(1)})), integer(0)})));
  const Target target = parse_target("sm_90a");
  const std::string text = print_cuda(kernel, target);
  EXPECT_NE(text.find("kernel(const __grid_constant__ tw::TensorMap a_map)"), text.npos) << text;
  EXPECT_NE(text.find("  tw::Barrier full[4];"), text.npos) << text;
  EXPECT_NE(text.find("struct alignas(64) TensorMap"), text.npos) << text;
  const std::string ptx = runtime::compile_cuda(text, "kernel", target).ptx;
  EXPECT_NE(ptx.find("cp.async.bulk.tensor.1d"), ptx.npos) << ptx;
}

}  // namespace
}  // namespace tilewright::codegen
