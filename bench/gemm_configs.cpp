#include "bench/gemm_configs.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

namespace tilewright::bench {
namespace {

using Json = nlohmann::json;

// The first that matches a row counts; rows without any run the default. Found by sweeps on an
// H200.
constexpr const char* kHandSet = R"([
  {"shape":"f32 1000x*",
   "config":{"block":[64,64,16],"warps":2,"stages":4,"group":8}},
  {"shape":"f32 1024x*",
   "config":{"block":[64,64,16],"warps":2,"stages":4,"group":8}},
  {"shape":"f32 4095x*",
   "config":{"block":[256,128,32],"warps":8,"stages":3,"group":4}},
  {"shape":"f32 *",
   "config":{"block":[128,256,32],"warps":8,"stages":3,"group":8}},
  {"shape":"bf16 mma *",
   "config":{"block":[128,128,32],"warps":4,"stages":4,"matrix":"mma","group":16,"blocks_per_sm":2}},
  {"shape":"*f16 unaligned 1001x*",
   "config":{"block":[64,128,64],"warps":4,"stages":4,"copy":"tma","matrix":"wgmma","repitch":true}},
  {"shape":"*f16 unaligned 409*",
   "config":{"block":[128,256,64],"warps":8,"stages":3,"copy":"tma","matrix":"wgmma","persistent":true,"group":8,"repitch":true}},
  {"shape":"*f16 nn 512x512x512",
   "config":{"block":[64,32,64],"warps":4,"stages":8,"copy":"tma","matrix":"wgmma"}},
  {"shape":"*f16 nn 1024x1024x1024",
   "config":{"block":[64,128,64],"warps":4,"stages":8,"copy":"tma","matrix":"wgmma","group":8}},
  {"shape":"*f16 nn 1000x*",
   "config":{"block":[64,128,128],"warps":4,"stages":4,"copy":"tma","matrix":"wgmma","group":8}},
  {"shape":"*f16 nn 2048x*",
   "config":{"block":[128,256,64],"warps":8,"stages":4,"copy":"tma","matrix":"wgmma","group":2}},
  {"shape":"*f16 nn 4096x4096x4096",
   "config":{"block":[128,256,64],"warps":8,"stages":4,"copy":"tma","matrix":"wgmma","persistent":true,"cluster":2,"group":4}},
  {"shape":"*f16 nn 16384x*",
   "config":{"block":[128,128,64],"warps":4,"turns":2,"stages":6,"copy":"tma","matrix":"wgmma","persistent":true,"cluster":2,"group":16}},
  {"shape":"*f16 nn 8192x8192x1024",
   "config":{"block":[128,128,64],"warps":4,"turns":2,"stages":6,"copy":"tma","matrix":"wgmma","persistent":true,"cluster":2,"group":16}},
  {"shape":"bf16 bias+gelu 8192x*",
   "config":{"block":[128,128,64],"warps":4,"turns":2,"stages":6,"copy":"tma","matrix":"wgmma","persistent":true,"cluster":2,"group":8}},
  {"shape":"*f16 nn 8192x1024x8192",
   "config":{"block":[128,256,64],"warps":8,"stages":4,"copy":"tma","matrix":"wgmma","persistent":true,"cluster":2,"group":8}},
  {"shape":"*f16 skinny 1x14336*",
   "config":{"block":[8,128,128],"warps":4,"stages":4,"copy":"tma","matrix":"wgmma"}},
  {"shape":"*f16 skinny 1x*",
   "config":{"block":[8,64,128],"warps":4,"stages":8,"copy":"tma","matrix":"wgmma"}},
  {"shape":"*f16 skinny 16x14336*",
   "config":{"block":[16,128,128],"warps":4,"stages":4,"copy":"tma","matrix":"wgmma"}},
  {"shape":"*f16 skinny 16x*",
   "config":{"block":[16,64,128],"warps":4,"stages":6,"copy":"tma","matrix":"wgmma"}},
  {"shape":"*f16 skinny 64x4096*",
   "config":{"block":[64,64,128],"warps":4,"stages":5,"copy":"tma","matrix":"wgmma","split_k":2}},
  {"shape":"*f16 skinny 64x14336*",
   "config":{"block":[64,128,64],"warps":4,"stages":5,"copy":"tma","matrix":"wgmma","cluster":2,"order":[1,0]}},
  {"shape":"*f16 skinny 64x*",
   "config":{"block":[64,64,128],"warps":4,"stages":5,"copy":"tma","matrix":"wgmma"}},
  {"shape":"*f16 skinny 128x4096*",
   "config":{"block":[128,64,64],"warps":8,"stages":7,"copy":"tma","matrix":"wgmma","split_k":2}},
  {"shape":"*f16 skinny 128x14336*",
   "config":{"block":[128,128,64],"warps":8,"stages":6,"copy":"tma","matrix":"wgmma"}},
  {"shape":"*f16 skinny 128x*",
   "config":{"block":[128,64,64],"warps":8,"stages":6,"copy":"tma","matrix":"wgmma"}},
  {"shape":"*f16 deep 512x*",
   "config":{"block":[128,128,64],"warps":8,"stages":5,"copy":"tma","matrix":"wgmma","split_k":4}},
  {"shape":"*f16 deep 256x*",
   "config":{"block":[128,64,64],"warps":4,"stages":6,"copy":"tma","matrix":"wgmma","split_k":8}},
  {"shape":"bf16 batched *",
   "config":{"block":[128,128,64],"warps":4,"turns":2,"stages":6,"copy":"tma","matrix":"wgmma","persistent":true}},
  {"shape":"bf16 grouped *",
   "config":{"block":[128,256,64],"warps":8,"stages":4,"copy":"tma","matrix":"wgmma","persistent":true,"group":8}},
  {"shape":"bf16 x *",
   "config":{"block":[16,128,128],"warps":8,"stages":4,"copy":"tma","matrix":"wgmma","split_k":2}},
  {"shape":"*f16 *",
   "config":{"block":[128,256,64],"warps":8,"stages":4,"copy":"tma","matrix":"wgmma","persistent":true,"cluster":2,"group":8}},
  {"shape":"f8e4m3 fast 8192x*",
   "config":{"block":[128,256,128],"warps":8,"stages":3,"copy":"tma","matrix":"wgmma","persistent":true,"group":8}},
  {"shape":"f8e4m3 fast 4096x4096x*",
   "config":{"block":[128,128,128],"warps":4,"turns":2,"stages":6,"copy":"tma","matrix":"wgmma","persistent":true,"cluster":2,"group":8}},
  {"shape":"f8e4m3 fast *",
   "config":{"block":[128,256,128],"warps":8,"stages":4,"copy":"tma","matrix":"wgmma","persistent":true,"cluster":2,"group":8}},
  {"shape":"i8 *",
   "config":{"block":[128,256,128],"warps":8,"stages":4,"copy":"tma","matrix":"wgmma","persistent":true,"cluster":2,"group":8}},
  {"shape":"tf32x3 *",
   "config":{"block":[128,256,32],"warps":8,"stages":4,"copy":"tma","matrix":"wgmma","persistent":true,"group":8}},
  {"shape":"tf32 nn *",
   "config":{"block":[256,128,32],"warps":8,"stages":4,"copy":"tma","matrix":"wgmma","persistent":true,"group":8}},
  {"shape":"tf32 nt *",
   "config":{"block":[128,256,32],"warps":8,"stages":4,"copy":"tma","matrix":"wgmma","persistent":true,"cluster":2,"group":8}}
])";

