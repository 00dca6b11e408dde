// A product with its operands on the device, against cuBLASLt or what else its problem names.
#pragma once

#include <memory>

#include "bench/gemm_problem.h"
#include "bench/row_data.h"

namespace tilewright::bench {

std::unique_ptr<RowData> make_gemm_data(const Problem& problem, const Job& job,
                                        const DeviceKernels& kernels);

}  // namespace tilewright::bench
