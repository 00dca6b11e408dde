// A config under a name.
#pragma once

#include <optional>
#include <string>

#include "tilewright/codegen/config.h"

namespace tilewright::bench {

/// A config to measure: the kernel's default where `config` is empty.
struct Variant {
  std::string name;
  std::optional<Config> config = {};
};

}  // namespace tilewright::bench
