// What kernels and launches cost on a GPU, ours and the peers' in one process, taking turns.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "bench/suites.h"
#include "tilewright/runtime/driver.h"
#include "tilewright/runtime/nvrtc.h"

namespace {

namespace tw = tilewright;

struct Options {
  std::string suite = "all", json;
  tw::bench::SuiteOptions suites;
};

void declare(CLI::App& app, Options& options) {
  app.add_option("--suite", options.suite, "gemm, memory, launch or all")
      ->check(CLI::IsMember({"gemm", "memory", "launch", "all"}))
      ->capture_default_str();
  app.add_option("--json", options.json, "also write the results to this file");
  app.add_flag("--quick", options.suites.quick, "fewer shapes, fewer replays");
  app.add_option("--only", options.suites.only, "only shapes whose name contains this");
  app.add_option("--config", options.suites.configs,
                 "measure this config (JSON) in place of the hand-set one; may be repeated")
      ->take_all()
      ->expected(1)
      ->check([](const std::string& json) {
        try {
          tw::parse_config(json);
          return std::string();
        } catch (const std::exception& error) {
          return std::string(error.what());
        }
      });
  app.add_option("--rounds", options.suites.race.rounds, "replays of each contestant")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
}

// Why nothing can be measured here; empty when it can.
std::string missing() {
  const auto& driver = tw::runtime::driver_status();
  if (!driver.usable()) return "device_bench needs a GPU: " + driver.problem;
  const auto& nvrtc = tw::runtime::nvrtc_status();
  if (!nvrtc.problem.empty()) return "device_bench needs NVRTC: " + nvrtc.problem;
  return {};
}

int run(const Options& options) {
  const tw::runtime::ContextScope context(0);
  tw::bench::Report report(tw::bench::describe_machine(), options.json);
  const tw::bench::DeviceKernels kernels;
  const auto wanted = [&](std::string_view suite) {
    return options.suite == "all" || options.suite == suite;
  };
  if (wanted("gemm")) tw::bench::run_gemm_suite(options.suites, kernels, report);
  if (wanted("memory")) tw::bench::run_memory_suite(options.suites, kernels, report);
  if (wanted("launch")) tw::bench::run_launch_suite(options.suites, report);
  if (report.problems() > 0) fmt::print("\nProblems: {}.\n", report.problems());
  return report.problems() > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Measures Tilewright's kernels and launches on a GPU.", "device_bench");
  Options options;
  declare(app, options);
  CLI11_PARSE(app, argc, argv);
  if (options.suites.quick && app.count("--rounds") == 0) options.suites.race.rounds = 5;
  try {
    if (const std::string problem = missing(); !problem.empty()) {
      fmt::print(stderr, "{}\n", problem);
      return 2;
    }
    return run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "device_bench: {}\n", error.what());
    return 1;
  }
}
