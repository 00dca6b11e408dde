#include "bench/torch_peers.h"

#include <filesystem>
#include <nlohmann/json.hpp>

namespace tilewright::bench {

PeerTimes parse_peer_times(const std::string& line) {
  PeerTimes times;
  try {
    const nlohmann::json json = nlohmann::json::parse(line);
    for (const auto& [key, value] : json.items()) {
      if (value.is_number())
        times.us[key] = value.get<double>();
      else if (key.ends_with("problem"))
        times.problem += (times.problem.empty() ? "" : "; ") + value.get<std::string>();
    }
  } catch (const nlohmann::json::exception& error) {
    times.problem = error.what();
  }
  return times;
}

TorchPeers::TorchPeers(const std::string& python)
    : python_(python),
      script_(std::filesystem::read_symlink("/proc/self/exe").parent_path() / "peers_torch.py") {}

Command TorchPeers::command(const std::string& mode) const {
  return {{python_, script_, mode}, "/usr/bin/env"};  // which looks through PATH
}

void TorchPeers::prepare(std::span<const std::string> rows, int count) {
  run_jobs(rows, count, 120, command("--prepare"), [](size_t, const Answer&) {});
}

PeerTimes TorchPeers::measure(const std::string& row) {
  if (!worker_ || !worker_->alive()) worker_.emplace(command("--measure"));
  worker_->send(row);
  const std::optional<std::string> line = worker_->receive(90);
  if (!line) return {.us = {}, .problem = worker_->why()};
  return parse_peer_times(*line);
}

}  // namespace tilewright::bench
