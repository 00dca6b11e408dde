// The fields of a config: their names, and the values that make sense for any kernel.
#pragma once

#include <string>
#include <string_view>

#include "tilewright/codegen/config.h"

namespace tilewright::codegen {

/// Calls visit(name, pointer to member) for every field, in the order in which they are printed.
template <class Visit>
void for_each_field(const Visit& visit) {
  visit("block", &Config::block);
  visit("order", &Config::order);
  visit("group", &Config::group);
  visit("warps", &Config::warps);
  visit("stages", &Config::stages);
  visit("copy", &Config::copy);
  visit("matrix", &Config::matrix);
  visit("vector", &Config::vector);
  visit("blocks_per_sm", &Config::blocks_per_sm);
  visit("persistent", &Config::persistent);
  visit("turns", &Config::turns);
  visit("cluster", &Config::cluster);
  visit("split_k", &Config::split_k);
  visit("repitch", &Config::repitch);
  visit("reduction_loop", &Config::reduction_loop);
  visit("tunables", &Config::tunables);
}

/// What a field that is a number or a list of numbers takes, in words.
std::string expected_value(std::string_view field);

/// Raises config_field when a number is outside of what its field takes.
void check_fields(const Config& config);

}  // namespace tilewright::codegen
