#include "tilewright/codegen/tunables.h"

#include <fmt/format.h>

#include <algorithm>

#include "tilewright/ir/error.h"

namespace tilewright::codegen {

void check_tunables(const Config& config, const ir::Function& fn) {
  for (const auto& [name, value] : config.tunables) {
    const auto known = std::find_if(fn.tunables.begin(), fn.tunables.end(),
                                    [&](const ir::Tunable& t) { return t.name == name; });
    if (known == fn.tunables.end()) {
      std::vector<std::string> names;
      for (const ir::Tunable& tunable : fn.tunables) names.push_back(tunable.name);
      raise(ErrorId::config_tunable_unknown, fn.loc, fn.name, name,
            names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
    }
    const auto& values = known->values;
    if (std::find(values.begin(), values.end(), value) == values.end())
      raise(ErrorId::config_tunable_value, fn.loc, name, fn.name, fmt::join(values, ", "), value);
    if (known->value != value)
      throw InternalError(fmt::format("kernel {} was traced for {} = {}, and is compiled for {}",
                                      fn.name, name, known->value, value));
  }
}

}  // namespace tilewright::codegen
