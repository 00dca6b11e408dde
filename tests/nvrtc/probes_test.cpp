// The kernels that compare device helpers with their host implementations compile.
#include <gtest/gtest.h>

#include "tests/support/twin_probe_list.h"
#include "tilewright/runtime/nvrtc.h"

namespace tilewright::testing {
namespace {

TEST(TwinProbes, CompileForHopper) {
  const Target target = parse_target("sm_90a");
  for (const TwinProbe& probe : twin_probes()) {
    ASSERT_TRUE(probe.fits(target)) << probe.name;
    const runtime::CompiledCuda compiled =
        runtime::compile_cuda(probe.plan(target).steps.at(0).kernel.source, probe.name, target);
    EXPECT_EQ(compiled.log.find("serialized"), std::string::npos) << probe.name << compiled.log;
  }
}

}  // namespace
}  // namespace tilewright::testing
