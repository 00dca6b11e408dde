#include "bench/gemm_protocol.h"

#include <limits>
#include <nlohmann/json.hpp>

namespace tilewright::bench {
namespace {

using Json = nlohmann::json;

Json json_of(const std::optional<Config>& config) {
  return config ? Json::parse(to_json(*config)) : Json();
}
std::optional<Config> config_from(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return parse_config(json.dump());
}

Json json_of(const Timing& timing) {
  return {timing.median, timing.spread, timing.calls, timing.replays};
}
// JSON has no infinity and writes null.
double number_from(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::infinity() : json.get<double>();
}
Timing timing_from(const Json& json) {
  return {number_from(json.at(0)), number_from(json.at(1)), json.at(2).get<int>(),
          json.at(3).get<int>()};
}

}  // namespace

std::string to_line(const Job& job) {
  Json variants = Json::array();
  for (const Variant& variant : job.variants)
    variants.push_back({{"name", variant.name}, {"config", json_of(variant.config)}});
  return Json{{"kind", static_cast<int>(job.kind)},
              {"row", job.row},
              {"variants", std::move(variants)},
              {"rival_config", json_of(job.rival_config)},
              {"check", job.check},
              {"rounds", job.race.rounds},
              {"replay_us", job.race.replay_us},
              {"most_passes", job.race.most_passes},
              {"target", job.target.name()},
              {"multiprocessors", job.target.multiprocessors}}
      .dump();
}

Job parse_job(std::string_view line) {
  const Json json = Json::parse(line);
  Job job;
  job.kind = static_cast<Job::Kind>(json.at("kind").get<int>());
  job.row = json.at("row").get<std::string>();
  for (const Json& variant : json.at("variants"))
    job.variants.push_back(
        {variant.at("name").get<std::string>(), config_from(variant.at("config"))});
  job.rival_config = config_from(json.at("rival_config"));
  job.check = json.at("check").get<bool>();
  job.race.rounds = json.at("rounds").get<int>();
  job.race.replay_us = json.at("replay_us").get<double>();
  job.race.most_passes = json.at("most_passes").get<int>();
  job.target = parse_target(json.at("target").get<std::string>());
  job.target.multiprocessors = json.at("multiprocessors").get<int>();
  return job;
}

std::string to_line(const Message& message) {
  return Json{{"kind", static_cast<int>(message.kind)},
              {"variant", message.variant},
              {"text", message.text},
              {"problem", message.problem},
              {"config", message.config},
              {"number", message.number},
              {"ours", json_of(message.ours)},
              {"theirs", json_of(message.theirs)}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

Message parse_message(std::string_view line) {
  const Json json = Json::parse(line);
  Message message;
  message.kind = static_cast<Message::Kind>(json.at("kind").get<int>());
  message.variant = json.at("variant").get<int>();
  message.text = json.at("text").get<std::string>();
  message.problem = json.at("problem").get<std::string>();
  message.config = json.at("config").get<std::string>();
  message.number = number_from(json.at("number"));
  message.ours = timing_from(json.at("ours"));
  message.theirs = timing_from(json.at("theirs"));
  return message;
}

}  // namespace tilewright::bench
