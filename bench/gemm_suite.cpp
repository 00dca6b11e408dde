// Matrix products against cuBLASLt.
#include <fmt/format.h>

#include <algorithm>

#include "bench/gemm_driver.h"
#include "bench/gemm_problem.h"
#include "bench/gemm_summary.h"
#include "bench/row_suite.h"

namespace tilewright::bench {
namespace {

SuiteTable gemm_table() {
  SuiteTable table{.suite = "gemm", .rows = {}, .hand_set = hand_set_configs()};
  for (const Problem& problem : gemm_problems()) {
    const double bytes = static_cast<double>(problem.bytes());
    table.rows.push_back({.name = problem.name,
                          .group = problem.group,
                          .rival = problem.rival,
                          .work = problem.bandwidth ? bytes : problem.operations(),
                          .unit = problem.bandwidth ? "TB/s" : "TFLOP/s",
                          .want = problem.least});
  }
  return table;
}

// Whether a row's rate is one of bytes, so that a copy's is wanted.
bool needs_copy_rate(const SuiteOptions& options) {
  return std::ranges::any_of(gemm_problems(), [&](const Problem& problem) {
    return problem.bandwidth &&
           (matches_any(options.only, problem.name) || matches_any(options.only, problem.group));
  });
}

}  // namespace

void run_gemm_suite(const SuiteOptions& options, Report& report) {
  const double copy_rate = needs_copy_rate(options) ? GemmDriver().copy_rate() : 0;
  run_rows(gemm_table(), options, report);
  const GemmSummary summary = summarize_gemm(report.rows(), copy_rate);
  report.attach("gemm", to_json(summary));
  fmt::print("\n{}\n", to_text(summary));
}

int compile_gemm_suite(const SuiteOptions& options) { return compile_rows(gemm_table(), options); }

}  // namespace tilewright::bench
