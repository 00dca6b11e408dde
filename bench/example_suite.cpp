// The examples' kernels against copies of as many bytes.
#include "bench/example_row.h"
#include "bench/row_suite.h"

namespace tilewright::bench {
namespace {

SuiteTable example_table() {
  SuiteTable table{.suite = "kernels",
                   .rows = {},
                   .hand_set = example_configs(),
                   .computed = {"default", "model"},
                   .always_computed = true,
                   .rival_is_floor = true,
                   .torch_peers = true};
  for (const ExampleRow& row : example_rows()) {
    const bool bytes = row.operations == 0;
    table.rows.push_back({.name = row.name,
                          .work = bytes ? static_cast<double>(row.moved_bytes()) : row.operations,
                          .unit = bytes ? "GB/s" : "TFLOP/s",
                          .want = row.want});
  }
  return table;
}

}  // namespace

void run_example_suite(const SuiteOptions& options, Report& report) {
  run_rows(example_table(), options, report);
}

int compile_example_suite(const SuiteOptions& options) {
  return compile_rows(example_table(), options);
}

}  // namespace tilewright::bench
