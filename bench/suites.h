// The suites of device_bench. Each needs the context of device 0 current and adds rows to a report.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/device_kernels.h"
#include "bench/measure.h"
#include "bench/report.h"
#include "bench/variant.h"

namespace tilewright::bench {

/// What to measure and how carefully.
struct SuiteOptions {
  bool quick = false;                     ///< fewer replays, and of memory the main shapes only
  std::string only = {};                  ///< shapes whose name contains this
  std::vector<std::string> configs = {};  ///< JSON, in place of the hand-set ones
  RaceOptions race = {};
  // Of products and of kernels only:
  std::string config_file = {};   ///< a list of configs, before the hand-set ones
  std::string sweep_file = {};    ///< a list of configs to try, all that match a row
  bool defaults = false;          ///< the default config too
  bool check = true;              ///< compare results
  double budget = 1e9;            ///< seconds after which no further row begins
  std::string torch_python = {};  ///< of kernels: a Python that has PyTorch, which is measured too
  int finalists = 3;              ///< of a sweep, for each row: measured with full care
  double compile_seconds = 15;    ///< for one config
  Target target = {};             ///< what is compiled for

  bool wants(std::string_view shape, bool main_shape) const {
    return (main_shape || !quick) && shape.find(only) != std::string_view::npos;
  }
};

/// Matrix products against cuBLASLt: compiled by all cores first, then measured one after the other
/// by a child process; so that what crashes or hangs costs only itself.
void run_gemm_suite(const SuiteOptions& options, Report& report);
/// Only compiles them, which needs no GPU, and prints what the compiler says. Gives the number of
/// configs that do not compile.
int compile_gemm_suite(const SuiteOptions& options);
/// The examples' kernels against copies of as many bytes, in the same way.
void run_example_suite(const SuiteOptions& options, Report& report);
int compile_example_suite(const SuiteOptions& options);
/// Kernels that only move memory, against copies of as many bytes.
void run_memory_suite(const SuiteOptions& options, const DeviceKernels& kernels, Report& report);
/// What a launch costs the host, against cuLaunchKernel.
void run_launch_suite(const SuiteOptions& options, Report& report);

/// The hand-set config, or those the user gave; then the default.
std::vector<Variant> variants(const SuiteOptions& options, std::string_view hand);

/// A kernel of ours being measured for a shape: one contestant for each config that compiles.
struct Ours {
  Row row;
  Contestant contestant;  ///< empty where the row has a problem
};

/// Adds times to the rows of those that ran: `timings` as race() gave them for the contestants of
/// `ours` without a problem, in order. `theirs` is the peer's.
void finish_rows(std::vector<Ours>& ours, const std::vector<Timing>& timings, const Timing& theirs,
                 Report& report);

/// The contestants of those without a problem.
std::vector<Contestant> contestants_of(const std::vector<Ours>& ours);

/// Runs `body`, and keeps what it throws as the row's problem.
template <class Body>
void guarded(Row& row, const Body& body) {
  try {
    body();
  } catch (const std::exception& error) {
    row.problem = error.what();
  }
}

/// Says in the row when a result was wrong.
void judge(Row& row, const Verdict& verdict);

}  // namespace tilewright::bench
