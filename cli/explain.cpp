// `tilewright explain`: what a launch moves and computes, and how long that should take.
#include <CLI/CLI.hpp>

#include <memory>

#include "cli/bind.h"
#include "cli/commands.h"
#include "cli/explanation.h"
#include "cli/options.h"
#include "tilewright/autotune/choose_config.h"
#include "tilewright/autotune/registry.h"
#include "tilewright/runtime/driver.h"

namespace tilewright::cli {
namespace {

struct ExplainOptions {
  KernelOptions kernel;
  std::string arch, out;
  bool json = false;
};

bool has_gpu() { return runtime::driver_status().usable() && runtime::driver_status().devices > 0; }

/// Of an architecture that is named, typical figures; of a GPU, those it was measured with.
std::pair<Target, tune::Calibration> target_of(const std::string& arch) {
  if (!arch.empty() || !has_gpu()) {
    const Target target = parse_target(arch.empty() ? "sm_80" : arch);
    return {target, tune::Calibration::typical(target)};
  }
  const Target target = runtime::device_target(0);
  return {target, tune::known_calibration(tune::machine_of(Device::cuda(0), target), target)};
}

void explain_kernel(const ExplainOptions& options) {
  const KernelHandle kernel = options.kernel.find_kernel();
  const auto [target, calibration] = target_of(options.arch);
  const std::vector<CompileArg> arguments =
      compile_arguments(kernel, options.kernel.parsed_arguments());
  check_one_definition(kernel.name(), arguments);
  const std::shared_ptr<const ir::Function> traced = kernel.trace(arguments);
  std::optional<ir::Function> converted;
  if (!options.out.empty()) {
    DType dtype{};
    if (!parse_dtype(options.out, dtype))
      raise(ErrorId::argument_syntax, {}, "--out " + options.out, "it is no dtype");
    converted = with_result_dtype(*traced, dtype);
  }
  const Explanation explanation = explain(converted ? *converted : *traced,
                                          options.kernel.parsed_config(), target, calibration);
  fmt::print("{}\n", options.json ? to_json(explanation) : to_text(explanation));
}

}  // namespace

void add_explain(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("explain", "What a launch moves and computes, and how long that takes");
  const auto options = std::make_shared<ExplainOptions>();
  options->kernel.add_to(*command);
  command->add_option("--arch", options->arch,
                      "Architecture such as sm_80; else the GPU's, sm_80 without one");
  command->add_option("--out", options->out, "Dtype of the results, in place of the kernel's");
  command->add_flag("--json", options->json, "As JSON");
  command->callback([options] { explain_kernel(*options); });
}

}  // namespace tilewright::cli
