// Kernels that print, assert and have PTX of their own compile.
#include <gtest/gtest.h>

#include "tests/codegen/kernels_debug.h"
#include "tilewright/codegen/plan.h"
#include "tilewright/runtime/nvrtc.h"

namespace tilewright::testing {
namespace {

TEST(DebugKernels, Compile) {
  int line = 0;
  std::vector<KernelCase> kernels;
  kernels.push_back(printed_product(40, 40, 40));
  kernels.push_back(failing_assert(100, line));
  kernels.push_back(own_ptx(100));
  for (const KernelCase& kernel : kernels)
    for (const char* name : {"sm_75", "sm_90a", "sm_120a"}) {
      const Target target = parse_target(name);
      const codegen::KernelStep step =
          codegen::lower(kernel.fn, default_config(kernel.fn, target), target).steps.at(0).kernel;
      try {
        runtime::compile_cuda(step.source, step.symbol, target);
      } catch (const std::exception& error) {
        ADD_FAILURE() << kernel.name << " for " << name << ": " << error.what() << "\n"
                      << step.source;
      }
    }
}

}  // namespace
}  // namespace tilewright::testing
