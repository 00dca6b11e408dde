// The kernels that measure a GPU compile.
#include "tilewright/autotune/calibration.h"

#include <gtest/gtest.h>

#include "tilewright/runtime/nvrtc.h"

namespace tilewright::tune {
namespace {

TEST(CalibrationKernels, Compile) {
  for (const char* name : {"sm_80", "sm_90a", "sm_120a"}) {
    const Target target = parse_target(name);
    const std::map<std::string, std::string> kernels = calibration_kernels(target);
    EXPECT_EQ(kernels.size(), 6U);
    for (const auto& [symbol, text] : kernels) {
      SCOPED_TRACE(std::string(name) + " " + symbol);
      // Those of products are compiled in other tests for other targets.
      if (symbol.starts_with("calibration") && target.sm != 90) continue;
      const runtime::CompiledCuda compiled = runtime::compile_cuda(text, symbol, target);
      EXPECT_FALSE(compiled.cubin.empty());
      EXPECT_EQ(compiled.resources.spill_bytes, 0);
      EXPECT_TRUE(compiled.notes().empty()) << compiled.notes().front();
    }
  }
}

}  // namespace
}  // namespace tilewright::tune
