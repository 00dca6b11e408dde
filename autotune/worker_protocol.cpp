#include "tilewright/autotune/worker_protocol.h"

#include <cstring>
#include <nlohmann/json.hpp>

namespace tilewright::tune {
namespace {

using Json = nlohmann::json;

Json json_of(const TensorSpec& spec) {
  return {static_cast<int>(spec.dtype), spec.sizes, spec.strides, spec.alignment};
}
TensorSpec spec_from(const Json& json) {
  return {static_cast<DType>(json.at(0).get<int>()), json.at(1).get<std::vector<int64_t>>(),
          json.at(2).get<std::vector<int64_t>>(), json.at(3).get<int>()};
}

Json json_of(const WorkerParam& param) {
  return {{"name", param.name},
          {"tensor", param.tensor},
          {"dtype", static_cast<int>(param.dtype)},
          {"bits", param.bits},
          {"spec", json_of(param.spec)},
          {"written", param.written},
          {"poisoned", param.poisoned},
          {"same_as", param.same_as},
          {"offset", param.offset},
          {"seed", param.seed},
          {"expected", param.expected},
          {"tolerance", {param.tolerance.ulps, param.tolerance.of_largest}}};
}
WorkerParam param_from(const Json& json) {
  WorkerParam param;
  json.at("name").get_to(param.name);
  json.at("tensor").get_to(param.tensor);
  param.dtype = static_cast<DType>(json.at("dtype").get<int>());
  json.at("bits").get_to(param.bits);
  param.spec = spec_from(json.at("spec"));
  json.at("written").get_to(param.written);
  json.at("poisoned").get_to(param.poisoned);
  json.at("same_as").get_to(param.same_as);
  json.at("offset").get_to(param.offset);
  json.at("seed").get_to(param.seed);
  json.at("expected").get_to(param.expected);
  param.tolerance = {json.at("tolerance").at(0).get<double>(),
                     json.at("tolerance").at(1).get<double>()};
  return param;
}

Json binary(const std::string& bytes) {
  return Json::binary(std::vector<uint8_t>(bytes.begin(), bytes.end()));
}
std::string bytes_of(const Json& json) {
  const auto& bytes = json.get_binary();
  return {bytes.begin(), bytes.end()};
}

// With MessagePack, machine code travels as it is.
std::string message_of(const Json& json) {
  std::string message(sizeof(uint64_t), '\0');
  Json::to_msgpack(json, message);
  const uint64_t length = message.size();
  std::memcpy(message.data(), &length, sizeof length);
  return message;
}
Json json_from(std::string_view message) {
  return Json::from_msgpack(message.substr(sizeof(uint64_t)));
}

}  // namespace

size_t message_length(std::string_view received) {
  uint64_t length = 0;
  if (received.size() < sizeof length) return 0;
  std::memcpy(&length, received.data(), sizeof length);
  return received.size() >= length ? static_cast<size_t>(length) : 0;
}

std::string to_message(const WorkerJob& job) {
  Json params = Json::array(), binaries = Json::array();
  for (const WorkerParam& param : job.params) params.push_back(json_of(param));
  for (const WorkerBinary& one : job.binaries)
    binaries.push_back({{"cubin", binary(one.cubin)}, {"ptx", one.ptx}, {"by", one.compiler}});
  return message_of({{"kind", static_cast<int>(job.kind)},
                     {"device", job.device},
                     {"params", std::move(params)},
                     {"replay_us", job.replay_us},
                     {"ids", job.ids},
                     {"plan", job.plan},
                     {"binaries", std::move(binaries)},
                     {"trusted", job.trusted},
                     {"rounds", job.rounds}});
}

WorkerJob parse_job(std::string_view message) {
  const Json json = json_from(message);
  WorkerJob job;
  job.kind = static_cast<WorkerJob::Kind>(json.at("kind").get<int>());
  json.at("device").get_to(job.device);
  for (const Json& param : json.at("params")) job.params.push_back(param_from(param));
  json.at("replay_us").get_to(job.replay_us);
  json.at("ids").get_to(job.ids);
  json.at("plan").get_to(job.plan);
  for (const Json& one : json.at("binaries"))
    job.binaries.push_back(
        {bytes_of(one.at("cubin")), one.at("ptx").get<std::string>(), one.at("by").get<int>()});
  json.at("trusted").get_to(job.trusted);
  json.at("rounds").get_to(job.rounds);
  return job;
}

std::string to_message(const WorkerAnswer& answer) {
  return message_of({{"problem", answer.problem},
                     {"status", static_cast<int>(answer.status)},
                     {"message", answer.message},
                     {"disproved", answer.disproved},
                     {"verified", answer.verified},
                     {"ends", answer.ends},
                     {"times", answer.times},
                     {"messages", answer.messages}});
}

WorkerAnswer parse_answer(std::string_view message) {
  const Json json = json_from(message);
  WorkerAnswer answer;
  json.at("problem").get_to(answer.problem);
  answer.status = static_cast<Trial::Status>(json.at("status").get<int>());
  json.at("message").get_to(answer.message);
  json.at("disproved").get_to(answer.disproved);
  json.at("verified").get_to(answer.verified);
  json.at("ends").get_to(answer.ends);
  json.at("times").get_to(answer.times);
  json.at("messages").get_to(answer.messages);
  return answer;
}

}  // namespace tilewright::tune
