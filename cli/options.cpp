#include "cli/options.h"

#include <CLI/CLI.hpp>

#include <list>

#include "tilewright/autotune/registry.h"
#include "tilewright/ir/error.h"
#include "tilewright/runtime/shared_library.h"

namespace tilewright::cli {

void KernelOptions::add_to(CLI::App& command) {
  command.add_option("kernel", kernel, "Name of a registered kernel (see list)")->required();
  command.add_option("arguments", arguments,
                     "One for each parameter: 'f32[8,8]', 'f32[8,8]:[16,1]@4', file.npy, f32=2.5");
  command.add_option("--config", config,
                     "Tile sizes and more as JSON, e.g. {\"block\":[64,64,16]}");
  add_libraries_to(command);
}

void KernelOptions::add_libraries_to(CLI::App& command) {
  command.add_option("--load", libraries, "Shared library with kernels of yours; may be repeated")
      ->allow_extra_args(false);
}

void KernelOptions::load_libraries() const {
  // Never closed: the registry keeps their code.
  static std::list<runtime::SharedLibrary> loaded;
  for (const std::string& library : libraries) {
    const std::string path = library.find('/') == std::string::npos ? "./" + library : library;
    std::string problem;
    loaded.push_back(runtime::SharedLibrary::open(path, problem));
    if (!loaded.back()) raise(ErrorId::load_library, {}, library, problem);
  }
}

KernelHandle KernelOptions::find_kernel() const {
  load_libraries();
  return tilewright::find_kernel(kernel);
}

std::vector<Argument> KernelOptions::parsed_arguments() const {
  std::vector<Argument> parsed;
  for (const std::string& argument : arguments) parsed.push_back(parse_argument(argument));
  return parsed;
}

std::optional<Config> KernelOptions::parsed_config() const {
  if (config.empty()) return std::nullopt;
  return parse_config(config);
}

}  // namespace tilewright::cli
