// The bytes that the model predicts are those that emulated threads and bulk copies access.
#include "tilewright/autotune/traffic.h"

#include <gtest/gtest.h>

#include "tests/codegen/kernel_list.h"
#include "tests/codegen/kernels_matrix.h"
#include "tests/emulate/emulate_case.h"
#include "tilewright/codegen/plan.h"

namespace tilewright::testing {
namespace {

struct Counted {
  KernelCase kernel;
  std::string config;
  std::string target = "sm_80";
};

/// 96 by 64 is one full tile of 64 and one of 32; the others have ragged edges too. Tiles have an
/// element for every thread: threads that are left over load what others load.
std::vector<Counted> counted_kernels() {
  const std::string hopper = R"("copy":"tma","matrix":"wgmma"})";
  std::vector<Counted> all;
  const auto add = [&](KernelCase kernel, const std::string& config, const char* target = "sm_80") {
    all.push_back({std::move(kernel), config, target});
  };
  add(product_of("nn", f32, 96, 96, 40), R"({"block":[64,64,16],"stages":1,"copy":"sync"})");
  add(product_of("nn", f32, 96, 96, 40), R"({"block":[64,64,8],"stages":2,"copy":"sync"})");
  add(product_of("nn", f32, 96, 64, 96), R"({"block":[64,64,64],"stages":2})");
  add(product_of("nt", f32, 64, 96, 96), R"({"block":[64,64,32],"stages":3})");
  add(product_of("tn", f32, 33, 70, 21), R"({"block":[32,16,8],"stages":2,"warps":2})");
  add(product_of("tt", f32, 20, 12, 9), R"({"block":[8,8,4],"stages":2,"warps":1})");
  add(product_of("nn", f16, 96, 96, 48), R"({"block":[64,64,16],"stages":2,"matrix":"mma"})");
  add(product_of("nt", bf16, 96, 64, 96), R"({"block":[64,32,32],"stages":3,"matrix":"mma"})");
  add(product_of("nn", bf16, 70, 40, 33),
      R"({"block":[32,32,16],"stages":1,"matrix":"mma","copy":"sync"})");
  add(product_of("nn", f16, 96, 96, 64), R"({"block":[64,64,32],"stages":3,)" + hopper, "sm_90a");
  add(product_of("nt", bf16, 96, 64, 96), R"({"block":[64,64,64],"stages":2,)" + hopper, "sm_90a");
  add(product_of("nn", bf16, 96, 160, 80),
      R"({"block":[64,64,32],"stages":2,"persistent":true,)" + hopper, "sm_90a");
  add(product_of("nn", bf16, 128, 96, 96),
      R"({"block":[64,96,32],"stages":2,"cluster":2,)" + hopper, "sm_90a");
  add(chained_products(24, 40, 48, 32, f32), R"({"block":[16,32,16,16],"stages":2})");
  add(two_products(18, 20, 22), R"({"block":[16,16,8],"stages":2})");
  add(product_without_loop(18, 20, 12), R"({"block":[8,16]})");
  add(softmax(dense(f32, {10, 256})), R"({"block":[1],"warps":2})");
  add(row_sum(dense(f32, {96, 96})), R"({"block":[64,64],"warps":2})");
  add(transposed_copy(f32, 96, 96), R"({"block":[64,64]})");
  add(saxpy(1000), R"({"block":[512]})");
  return all;
}

TEST(EmulatedTraffic, IsWhatTheModelPredicts) {
  const std::vector<Counted> all = counted_kernels();
  EXPECT_EQ(all.size(), 20U);
  for (const Counted& counted : all) {
    SCOPED_TRACE(counted.kernel.name + " " + counted.config + " " + counted.target);
    const Config config = parse_config(counted.config);
    const Target target = parse_target(counted.target);
    const codegen::Plan plan = codegen::lower(counted.kernel.fn, config, target);
    EmulateMemory memory(counted.kernel);
    const std::vector<runtime::EmulatorArgument> arguments = memory.emulator_args();
    const runtime::Emulation emulation = runtime::emulate(plan, arguments, {.counts = true});
    EXPECT_EQ(emulation.report(), "");
    int64_t bytes = 0;
    for (const runtime::StatementCounts& statement : emulation.statements)
      bytes += statement.global_bytes;
    const tune::Traffic traffic = tune::traffic_of(counted.kernel.fn, config, target);
    EXPECT_EQ(traffic.l2_bytes(), bytes);
    EXPECT_GT(bytes, 0);
  }
}

}  // namespace
}  // namespace tilewright::testing
