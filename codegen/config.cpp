#include "tilewright/codegen/config.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "tilewright/codegen/config_fields.h"
#include "tilewright/ir/error.h"

namespace tilewright {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kCopyKinds[] = {"sync", "cp_async", "tma"};
constexpr std::string_view kMatrixUnits[] = {"fma", "mma", "wgmma"};

constexpr size_t kShown = 60;  // characters of a wrong value

std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() <= kShown ? text : text.substr(0, kShown) + "..";
}

[[noreturn]] void bad_field(std::string_view field, std::string_view expected, const Json& found) {
  raise(ErrorId::config_field, {}, field, expected, shown(found));
}

/// The value when it is an integer an int64_t holds.
std::optional<int64_t> integer_of(const Json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX) return std::nullopt;
  return value.get<int64_t>();
}

void read(std::string_view field, const Json& json, int& out) {
  const std::optional<int64_t> value = integer_of(json);
  if (!value || *value > INT32_MAX || *value < INT32_MIN)
    bad_field(field, codegen::expected_value(field), json);
  out = static_cast<int>(*value);
}

void read(std::string_view field, const Json& json, bool& out) {
  if (!json.is_boolean()) bad_field(field, "true or false", json);
  out = json.get<bool>();
}

template <class Integer>
void read(std::string_view field, const Json& json, std::vector<Integer>& out) {
  if (!json.is_array()) bad_field(field, codegen::expected_value(field), json);
  out.clear();
  for (const Json& item : json) {
    const std::optional<int64_t> value = integer_of(item);
    if (!value || *value != static_cast<Integer>(*value))
      bad_field(field, codegen::expected_value(field), json);
    out.push_back(static_cast<Integer>(*value));
  }
}

void read(std::string_view field, const Json& json, std::map<std::string, int64_t>& out) {
  if (!json.is_object()) bad_field(field, codegen::expected_value(field), json);
  out.clear();
  for (const auto& [name, item] : json.items()) {
    const std::optional<int64_t> value = integer_of(item);
    if (!value) bad_field(field, codegen::expected_value(field), json);
    out[name] = *value;
  }
}

template <class Enum, size_t N>
void read_name(std::string_view field, const Json& json, const std::string_view (&names)[N],
               Enum& out) {
  if (json.is_string())
    for (size_t i = 0; i < N; ++i)
      if (json.get_ref<const std::string&>() == names[i]) {
        out = static_cast<Enum>(i);
        return;
      }
  bad_field(field, fmt::format("one of {}", fmt::join(names, ", ")), json);
}

void read(std::string_view field, const Json& json, CopyKind& out) {
  read_name(field, json, kCopyKinds, out);
}

void read(std::string_view field, const Json& json, MatrixUnit& out) {
  read_name(field, json, kMatrixUnits, out);
}

Json json_of(CopyKind kind) { return to_string(kind); }
Json json_of(MatrixUnit unit) { return to_string(unit); }
template <class T>
Json json_of(const T& value) {
  return value;
}

/// Parses, refusing a field given twice (which the parser would take the last of).
Json parse_object(std::string_view text) {
  std::set<std::string> seen;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::key && depth == 1 &&
        !seen.insert(parsed.get<std::string>()).second)
      raise(ErrorId::config_json, {}, "field " + shown(parsed) + " is given twice");
    return true;
  };
  try {
    Json json = Json::parse(text, watch);
    if (!json.is_object()) raise(ErrorId::config_json, {}, "found " + shown(json));
    return json;
  } catch (const Json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 3: .."
    const std::string_view what = error.what();
    const size_t end = what.find("] ");
    raise(ErrorId::config_json, {}, end == what.npos ? what : what.substr(end + 2));
  }
}

}  // namespace

std::string_view to_string(CopyKind kind) { return kCopyKinds[static_cast<int>(kind)]; }
std::string_view to_string(MatrixUnit unit) { return kMatrixUnits[static_cast<int>(unit)]; }

std::string to_json(const Config& config) {
  Json json = Json::object();
  const Config defaults;
  codegen::for_each_field([&](std::string_view field, auto member) {
    if (field == "block" || config.*member != defaults.*member)
      json[std::string(field)] = json_of(config.*member);
  });
  return json.dump();
}

Config parse_config(std::string_view text) {
  const Json json = parse_object(text);
  Config config;
  for (const auto& [key, value] : json.items()) {
    bool known = false;
    codegen::for_each_field([&](std::string_view field, auto member) {
      if (key != field) return;
      known = true;
      read(field, value, config.*member);
    });
    if (!known) {
      std::vector<std::string_view> fields;
      codegen::for_each_field([&](std::string_view field, auto) { fields.push_back(field); });
      raise(ErrorId::config_unknown_field, {}, key, fmt::join(fields, ", "));
    }
  }
  codegen::check_fields(config);
  return config;
}

}  // namespace tilewright
