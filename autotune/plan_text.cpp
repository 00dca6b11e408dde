#include "tilewright/autotune/plan_text.h"

#include <nlohmann/json.hpp>

namespace tilewright::tune {
namespace {

using Json = nlohmann::json;
using codegen::Expr;
using codegen::ExprRef;

Json json_of(const ExprRef& expression) {
  if (expression == nullptr) return {};
  Json args = Json::array();
  for (const ExprRef& arg : expression->args) args.push_back(json_of(arg));
  return {static_cast<int>(expression->kind),
          expression->text,
          std::move(args),
          expression->value,
          expression->number,
          static_cast<int>(expression->dtype)};
}

ExprRef expression_from(const Json& json) {
  if (json.is_null()) return nullptr;
  Expr made;
  made.kind = static_cast<Expr::Kind>(json.at(0).get<int>());
  made.text = json.at(1).get<std::string>();
  for (const Json& arg : json.at(2)) made.args.push_back(expression_from(arg));
  made.value = json.at(3).get<int64_t>();
  made.number = json.at(4).get<double>();
  made.dtype = static_cast<DType>(json.at(5).get<int>());
  return std::make_shared<const Expr>(std::move(made));
}

Json json_of(const codegen::TensorMapSpec& map) {
  return {static_cast<int>(map.dtype),
          map.sizes,
          map.strides,
          map.box,
          map.swizzle,
          map.dynamic,
          map.size_source};
}

codegen::TensorMapSpec map_from(const Json& json) {
  codegen::TensorMapSpec map;
  map.dtype = static_cast<DType>(json.at(0).get<int>());
  json.at(1).get_to(map.sizes);
  json.at(2).get_to(map.strides);
  json.at(3).get_to(map.box);
  json.at(4).get_to(map.swizzle);
  json.at(5).get_to(map.dynamic);
  json.at(6).get_to(map.size_source);
  return map;
}

Json json_of(const codegen::KernelParam& param) {
  return {{"name", param.name},
          {"dtype", static_cast<int>(param.dtype)},
          {"tensor", param.tensor},
          {"source", param.source},
          {"map", param.map ? json_of(*param.map) : Json()}};
}

codegen::KernelParam param_from(const Json& json) {
  codegen::KernelParam param;
  param.name = json.at("name").get<std::string>();
  param.dtype = static_cast<DType>(json.at("dtype").get<int>());
  param.tensor = json.at("tensor").get<bool>();
  param.source = json.at("source").get<int>();
  if (const Json& map = json.at("map"); !map.is_null()) param.map = map_from(map);
  return param;
}

Json json_of(const codegen::KernelStep& step) {
  Json params = Json::array();
  for (const codegen::KernelParam& param : step.params) params.push_back(json_of(param));
  return {{"symbol", step.symbol},
          {"source", step.source},
          {"params", std::move(params)},
          {"grid", json_of(step.grid)},
          {"threads", step.threads},
          {"cluster", step.cluster},
          {"shared_bytes", step.shared_bytes},
          {"cooperative", step.cooperative}};
}

codegen::KernelStep kernel_from(const Json& json) {
  codegen::KernelStep step;
  step.symbol = json.at("symbol").get<std::string>();
  step.source = json.at("source").get<std::string>();
  for (const Json& param : json.at("params")) step.params.push_back(param_from(param));
  step.grid = expression_from(json.at("grid"));
  step.threads = json.at("threads").get<int>();
  step.cluster = json.at("cluster").get<int>();
  step.shared_bytes = json.at("shared_bytes").get<int64_t>();
  step.cooperative = json.at("cooperative").get<bool>();
  return step;
}

}  // namespace

std::string encode_plan(const codegen::Plan& plan) {
  Json buffers = Json::array(), steps = Json::array();
  for (const codegen::Buffer& buffer : plan.buffers)
    buffers.push_back({static_cast<int>(buffer.role), buffer.name, json_of(buffer.bytes)});
  for (const codegen::Step& step : plan.steps)
    steps.push_back({{"kind", static_cast<int>(step.kind)},
                     {"kernel", json_of(step.kernel)},
                     {"memset", {step.memset.buffer, step.memset.value}}});
  return Json{{"name", plan.name},
              {"target", plan.target.name()},
              {"multiprocessors", plan.target.multiprocessors},
              {"buffers", std::move(buffers)},
              {"steps", std::move(steps)}}
      .dump();
}

codegen::Plan decode_plan(std::string_view bytes) {
  const Json json = Json::parse(bytes);
  codegen::Plan plan;
  plan.name = json.at("name").get<std::string>();
  plan.target = parse_target(json.at("target").get<std::string>());
  plan.target.multiprocessors = json.at("multiprocessors").get<int>();
  for (const Json& buffer : json.at("buffers"))
    plan.buffers.push_back({static_cast<codegen::Buffer::Role>(buffer.at(0).get<int>()),
                            buffer.at(1).get<std::string>(), expression_from(buffer.at(2))});
  for (const Json& step : json.at("steps")) {
    codegen::Step& made = plan.steps.emplace_back();
    made.kind = static_cast<codegen::Step::Kind>(step.at("kind").get<int>());
    made.kernel = kernel_from(step.at("kernel"));
    made.memset = {step.at("memset").at(0).get<int>(), step.at("memset").at(1).get<int>()};
  }
  return plan;
}

}  // namespace tilewright::tune
