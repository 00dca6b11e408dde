#include "tilewright/autotune/calibration.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tilewright/ir/error.h"

namespace tilewright::tune {
namespace {

using Json = nlohmann::ordered_json;

/// What a common part of an architecture reaches: memory in TB/s, products in Tera-operations a
/// second, as sustained under its power limit, not the peaks of its data sheet.
struct Typical {
  int sm;
  double copy, l2, l2_mib, clock_ghz;
  double f32, f64;                            // by fma
  double mma_half, mma_tf32, mma_f8, mma_i8;  // 0: the unit does not take it
  double wgmma_half, wgmma_tf32, wgmma_f8, wgmma_i8;
};

// sm_90: measured on an H200. Others: from published measurements and data sheets.
constexpr Typical kTypical[] = {
    {75, 0.26, 1.2, 4, 1.4, 7.5, 0.25, 55, 0, 0, 110, 0, 0, 0, 0},
    {80, 1.7, 4.8, 40, 1.4, 18.5, 9.2, 260, 130, 0, 500, 0, 0, 0, 0},
    {86, 0.85, 2.5, 6, 1.7, 28, 0.45, 70, 35, 0, 140, 0, 0, 0, 0},
    {87, 0.18, 0.6, 4, 1.2, 4, 0.06, 32, 16, 0, 64, 0, 0, 0, 0},
    {89, 0.88, 4.5, 72, 2.4, 75, 1.2, 165, 82, 330, 330, 0, 0, 0, 0},
    {90, 4.35, 7, 60, 1.75, 60, 30, 400, 185, 345, 700, 765, 390, 1540, 1480},
    {100, 6.8, 18, 126, 1.8, 72, 36, 600, 300, 600, 1200, 0, 0, 0, 0},
    {103, 6.8, 18, 126, 1.8, 72, 36, 600, 300, 600, 1200, 0, 0, 0, 0},
    {120, 1.6, 8, 96, 2.3, 95, 1.5, 380, 190, 700, 700, 0, 0, 0, 0},
    {121, 0.25, 2, 24, 2.3, 28, 0.45, 110, 55, 200, 200, 0, 0, 0, 0}};

constexpr double kLaunchUs = 1.2;

const Typical& typical_of(const Target& target) {
  const Typical* best = kTypical;
  for (const Typical& one : kTypical)
    if (one.sm <= target.sm) best = &one;
  return *best;
}

void add_rates(std::map<std::string, double>& rates, const std::string& unit, double half,
               double tf32, double f8, double i8) {
  const auto add = [&](const char* type, double tera) {
    if (tera > 0) rates[unit + " " + type] = tera * 1e6;
  };
  add("bf16", half);
  add("f16", half);
  add("tf32", tf32);
  add("f8", f8);
  add("i8", i8);
}

double number(const Json& json, const char* field) {
  const auto at = json.find(field);
  if (at == json.end() || !at->is_number() || !std::isfinite(at->get<double>()) ||
      at->get<double>() <= 0)
    raise(ErrorId::calibration_json, {}, fmt::format("\"{}\" must be a number above 0", field));
  return at->get<double>();
}

Json parse_object(std::string_view text) {
  try {
    Json json = Json::parse(text);
    if (json.is_object()) return json;
  } catch (const Json::exception&) {
    // Told below.
  }
  raise(ErrorId::calibration_json, {}, "it is no JSON object");
}

/// The fields that are numbers, by name.
template <class Self, class Visit>
void for_each_number(Self& calibration, const Visit& visit) {
  visit("copy_bytes_per_us", calibration.copy_bytes_per_us);
  visit("l2_bytes_per_us", calibration.l2_bytes_per_us);
  visit("l2_bytes", calibration.l2_bytes);
  visit("clocks_per_us", calibration.clocks_per_us);
  visit("launch_us", calibration.launch_us);
}

}  // namespace

Calibration Calibration::typical(const Target& target) {
  const Typical& one = typical_of(target);
  Calibration result;
  result.device = target.name();
  result.copy_bytes_per_us = one.copy * 1e6;
  result.l2_bytes_per_us = one.l2 * 1e6;
  result.l2_bytes = one.l2_mib * (1 << 20);
  result.clocks_per_us = one.clock_ghz * 1e3;
  result.launch_us = kLaunchUs;
  std::map<std::string, double>& rates = result.operations_per_us;
  rates["fma f32"] = one.f32 * 1e6;
  rates["fma f64"] = one.f64 * 1e6;
  rates["fma i32"] = one.f32 * 0.5e6;
  add_rates(rates, "mma", one.mma_half, one.mma_tf32, one.mma_f8, one.mma_i8);
  add_rates(rates, "wgmma", one.wgmma_half, one.wgmma_tf32, one.wgmma_f8, one.wgmma_i8);
  // A part with more or fewer multiprocessors computes more or less.
  Target common = parse_target(fmt::format("sm_{}", one.sm));
  const double share =
      static_cast<double>(target.multiprocessors) / static_cast<double>(common.multiprocessors);
  for (auto& [name, rate] : rates) rate *= share;
  result.l2_bytes_per_us *= share;
  return result;
}

double Calibration::rate(MatrixUnit unit, std::string_view type) const {
  const auto found = operations_per_us.find(fmt::format("{} {}", to_string(unit), type));
  if (found != operations_per_us.end()) return found->second;
  const auto f32 = operations_per_us.find("fma f32");
  return f32 != operations_per_us.end() ? f32->second : 1e6;
}

std::string to_json(const Calibration& calibration) {
  Json json = {{"device", calibration.device}, {"measured", calibration.measured}};
  for_each_number(calibration, [&](const char* name, double value) { json[name] = value; });
  for (const auto& [name, rate] : calibration.operations_per_us)
    json["operations_per_us"][name] = rate;
  return json.dump();
}

Calibration parse_calibration(std::string_view text) {
  const Json json = parse_object(text);
  Calibration result;
  const auto device = json.find("device"), measured = json.find("measured"),
             rates = json.find("operations_per_us");
  if (device == json.end() || !device->is_string() || measured == json.end() ||
      !measured->is_boolean())
    raise(ErrorId::calibration_json, {}, "\"device\" must be a name, \"measured\" true or false");
  result.device = device->get<std::string>();
  result.measured = measured->get<bool>();
  for_each_number(result, [&](const char* name, double& value) { value = number(json, name); });
  if (rates == json.end() || !rates->is_object() || !rates->contains("fma f32"))
    raise(ErrorId::calibration_json, {},
          "\"operations_per_us\" must be an object with \"fma f32\" in it");
  for (const auto& [name, rate] : rates->items())
    result.operations_per_us[name] = number(*rates, name.c_str());
  return result;
}

}  // namespace tilewright::tune
