// Numbers that a kernel leaves to the config.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

#include "tilewright/ir/loc.h"

namespace tilewright {

/// Values of tunables by name; those that are not there have their default.
using TunableValues = std::map<std::string, int64_t>;

/// A number known when the kernel is traced, which the config chooses among `values`
/// (`"tunables":{"split_k":4}`); the first is the default:
/// `const int64_t split = tw::tunable("split_k", {1, 2, 4, 8});`. Asked for again by the same name,
/// it is the same number. Errors: tunable_values, config_tunable_value.
int64_t tunable(std::string_view name, std::initializer_list<int64_t> values,
                Loc loc = Loc::current());

}  // namespace tilewright