Config config_of(const Json& json) { return parse_config(json.dump()); }

// All combinations of one alternative for each field.
void expand(const Json& grid, Json::const_iterator field, Json& chosen, const std::string& shape,
            std::vector<ConfigEntry>& entries) {
  if (field == grid.end()) {
    entries.push_back({shape, config_of(chosen)});
    return;
  }
  if (!field->is_array() || field->empty())
    throw std::runtime_error(
        fmt::format("\"{}\" in a grid must be a list of alternatives", field.key()));
  for (const Json& value : *field) {
    chosen[field.key()] = value;
    expand(grid, std::next(field), chosen, shape, entries);
  }
}

void add_element(const Json& element, std::vector<ConfigEntry>& entries) {
  if (!element.is_object())
    throw std::runtime_error("every element of a list of configs must be an object");
  if (!element.contains("shape") && !element.contains("grid") && !element.contains("configs")) {
    entries.push_back({"", config_of(element)});
    return;
  }
  const std::string shape = element.value("shape", "");
  for (const auto& [key, value] : element.items()) {
    if (key == "shape") continue;
    if (key == "config") {
      entries.push_back({shape, config_of(value)});
    } else if (key == "configs") {
      for (const Json& one : value) entries.push_back({shape, config_of(one)});
    } else if (key == "grid") {
      Json chosen = Json::object();
      expand(value, value.begin(), chosen, shape, entries);
    } else {
      throw std::runtime_error(
          fmt::format("\"{}\" beside \"shape\"; expected config, configs or grid", key));
    }
  }
}

}  // namespace

