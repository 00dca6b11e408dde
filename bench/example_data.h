// A kernel of the examples with its data on the device, against copies of as many bytes.
#pragma once

#include "bench/example_row.h"
#include "bench/row_data.h"

namespace tilewright::bench {

/// "default" and "model" stand for configs that depend on the row: default_config, and what a call
/// without a config would run with; any other variant has its config.
CompiledKernel compile_example(const ExampleRow& row, const Variant& variant,
                               const std::optional<Target>& target);

std::unique_ptr<RowData> make_example_data(const ExampleRow& row, const Job& job,
                                           const DeviceKernels& kernels);

}  // namespace tilewright::bench
