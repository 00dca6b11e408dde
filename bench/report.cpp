#include "bench/report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "bench/peers.h"
#include "tilewright/runtime/driver.h"
#include "tilewright/runtime/nvrtc.h"

namespace tilewright::bench {
namespace {

void print_heading(const Row& row) {
  fmt::print("\n{:<40} {:<9} {:>11} {:>11} {:>7} {:>5} {:>6} {:>13} {:>11} {:>6} {:>6}  {}\n",
             row.suite, "config", "ours us", "peer us", "speed", "want", "+-%",
             row.unit.empty() ? "" : row.unit, "floor us", "of it", "error", "peer; config");
}

void print_row(const Row& row) {
  if (row.ours.replays == 0) {
    fmt::print("{:<40} {:<9} FAILED: {}\n", row.shape, row.config, row.problem);
    return;
  }
  const auto known = [](double value, int digits) {
    return value > 0 ? fmt::format("{:.{}f}", value, digits) : std::string("-");
  };
  fmt::print(
      "{:<40} {:<9} {:>11.3f} {:>11} {:>7} {:>5} {:>6.1f} {:>13} {:>11} {:>6} {:>6.2f}  {}; {}\n",
      row.shape, row.config, row.ours.median, known(row.theirs.median, 3), known(row.speed(), 3),
      known(row.want, 2), 100 * std::max(row.ours.spread, row.theirs.spread), known(row.rate(), 1),
      known(row.floor_us, 3), known(row.floor_us / row.ours.median, 3), row.error, row.peer,
      row.json);
  for (const auto& [name, us] : row.others)
    fmt::print("{:>50} {:>11} {:>11.3f} {:>7.3f}\n", name, "", us, us / row.ours.median);
  if (!row.problem.empty()) fmt::print("    PROBLEM: {}\n", row.problem);
}

nlohmann::json json_of(const Timing& timing) {
  return {{"median_us", timing.median},
          {"spread", timing.spread},
          {"calls", timing.calls},
          {"replays", timing.replays}};
}

nlohmann::json json_of(const Row& row) {
  nlohmann::json json = {{"suite", row.suite}, {"shape", row.shape}, {"config_name", row.config}};
  if (!row.json.empty()) json["config"] = nlohmann::json::parse(row.json);
  if (!row.problem.empty()) json["problem"] = row.problem;
  if (row.ours.replays == 0) return json;
  json["ours"] = json_of(row.ours);
  json["error_over_allowed"] = row.error;
  if (row.theirs.replays > 0) {
    json["peer"] = row.peer;
    json["peer_time"] = json_of(row.theirs);
    json["speed_over_peer"] = row.speed();
  }
  if (!row.unit.empty()) json["rate"] = {{"value", row.rate()}, {"unit", row.unit}};
  if (!row.others.empty()) json["other_peers_us"] = row.others;
  if (row.want > 0) json["want"] = row.want;
  if (row.floor_us > 0) {
    json["floor_us"] = row.floor_us;
    json["of_floor"] = row.floor_us / row.ours.median;
  }
  return json;
}

}  // namespace

Machine describe_machine() {
  const runtime::DeviceInfo& info = runtime::device_info(0);
  Machine machine;
  machine.device = fmt::format("{} (sm_{}{}, {} multiprocessors)", info.name, info.major,
                               info.minor, info.multiprocessors);
  machine.driver = "CUDA " + runtime::version_text(runtime::driver_status().version);
  machine.nvrtc = runtime::version_text(runtime::nvrtc_status().version);
  machine.cublas = cublas_version();
  machine.date = fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(std::time(nullptr)));
  machine.multiprocessors = info.multiprocessors;
  machine.l2_bytes = runtime::device_info(0).l2_bytes;
  return machine;
}

double Row::rate() const {
  const double scale = unit == "TFLOP/s" || unit == "TB/s" ? 1e-6 : 1e-3;  // of work a microsecond
  return unit.empty() ? 0 : scale * work / ours.median;
}

Report::Report(Machine machine, std::string json_path)
    : machine_(std::move(machine)), path_(std::move(json_path)) {
  fmt::print("{}; driver for {}; NVRTC {}; {}; L2 {:.0f} MiB; {}\n", machine_.device,
             machine_.driver, machine_.nvrtc,
             machine_.cublas.empty() ? "no cuBLASLt" : machine_.cublas,
             static_cast<double>(machine_.l2_bytes) / (1 << 20), machine_.date);
  fmt::print(
      "Medians of graph replays in turns, cold L2. speed: peer's time over ours. +-%: the wider "
      "spread\nof the two (deciles). of it: floor over ours. error: the largest, over what is "
      "allowed.\n");
  write_json();
}

void Report::add(Row row) {
  if (rows_.empty() || rows_.back().suite != row.suite) print_heading(row);
  print_row(row);
  std::fflush(stdout);
  rows_.push_back(std::move(row));
  write_json();
}

void Report::note(const std::string& text) {
  fmt::print("{}\n", text);
  notes_.push_back(text);
  write_json();
}

void Report::attach(const std::string& key, const std::string& json) {
  attached_.emplace_back(key, json);
  write_json();
}

void Report::problem(const std::string& text) {
  ++other_problems_;
  note("PROBLEM: " + text);
}

int Report::problems() const {
  const auto rows =
      std::ranges::count_if(rows_, [](const Row& row) { return !row.problem.empty(); });
  return other_problems_ + static_cast<int>(rows);
}

void Report::write_json() const {
  if (path_.empty()) return;
  nlohmann::json json = {{"device", machine_.device},
                         {"driver", machine_.driver},
                         {"nvrtc", machine_.nvrtc},
                         {"cublas", machine_.cublas},
                         {"date", machine_.date},
                         {"l2_bytes", machine_.l2_bytes},
                         {"notes", notes_}};
  json["rows"] = nlohmann::json::array();
  for (const Row& row : rows_) json["rows"].push_back(json_of(row));
  for (const auto& [key, text] : attached_) json[key] = nlohmann::json::parse(text);
  std::ofstream file(path_);
  file << json.dump(2) << "\n";
  if (!file) throw std::runtime_error("cannot write " + path_);
}

}  // namespace tilewright::bench
