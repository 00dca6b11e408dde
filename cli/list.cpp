// `tilewright list`: the kernels that are registered.
#include <CLI/CLI.hpp>

#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "tilewright/autotune/registry.h"

namespace tilewright::cli {
namespace {

std::string described(const ParamInfo& param) {
  switch (param.kind) {
    case ParamKind::tensor:
      return param.name;
    case ParamKind::scalar:
      return fmt::format("{} {}", to_string(param.dtype), param.name);
    case ParamKind::constant:
      return fmt::format("number {}", param.name);
    case ParamKind::callable:
      return fmt::format("callable {}", param.name);
  }
  return {};
}

void list(const KernelOptions& options) {
  options.load_libraries();
  for (const KernelHandle& kernel : registered_kernels()) {
    std::vector<std::string> params;
    for (const ParamInfo& param : kernel.params()) params.push_back(described(param));
    fmt::print("{:<40} {}:{}\n", fmt::format("{}({})", kernel.name(), fmt::join(params, ", ")),
               std::filesystem::path(kernel.loc().file).filename().string(), kernel.loc().line);
  }
}

}  // namespace

void add_list(CLI::App& app) {
  CLI::App* command = app.add_subcommand("list", "The kernels that are registered");
  const auto options = std::make_shared<KernelOptions>();
  options->add_libraries_to(*command);
  command->callback([options] { list(*options); });
}

}  // namespace tilewright::cli
