#include "tilewright/autotune/pins.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "tilewright/ir/error.h"
#include "tilewright/runtime/file.h"

namespace tilewright::tune {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "tilewright-pins";
constexpr int64_t kVersion = 1;

Json json_of(const Pin& pin) {
  Json json;
  json["kernel"] = pin.key.kernel;
  json["tensors"] = to_string(pin.key.specs);
  json["device"] = pin.key.machine.device;
  json["config"] = Json::parse(to_json(pin.config));
  if (pin.microseconds > 0) {
    json["microseconds"] = pin.microseconds;
    json["error"] = pin.error;
  }
  if (!pin.effort.empty()) json["effort"] = pin.effort;
  if (!pin.key.machine.driver.empty()) json["driver"] = pin.key.machine.driver;
  if (!pin.key.machine.nvrtc.empty()) json["nvrtc"] = pin.key.machine.nvrtc;
  json["code"] = fmt::format("{:016x}", pin.key.code);
  json["family"] = pin.key.family;
  return json;
}

// The fields of one pin, with errors that say which pin and which field.
class PinReader {
 public:
  PinReader(const Json& json, const std::string& file, size_t index)
      : json_(json), file_(file), where_(fmt::format("pin {}", index + 1)) {
    if (!json.is_object()) fail("is no object");
  }

  Pin pin() const {
    Pin pin;
    pin.key.kernel = text("kernel", true);
    pin.key.specs = parse_specs(text("tensors", true), fmt::format("{}: {}", file_, where_));
    pin.key.machine = {text("device", true), text("driver", false), text("nvrtc", false)};
    pin.key.family = text("family", false);
    pin.key.code = code();
    pin.config = config();
    pin.microseconds = number("microseconds");
    pin.error = number("error");
    pin.effort = text("effort", false);
    pin.file = file_;
    return pin;
  }

 private:
  [[noreturn]] void fail(std::string_view problem) const {
    raise(ErrorId::pin_file, {}, file_, fmt::format("{} {}", where_, problem));
  }
  const Json* find(const char* field) const {
    const auto found = json_.find(field);
    return found != json_.end() ? &*found : nullptr;
  }
  std::string text(const char* field, bool needed) const {
    const Json* value = find(field);
    if (value == nullptr && !needed) return {};
    if (value == nullptr || !value->is_string()) fail(fmt::format("has no text '{}'", field));
    return value->get<std::string>();
  }
  double number(const char* field) const {
    const Json* value = find(field);
    if (value == nullptr) return 0;
    if (!value->is_number()) fail(fmt::format("has a '{}' that is no number", field));
    return value->get<double>();
  }
  uint64_t code() const {
    const std::string digits = text("code", false);
    uint64_t code = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (!digits.empty() && (error != std::errc() || end != digits.data() + digits.size()))
      fail("has a 'code' that is no hexadecimal number");
    return code;
  }
  Config config() const {
    const Json* value = find("config");
    if (value == nullptr) fail("has no 'config'");
    try {
      return parse_config(value->dump());
    } catch (const Error& error) {
      fail(fmt::format("has a config that is none: {}", error.message()));
    }
  }

  const Json& json_;
  const std::string& file_;
  std::string where_;
};

bool comes_first(const Pin& a, const Pin& b) {
  if (a.key.kernel != b.key.kernel) return a.key.kernel < b.key.kernel;
  if (a.key.machine.device != b.key.machine.device)
    return a.key.machine.device < b.key.machine.device;
  return to_string(a.key.specs) < to_string(b.key.specs);
}

}  // namespace

std::string to_json(std::span<const Pin> pins) {
  std::vector<Pin> sorted(pins.begin(), pins.end());
  std::ranges::stable_sort(sorted, comes_first);
  std::string text =
      fmt::format("{{\"format\":\"{}\",\"version\":{},\"pins\":[", kFormat, kVersion);
  for (size_t i = 0; i < sorted.size(); ++i)
    text += (i == 0 ? "\n" : ",\n") + json_of(sorted[i]).dump();
  return text + "\n]}\n";
}

std::vector<Pin> parse_pins(std::string_view text, const std::string& file) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto field = [&](const char* name) {
    return json.is_object() && json.contains(name) ? json[name] : Json();
  };
  if (field("format") != Json(kFormat) || !field("pins").is_array())
    raise(ErrorId::pin_file, {}, file,
          "this is no file of pinned configs, as 'tilewright cache export' writes them");
  if (field("version") != Json(kVersion))
    raise(ErrorId::pin_file, {}, file,
          fmt::format("version {} of pinned configs is not known to this Tilewright, which reads "
                      "version {}",
                      field("version").dump(), kVersion));
  std::vector<Pin> pins;
  for (const Json& pin : json["pins"]) pins.push_back(PinReader(pin, file, pins.size()).pin());
  return pins;
}

std::vector<Pin> read_pins(const std::string& file) {
  const auto text = runtime::read_file(file);
  if (!text) raise(ErrorId::pin_file, {}, file, "the file cannot be read");
  return parse_pins(*text, file);
}

std::vector<Pin> pins_of(std::span<const Entry> entries) {
  std::vector<Pin> pins;
  for (const Entry& entry : entries)
    if (entry.best)
      pins.push_back({entry.key,
                      entry.best->config,
                      entry.best->microseconds,
                      entry.best->error,
                      entry.effort,
                      {}});
  return pins;
}

const Pin* find_pin(std::span<const Pin> pins, const TuneKey& key) {
  const Pin* found = nullptr;
  for (const Pin& pin : pins) {
    if (pin.key.kernel != key.kernel || pin.key.machine.device != key.machine.device ||
        pin.key.specs != key.specs)
      continue;
    if (found == nullptr || found->key.code != key.code || pin.key.code == key.code) found = &pin;
  }
  return found;
}

}  // namespace tilewright::tune
