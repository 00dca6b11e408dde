// What `show` and `run` take both: a kernel, its arguments and a config.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "tilewright/autotune/kernel_handle.h"

namespace CLI {
class App;
}

namespace tilewright::cli {

struct KernelOptions {
  std::string kernel;
  std::vector<std::string> arguments;
  std::string config;                  ///< JSON; empty: the default
  std::vector<std::string> libraries;  ///< loaded first

  void add_to(CLI::App& command);
  /// Adds --load alone.
  void add_libraries_to(CLI::App& command);

  /// Loads the libraries, whose kernels register themselves. Raises load_library.
  void load_libraries() const;
  /// The kernel of that name, after loading. Raises load_library or unknown_kernel.
  KernelHandle find_kernel() const;
  std::vector<Argument> parsed_arguments() const;
  /// Raises the errors of parse_config.
  std::optional<Config> parsed_config() const;
};

}  // namespace tilewright::cli
