#include "bench/model_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>

#include "bench/example_row.h"
#include "bench/gemm_kernel.h"
#include "examples/kernels/softmax.h"
#include "examples/kernels/vector_add.h"

namespace tilewright::bench {
namespace {

std::shared_ptr<const ir::Function> trace(const KernelHandle& kernel,
                                          const std::vector<CompileArg>& args) {
  return kernel.trace(args);
}

// Positions in ascending order of what `value` gives, ties sharing their mean.
template <class Value>
std::vector<double> ranks(const std::vector<ModelledTime>& times, const Value& value) {
  std::vector<double> result;
  for (const ModelledTime& time : times) {
    double below = 0, equal = 0;
    for (const ModelledTime& other : times) {
      below += value(other) < value(time);
      equal += value(other) == value(time);
    }
    result.push_back(below + (equal - 1) / 2);
  }
  return result;
}

}  // namespace

std::vector<std::shared_ptr<const ir::Function>> traces_of_row(std::string_view row) {
  const std::string name(row);
  long long rows = 0, columns = 0;
  int log2 = 0;
  if (std::sscanf(name.c_str(), "vector_add f32 2^%d", &log2) == 1) {
    const TensorSpec spec = contiguous_spec(DType::f32, {int64_t{1} << log2});
    return {trace(examples::vector_add, {spec, spec})};
  }
  if (std::sscanf(name.c_str(), "softmax bf16 %lldx%lld", &rows, &columns) == 2)
    return {trace(examples::softmax, {contiguous_spec(DType::bf16, {rows, columns})})};
  return OurProduct(gemm_problem(name), {}).traces();
}

std::vector<ModelledTime> model_sweeps(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  const nlohmann::json json = nlohmann::json::parse(file);
  const Target target = parse_target(json.at("target").get<std::string>());
  const tune::Calibration calibration = tune::Calibration::typical(target);
  std::vector<ModelledTime> times;
  for (const auto& [name, swept] : json.at("sweeps").items()) {
    const ExampleRow* row = find_example_row(name);
    if (row == nullptr) throw std::runtime_error("no row is called " + name);
    const auto fn = row->kernel->trace(row->compile_args());
    const tune::TimeModel model(*fn, target, calibration);
    for (const nlohmann::json& one : swept) {
      const Config config = parse_config(one.at(0).dump());
      const tune::Prediction prediction = model.predict(config);
      times.push_back(
          {name, config, one.at(1).get<double>(), prediction.microseconds, prediction.bound});
    }
  }
  return times;
}

std::vector<PickLoss> pick_losses(const std::vector<ModelledTime>& times) {
  std::vector<PickLoss> losses;
  for (auto from = times.begin(); from != times.end();) {
    const auto to = std::find_if(from, times.end(),
                                 [&](const ModelledTime& time) { return time.row != from->row; });
    const auto best = std::min_element(
        from, to, [](const auto& a, const auto& b) { return a.measured_us < b.measured_us; });
    const auto picked = std::min_element(
        from, to, [](const auto& a, const auto& b) { return a.predicted_us < b.predicted_us; });
    losses.push_back(
        {from->row, picked->measured_us / best->measured_us, picked->config, best->config});
    from = to;
  }
  return losses;
}

std::vector<ModelledTime> model_times(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  const nlohmann::json json = nlohmann::json::parse(file);
  const Target target = parse_target(json.at("target").get<std::string>());
  const tune::Calibration calibration = tune::Calibration::typical(target);
  std::vector<ModelledTime> times;
  for (const nlohmann::json& one : json.at("times")) {
    ModelledTime time;
    time.row = one.at("row").get<std::string>();
    time.measured_us = one.at("us").get<double>();
    for (const auto& fn : traces_of_row(time.row)) {
      time.config = one.contains("config") ? parse_config(one.at("config").dump())
                                           : default_config(*fn, target);
      const tune::Prediction prediction = tune::predict(*fn, time.config, target, calibration);
      time.predicted_us += prediction.microseconds;
      time.bound = prediction.bound;
    }
    times.push_back(std::move(time));
  }
  return times;
}

double rank_correlation(const std::vector<ModelledTime>& times) {
  const std::vector<double> x = ranks(times, [](const ModelledTime& t) { return t.measured_us; });
  const std::vector<double> y = ranks(times, [](const ModelledTime& t) { return t.predicted_us; });
  const double mean = (static_cast<double>(times.size()) - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx == 0 || yy == 0 ? 0 : xy / std::sqrt(xx * yy);
}

double mean_factor(const std::vector<ModelledTime>& times) {
  double sum = 0;
  for (const ModelledTime& time : times)
    sum += std::fabs(std::log(time.predicted_us / time.measured_us));
  return times.empty() ? 1 : std::exp(sum / static_cast<double>(times.size()));
}

std::string to_text(const std::vector<ModelledTime>& times) {
  std::string text;
  for (const ModelledTime& time : times)
    text += fmt::format("{:<42} {:>9.2f} us, predicted {:>9.2f} ({:.2f}), {:<13} {}\n", time.row,
                        time.measured_us, time.predicted_us, time.predicted_us / time.measured_us,
                        time.bound, to_json(time.config));
  return text;
}

}  // namespace tilewright::bench