bool matches(std::string_view pattern, std::string_view name) {
  if (pattern.find('*') == std::string_view::npos)
    return name.find(pattern) != std::string_view::npos;
  // What stands before the first star is the name's beginning; the text between stars is looked for
  // from left to right; what stands after the last star is the name's end.
  const size_t first = pattern.find('*');
  if (!name.starts_with(pattern.substr(0, first))) return false;
  name.remove_prefix(first);
  pattern.remove_prefix(first + 1);
  for (size_t star; (star = pattern.find('*')) != std::string_view::npos;) {
    const size_t at = name.find(pattern.substr(0, star));
    if (at == std::string_view::npos) return false;
    name.remove_prefix(at + star);
    pattern.remove_prefix(star + 1);
  }
  return name.ends_with(pattern);
}

bool matches_any(std::string_view patterns, std::string_view name) {
  for (size_t comma; (comma = patterns.find(',')) != std::string_view::npos;) {
    if (matches(patterns.substr(0, comma), name)) return true;
    patterns.remove_prefix(comma + 1);
  }
  return matches(patterns, name);
}

std::vector<ConfigEntry> parse_config_entries(std::string_view json) {
  Json list;
  try {
    list = Json::parse(json);
  } catch (const Json::exception& error) {
    throw std::runtime_error(fmt::format("a list of configs is no JSON: {}", error.what()));
  }
  if (!list.is_array()) throw std::runtime_error("a list of configs must be a JSON array");
  std::vector<ConfigEntry> entries;
  for (const Json& element : list) add_element(element, entries);
  return entries;
}

std::vector<ConfigEntry> read_config_entries(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) throw std::runtime_error("cannot read " + path);
  try {
    return parse_config_entries(text.str());
  } catch (const std::exception& error) {
    throw std::runtime_error(fmt::format("{}: {}", path, error.what()));
  }
}

const std::vector<ConfigEntry>& hand_set_configs() {
  static const std::vector<ConfigEntry> entries = parse_config_entries(kHandSet);
  return entries;
}

std::optional<Config> config_for(const std::vector<ConfigEntry>& entries, std::string_view name) {
  const auto found =
      std::ranges::find_if(entries, [&](const ConfigEntry& e) { return matches(e.shape, name); });
  return found == entries.end() ? std::nullopt : std::optional(found->config);
}

std::vector<Config> configs_for(const std::vector<ConfigEntry>& entries, std::string_view name) {
  std::vector<Config> configs;
  for (const ConfigEntry& entry : entries)
    if (matches(entry.shape, name) && std::ranges::find(configs, entry.config) == configs.end())
      configs.push_back(entry.config);
  return configs;
}

}  // namespace tilewright::bench
