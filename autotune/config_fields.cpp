#include "tilewright/autotune/config_fields.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tilewright/ir/error.h"

namespace tilewright::tune {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kBlock = "block";

// The number in "block[2]"; -1 for other fields.
int block_number(const std::string& field) {
  if (!field.starts_with("block[")) return -1;
  return std::atoi(field.c_str() + kBlock.size() + 1);
}

}  // namespace

ConfigFields fields_of(const Config& config) {
  ConfigFields fields;
  const Json json = Json::parse(to_json(config));
  for (const auto& [name, value] : json.items()) {
    if (name != kBlock) {
      fields[name] = value.dump();
      continue;
    }
    for (size_t i = 0; i < value.size(); ++i) fields[fmt::format("block[{}]", i)] = value[i].dump();
  }
  return fields;
}

Config config_of(const ConfigFields& fields) {
  Json json{{kBlock, Json::array()}};
  for (const auto& [name, value] : fields) {
    const int number = block_number(name);
    if (number < 0) {
      json[name] = Json::parse(value);
    } else {
      Json& block = json[kBlock];
      while (block.size() <= static_cast<size_t>(number)) block.push_back(1);
      block[static_cast<size_t>(number)] = Json::parse(value);
    }
  }
  return parse_config(json.dump());
}

std::string default_value(const std::string& field) {
  const Config config;
  const std::map<std::string, std::string> values = {
      {"order", "as written"},
      {"group", fmt::to_string(config.group)},
      {"warps", fmt::to_string(config.warps)},
      {"stages", fmt::to_string(config.stages)},
      {"copy", std::string(to_string(config.copy))},
      {"matrix", std::string(to_string(config.matrix))},
      {"vector", fmt::to_string(config.vector)},
      {"blocks_per_sm", fmt::to_string(config.blocks_per_sm)},
      {"persistent", fmt::to_string(config.persistent)},
      {"turns", fmt::to_string(config.turns)},
      {"cluster", fmt::to_string(config.cluster)},
      {"split_k", fmt::to_string(config.split_k)},
      {"repitch", fmt::to_string(config.repitch)}};
  const auto it = values.find(field);
  return it == values.end() ? std::string() : it->second;
}

std::string field_title(const std::string& field, const ir::Function& fn) {
  int left = block_number(field);
  if (left < 0) return field;
  for (const ir::Axis& axis : fn.axes)
    if (axis.block == 0 && left-- == 0)
      return axis.name.empty() ? field : fmt::format("block {}", axis.name);
  return field;
}

}  // namespace tilewright::tune
