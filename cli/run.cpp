// `tilewright run`: runs a kernel on real or random tensors.
#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "cli/bind.h"
#include "cli/commands.h"
#include "cli/compare.h"
#include "cli/npy.h"
#include "cli/options.h"
#include "tilewright/autotune/registry.h"
#include "tilewright/ir/error.h"

namespace tilewright::cli {
namespace {

struct RunOptions {
  KernelOptions kernel;
  std::string device, architecture, compile_flags;
  bool check = false;
  std::string out;
  uint64_t seed = 1;
};

// A tensor that a run leaves behind, on the CPU.
struct Output {
  std::string name;
  Array array;
};

// What the kernel returns, then the tensors it was given, which it may have written.
struct RunResult {
  std::vector<Output> results;
  std::vector<Output> arguments;
  double milliseconds = 0;
};

RunResult run_on(const KernelHandle& kernel, const std::vector<Argument>& arguments, Device device,
                 uint64_t seed) {
  const LaunchArguments launch(kernel, arguments, device, seed);
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Array> results = kernel.call(launch.args());
  synchronize(device);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;

  RunResult run;
  run.milliseconds = took.count();
  for (const Array& result : results)
    run.results.push_back({fmt::format("result {}", run.results.size()), result.to_host()});
  for (const LaunchArguments::NamedTensor& tensor : launch.tensors())
    run.arguments.push_back({tensor.name, elements_of(tensor.tensor.view)});
  return run;
}

// Prints one line; whether they agree.
bool compare_output(const Output& result, const Output& reference, std::string_view with) {
  const Comparison found = compare(result.array, reference.array);
  fmt::print("{} compared with {}: ", result.name, with);
  if (found.different == 0) {
    fmt::print("ok, largest difference {:.3g}\n", found.largest);
    return true;
  }
  fmt::print("{} of {} elements differ; element {} is {} instead of {} (allowed: {:.3g})\n",
             found.different, reference.array.elements(), found.where,
             result.array.value(found.where), reference.array.value(found.where), found.allowed);
  return false;
}

bool compare_runs(const RunResult& run, const RunResult& reference, std::string_view with) {
  bool same = true;
  for (size_t i = 0; i < reference.results.size(); ++i)
    same &= compare_output(run.results[i], reference.results[i], with);
  for (size_t i = 0; i < reference.arguments.size(); ++i)
    same &= compare_output(run.arguments[i], reference.arguments[i], with);
  return same;
}

// On the CPU there is only the interpreter, so the tile sizes are what can be changed.
bool check(const KernelHandle& kernel, const std::vector<Argument>& arguments,
           const RunOptions& options, const RunResult& run, Device device) {
  kernel.set_config(std::nullopt);
  if (!device.is_cpu())
    return compare_runs(run, run_on(kernel, arguments, Device::cpu(), options.seed),
                        "the interpreter");
  const std::shared_ptr<const ir::Function> traced =
      kernel.trace(compile_arguments(kernel, arguments, DynamicSizes::allowed));
  Config other;
  for (const ir::Axis& axis : traced->axes)
    if (axis.block == 0) other.block.push_back(other.block.size() % 2 == 0 ? 5 : 11);
  kernel.set_config(other);
  return compare_runs(run, run_on(kernel, arguments, device, options.seed),
                      fmt::format("tiles of [{}]", fmt::join(other.block, ",")));
}

void write(const Array& array, const std::string& path) {
  NpyArray file{array.dtype(), {array.sizes().begin(), array.sizes().end()}, false, {}};
  const auto* data = static_cast<const std::byte*>(array.data());
  file.data.assign(data, data + array.bytes());
  write_npy(path, file);
  fmt::print("wrote {}\n", path);
}

// FILE.npy for one result, FILE_0.npy, FILE_1.npy, .. for several.
void write_results(const std::vector<Output>& results, const std::string& path) {
  if (results.size() == 1) return write(results[0].array, path);
  const std::string stem = path.ends_with(".npy") ? path.substr(0, path.size() - 4) : path;
  for (size_t i = 0; i < results.size(); ++i)
    write(results[i].array, fmt::format("{}_{}.npy", stem, i));
}

Device device_of(const RunOptions& options) {
  if (options.device == "emulate" && !options.architecture.empty())
    return Device::emulate(options.architecture);
  return options.device.empty() ? default_device() : parse_device(options.device);
}

void run(const RunOptions& options) {
  const Device device = device_of(options);
  for (const auto& [option, value] :
       {std::pair{"--arch", options.architecture}, {"--compile-flags", options.compile_flags}})
    if (!value.empty() && !device.is_emulator())
      raise(ErrorId::argument_syntax, {}, option, "it goes with --device emulate only");
  if (!options.compile_flags.empty())
    ::setenv("TILEWRIGHT_EMULATOR_FLAGS", options.compile_flags.c_str(), /*overwrite=*/1);
  const KernelHandle kernel = options.kernel.find_kernel();
  const std::vector<Argument> arguments = options.kernel.parsed_arguments();
  check_one_definition(kernel.name(), compile_arguments(kernel, arguments, DynamicSizes::allowed));
  kernel.set_config(options.kernel.parsed_config());
  const RunResult run = run_on(kernel, arguments, device, options.seed);
  fmt::print("{} on {}: {:.3g} ms with compiling\n", kernel.name(), to_string(device),
             run.milliseconds);
  // A kernel that returns nothing has written to its arguments.
  const std::vector<Output>& outputs = run.results.empty() ? run.arguments : run.results;
  for (const Output& output : outputs) fmt::print("{}: {}\n", output.name, output.array);
  if (!options.out.empty()) write_results(outputs, options.out);
  if (options.check && !check(kernel, arguments, options, run, device))
    raise(ErrorId::results_differ, {}, kernel.name());
}

}  // namespace

void add_run(CLI::App& app) {
  CLI::App* command = app.add_subcommand("run", "Runs a kernel on files or random tensors");
  const auto options = std::make_shared<RunOptions>();
  options->kernel.add_to(*command);
  command->add_option(
      "--device", options->device,
      "cpu, cuda:N, or emulate to run the printed CUDA on the CPU and check it; else the "
      "GPU if there is one");
  command->add_option("--arch", options->architecture,
                      "With --device emulate: the architecture to print for, sm_80 by default");
  command->add_option("--compile-flags", options->compile_flags,
                      "With --device emulate: more flags for the C++ compiler, e.g. "
                      "-O0,-fsanitize=address");
  command->add_flag("--check", options->check,
                    "Compare with the interpreter (on the CPU: with other tile sizes)");
  command->add_option("--out", options->out, "Write the results to this .npy file");
  command->add_option("--seed", options->seed, "Of the random contents")->capture_default_str();
  command->callback([options] { run(*options); });
}

}  // namespace tilewright::cli
