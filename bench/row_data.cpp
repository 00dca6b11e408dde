#include "bench/row_data.h"

#include <algorithm>

#include "bench/example_data.h"
#include "bench/gemm_data.h"
#include "bench/gemm_kernel.h"

namespace tilewright::bench {

std::unique_ptr<RowData> make_row_data(const Job& job, const DeviceKernels& kernels) {
  if (const ExampleRow* row = find_example_row(job.row))
    return make_example_data(*row, job, kernels);
  return make_gemm_data(gemm_problem(job.row), job, kernels);
}

CompiledKernel compile_variant(const std::string& row, const Variant& variant,
                               const Target& target) {
  if (const ExampleRow* example = find_example_row(row)) {
    CompiledKernel compiled = compile_example(*example, variant, target);
    compiled.binaries();  // runs NVRTC
    return compiled;
  }
  return OurProduct(gemm_problem(row), variant.config).compile_for(target);
}

RaceOptions short_race(const RaceOptions& options) {
  return {.rounds = 3, .replay_us = std::min(2000.0, options.replay_us)};
}

}  // namespace tilewright::bench
