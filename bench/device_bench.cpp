// What kernels and launches cost on a GPU, ours and the peers' in one process, taking turns.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string_view>

#include "bench/counts.h"
#include "bench/gemm_configs.h"
#include "bench/gemm_session.h"
#include "bench/suites.h"
#include "tilewright/runtime/driver.h"
#include "tilewright/runtime/nvrtc.h"

namespace {

namespace tw = tilewright;

struct Options {
  std::string suite = "all", json, compile_only, architecture;
  bool run_counted = false;
  std::vector<std::string> measured_counts;
  tw::bench::SuiteOptions suites;
};

// An error's message where `read` throws.
template <class Read>
auto checked(const Read& read) {
  return [read](const std::string& text) {
    try {
      read(text);
      return std::string();
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
  };
}

void declare_products(CLI::App& app, Options& options) {
  const auto entries = checked(tw::bench::read_config_entries);
  app.add_option("--config", options.suites.configs,
                 "measure this config (JSON) in place of the hand-set one; may be repeated")
      ->take_all()
      ->expected(1)
      ->check(checked([](const std::string& json) { tw::parse_config(json); }));
  app.add_option("--configs", options.suites.config_file,
                 "products and kernels: a file of configs that go before the hand-set ones")
      ->check(entries);
  app.add_option("--sweep", options.suites.sweep_file,
                 "products and kernels: try all configs of this file that match a row, and measure "
                 "the fastest")
      ->check(entries);
  app.add_option("--peers", options.suites.torch_python,
                 "kernels: a Python with PyTorch, which is measured beside ours");
  app.add_option("--finalists", options.suites.finalists, "of a sweep, for each row")
      ->check(CLI::Range(0, 100))
      ->capture_default_str();
  app.add_flag("--defaults", options.suites.defaults,
               "products and kernels: the default configs too");
  app.add_flag("!--no-check", options.suites.check, "products and kernels: do not compare results");
  app.add_option("--budget", options.suites.budget,
                 "products and kernels: seconds after which no other row begins");
  app.add_option("--compile-seconds", options.suites.compile_seconds,
                 "products and kernels: for one config")
      ->capture_default_str();
  app.add_option("--compile-only", options.compile_only,
                 "products and kernels: only compile for this architecture (sm_90a); needs no GPU");
}

void declare(CLI::App& app, Options& options) {
  app.add_option("--suite", options.suite,
                 "gemm, kernels, memory, launch or all; counts: the emulator's")
      ->check(CLI::IsMember({"gemm", "kernels", "memory", "launch", "counts", "all"}))
      ->capture_default_str();
  app.add_option("--json", options.json, "also write the results to this file");
  app.add_flag("--quick", options.suites.quick,
               "fewer and shorter replays; of the memory suite fewer shapes");
  app.add_option("--only", options.suites.only,
                 "only shapes whose name contains this; for products and kernels patterns with "
                 "'*', separated by commas");
  app.add_option("--rounds", options.suites.race.rounds, "replays of each contestant")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  declare_products(app, options);
  app.add_option("--arch", options.architecture,
                 "counts: print kernels for this; the device's by default, or sm_90a");
  app.add_flag("--run", options.run_counted, "counts: launch the kernels once, for a profiler");
  app.add_option("--compare", options.measured_counts,
                 "counts: compare with this file of ncu --csv; may be repeated")
      ->check(CLI::ExistingFile);
}

// Why nothing can be measured here; empty when it can.
std::string missing() {
  const auto& driver = tw::runtime::driver_status();
  if (!driver.usable()) return "device_bench needs a GPU: " + driver.problem;
  const auto& nvrtc = tw::runtime::nvrtc_status();
  if (!nvrtc.problem.empty()) return "device_bench needs NVRTC: " + nvrtc.problem;
  return {};
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The counts of three kernels: emulated, or measured by a profiler around this, or compared.
int run_counts(const Options& options) {
  if (options.run_counted) {
    if (const std::string problem = missing(); !problem.empty()) {
      fmt::print(stderr, "{}\n", problem);
      return 2;
    }
    tw::bench::launch_counted_kernels();
    return 0;
  }
  const bool gpu = tw::runtime::driver_status().usable();
  const tw::Target target = !options.architecture.empty() ? tw::parse_target(options.architecture)
                            : gpu                         ? tw::runtime::device_target(0)
                                                          : tw::parse_target("sm_90a");
  const std::vector<tw::bench::KernelCounts> counts = tw::bench::emulated_counts(target);
  if (options.measured_counts.empty()) {
    fmt::print("{}\n", tw::bench::to_json(counts));
    fmt::print(stderr, "ncu --metrics {}\n", tw::bench::ncu_metrics());
    return 0;
  }
  tw::bench::Metrics metrics;
  for (const std::string& path : options.measured_counts)
    tw::bench::read_ncu_csv(text_of(path), metrics);
  const tw::bench::CountComparison comparison = tw::bench::compare_counts(counts, metrics);
  fmt::print("{}", comparison.text);
  return comparison.equal ? 0 : 1;
}

int run(Options& options) {
  const tw::runtime::ContextScope context(0);
  options.suites.target = tw::runtime::device_target(0);
  tw::bench::Report report(tw::bench::describe_machine(), options.json);
  const auto wanted = [&](std::string_view suite) {
    return options.suite == "all" || options.suite == suite;
  };
  if (wanted("gemm")) tw::bench::run_gemm_suite(options.suites, report);
  if (wanted("kernels")) tw::bench::run_example_suite(options.suites, report);
  if (wanted("memory"))
    tw::bench::run_memory_suite(options.suites, tw::bench::DeviceKernels(), report);
  if (wanted("launch")) tw::bench::run_launch_suite(options.suites, report);
  if (report.problems() > 0) fmt::print("\nProblems: {}.\n", report.problems());
  return report.problems() > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--worker") {
    tw::bench::serve_gemm();
    return 0;
  }
  CLI::App app("Measures Tilewright's kernels and launches on a GPU.", "device_bench");
  Options options;
  declare(app, options);
  CLI11_PARSE(app, argc, argv);
  if (options.suites.quick) {
    if (app.count("--rounds") == 0) options.suites.race.rounds = 5;
    options.suites.race.replay_us = 2000;
  }
  try {
    if (options.suite == "counts") return run_counts(options);
    if (!options.compile_only.empty()) {
      options.suites.target = tw::parse_target(options.compile_only);
      const bool kernels = options.suite == "kernels";
      const int failed = kernels ? tw::bench::compile_example_suite(options.suites)
                                 : tw::bench::compile_gemm_suite(options.suites);
      return failed > 0 ? 1 : 0;
    }
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
