#include "cli/cache_text.h"

#include <fmt/chrono.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/table.h"
#include "tilewright/ir/error.h"

namespace tilewright::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Status = tune::Trial::Status;

std::string microseconds_text(double value) {
  if (value <= 0) return "?";
  return value < 100 ? fmt::format("{:.3f} us", value) : fmt::format("{:.2f} us", value);
}

std::string error_text(double value) {
  return value < 0.1 ? fmt::format("{:.2g}", value) : fmt::format("{:.2f}", value);
}

std::string time_text(int64_t unix_time) {
  const auto seconds = static_cast<time_t>(unix_time);
  return fmt::format("{:%Y-%m-%d %H:%M}", fmt::localtime(seconds));
}

// Line breaks and tabs would spoil a table.
std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' '; }, ' ');
  return text;
}

Json json_of(const tune::Entry& entry) {
  Json json;
  json["id"] = entry.id;
  json["kernel"] = entry.key.kernel;
  json["tensors"] = tune::to_string(entry.key.specs);
  json["device"] = entry.key.machine.device;
  json["driver"] = entry.key.machine.driver;
  json["nvrtc"] = entry.key.machine.nvrtc;
  json["code"] = fmt::format("{:016x}", entry.key.code);
  json["family"] = entry.key.family;
  json["effort"] = entry.effort;
  json["trials"] = entry.trials;
  json["failed"] = entry.failed;
  json["time"] = entry.unix_time;
  if (entry.best)
    json["best"] = {{"config", Json::parse(to_json(entry.best->config))},
                    {"microseconds", entry.best->microseconds},
                    {"error", entry.best->error}};
  return json;
}

Json json_of(const tune::Trial& trial) {
  Json json;
  json["config"] = Json::parse(to_json(trial.config));
  json["status"] = to_string(trial.status);
  json["microseconds"] = trial.microseconds;
  json["error"] = trial.error;
  json["predicted"] = trial.predicted;
  json["samples"] = trial.samples;
  json["message"] = trial.message;
  json["time"] = trial.unix_time;
  return json;
}

std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

// The fastest first, failures last, each kind together.
bool comes_first(const tune::Trial& a, const tune::Trial& b) {
  if (a.status != b.status) return a.status < b.status;
  return a.status == Status::ok && a.microseconds < b.microseconds;
}

std::string header_of(const tune::Entry& entry) {
  const tune::Machine& machine = entry.key.machine;
  std::string text =
      fmt::format("{}: {} {}\n", entry.id, entry.key.kernel, tune::to_string(entry.key.specs));
  text += fmt::format("   on {}", machine.device);
  if (!machine.driver.empty()) text += fmt::format(", driver {}", machine.driver);
  if (!machine.nvrtc.empty()) text += fmt::format(", NVRTC {}", machine.nvrtc);
  text += fmt::format("\n   {} trials, {} failed", entry.trials, entry.failed);
  text += fmt::format(", {}, last at {}\n",
                      entry.effort.empty() ? "no search was finished"
                                           : fmt::format("a {} search was made", entry.effort),
                      time_text(entry.unix_time));
  if (entry.best)
    text += fmt::format("   best: {} at {} +- {}\n", to_json(entry.best->config),
                        microseconds_text(entry.best->microseconds), error_text(entry.best->error));
  return text;
}

}  // namespace

std::vector<tune::Entry> chosen_entries(tune::Store& store, const tune::EntryFilter& filter) {
  std::vector<tune::Entry> entries = store.entries(filter);
  std::vector<std::string> named;
  if (filter.id) named.push_back(std::to_string(*filter.id));
  for (const std::string& name : {filter.kernel, filter.device})
    if (!name.empty()) named.push_back(name);
  if (entries.empty() && !named.empty())
    raise(ErrorId::cache_entry, {}, store.path(), fmt::join(named, ", "));
  return entries;
}

std::string entries_text(std::span<const tune::Entry> entries) {
  Table table({{"id", true},
               {"kernel"},
               {"tensors"},
               {"device"},
               {"best", true},
               {"trials", true},
               {"failed", true},
               {"search"},
               {"last"},
               {"config"}});
  for (const tune::Entry& entry : entries)
    table.add({std::to_string(entry.id), entry.key.kernel, tune::to_string(entry.key.specs),
               entry.key.machine.device,
               entry.best ? microseconds_text(entry.best->microseconds) : "none",
               std::to_string(entry.trials), std::to_string(entry.failed),
               entry.effort.empty() ? "-" : entry.effort, time_text(entry.unix_time),
               entry.best ? to_json(entry.best->config) : "-"});
  return table.text();
}

std::string entries_json(std::span<const tune::Entry> entries) {
  Json json = Json::array();
  for (const tune::Entry& entry : entries) json.push_back(json_of(entry));
  return text_of(json);
}

std::string trials_text(std::span<const EntryTrials> all) {
  std::string text;
  for (const EntryTrials& one : all) {
    std::vector<tune::Trial> trials = one.trials;
    std::ranges::stable_sort(trials, comes_first);
    Table table({{"time", true},
                 {"+-", true},
                 {"predicted", true},
                 {"samples", true},
                 {"status"},
                 {"config"},
                 {"reason"}});
    for (const tune::Trial& trial : trials) {
      const bool ok = trial.status == Status::ok;
      table.add({ok ? microseconds_text(trial.microseconds) : "-",
                 ok ? error_text(trial.error) : "-", microseconds_text(trial.predicted),
                 std::to_string(trial.samples), std::string(to_string(trial.status)),
                 to_json(trial.config), one_line(trial.message)});
    }
    text += (text.empty() ? "" : "\n") + header_of(one.entry) + table.text();
  }
  return text;
}

std::string trials_json(std::span<const EntryTrials> all) {
  Json json = Json::array();
  for (const EntryTrials& one : all) {
    Json entry = json_of(one.entry);
    entry["all"] = Json::array();
    for (const tune::Trial& trial : one.trials) entry["all"].push_back(json_of(trial));
    json.push_back(std::move(entry));
  }
  return text_of(json);
}

KeptKernels kept(const std::string& folder) {
  KeptKernels kept;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".twc") {
      std::error_code ignored;
      const auto bytes = it->file_size(ignored);
      if (ignored) continue;
      ++kept.files;
      kept.bytes += static_cast<int64_t>(bytes);
    }
  return kept;
}

std::string size_text(int64_t bytes) {
  constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} bytes", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

std::string paths_text(const CachePaths& paths) {
  std::string text = fmt::format("folder            {}\n", paths.folder);
  for (size_t i = 0; i < paths.stores.size(); ++i)
    text += fmt::format("{:<16}  {}{}\n", i == 0 ? "your results" : "results, site",
                        paths.stores[i], fs::exists(paths.stores[i]) ? "" : " (not there yet)");
  text +=
      fmt::format("compiled kernels  {} in {} files, at most {}\n", size_text(paths.compiled.bytes),
                  paths.compiled.files, size_text(paths.capacity));
  return text;
}

std::string paths_json(const CachePaths& paths) {
  Json json;
  json["folder"] = paths.folder;
  json["store"] = paths.stores.empty() ? "" : paths.stores.front();
  json["site_stores"] = Json::array();
  for (size_t i = 1; i < paths.stores.size(); ++i) json["site_stores"].push_back(paths.stores[i]);
  json["compiled_files"] = paths.compiled.files;
  json["compiled_bytes"] = paths.compiled.bytes;
  json["capacity_bytes"] = paths.capacity;
  return text_of(json);
}

}  // namespace tilewright::cli
