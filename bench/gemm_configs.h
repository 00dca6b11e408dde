// Which config each product of the table is run with: the hand-set ones, and those of files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/codegen/config.h"

namespace tilewright::bench {

/// A config for the rows whose name matches `shape`.
struct ConfigEntry {
  std::string shape;
  Config config;
};

/// Whether a row's name matches: as a whole where the pattern has a '*' (which stands for any
/// text), else as a part of it. The empty pattern matches every name.
bool matches(std::string_view pattern, std::string_view name);
/// Whether one of some patterns, separated by commas, matches.
bool matches_any(std::string_view patterns, std::string_view name);

/// Reads a JSON list of configs. An element is a config, for every row; or {"shape": pattern} with
/// one of "config": a config, "configs": a list of them, or "grid": an object whose fields hold
/// lists of alternatives, for all combinations. Throws std::runtime_error, or what parse_config
/// raises.
std::vector<ConfigEntry> parse_config_entries(std::string_view json);
/// The same from a file.
std::vector<ConfigEntry> read_config_entries(const std::string& path);

/// The best configs known by hand.
const std::vector<ConfigEntry>& hand_set_configs();
/// That of the first entry that matches.
std::optional<Config> config_for(const std::vector<ConfigEntry>& entries, std::string_view name);
/// Those of all entries that match, each once.
std::vector<Config> configs_for(const std::vector<ConfigEntry>& entries, std::string_view name);

}  // namespace tilewright::bench
