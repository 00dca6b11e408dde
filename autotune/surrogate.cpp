#include "tilewright/autotune/surrogate.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace tilewright::tune {
namespace {

// A weight's spread before anything is known, against the noise: about a tenth in time each.
constexpr double kRidge = 1.0;
constexpr double kLeastNoise = 0.02;

std::string value_of(const ConfigFields& fields, const std::string& name) {
  const auto it = fields.find(name);
  return it == fields.end() ? std::string() : it->second;
}

}  // namespace

Surrogate::Surrogate(const std::vector<Sample>& samples) {
  std::set<std::string> names;
  for (const Sample& sample : samples)
    for (const auto& [name, value] : sample.fields) names.insert(name);
  names_.assign(names.begin(), names.end());
  for (const Sample& sample : samples)
    for (const std::string& name : names_)
      features_.try_emplace({name, value_of(sample.fields, name)},
                            static_cast<int>(features_.size()));
  const size_t n = features_.size();
  if (samples.empty()) return;
  for (const Sample& sample : samples) mean_ += sample.log_ratio;
  mean_ /= static_cast<double>(samples.size());
  std::vector<double> matrix(n * n), right(n);
  for (size_t i = 0; i < n; ++i) matrix[i * n + i] = kRidge;
  for (const Sample& sample : samples) {
    const std::vector<int> on = features_of(sample.fields);
    for (const int i : on) {
      right[static_cast<size_t>(i)] += sample.log_ratio - mean_;
      for (const int j : on) matrix[static_cast<size_t>(i) * n + static_cast<size_t>(j)] += 1;
    }
  }
  factor(std::move(matrix));
  weights_ = solve(std::move(right));
  double squares = 0;
  for (const Sample& sample : samples) {
    double value = mean_;
    for (const int i : features_of(sample.fields)) value += weights_[static_cast<size_t>(i)];
    squares += (sample.log_ratio - value) * (sample.log_ratio - value);
  }
  noise_ = std::max(kLeastNoise, std::sqrt(squares / static_cast<double>(samples.size())));
}

std::vector<int> Surrogate::features_of(const ConfigFields& fields) const {
  std::vector<int> on;
  for (const std::string& name : names_) {
    const auto it = features_.find({name, value_of(fields, name)});
    if (it != features_.end()) on.push_back(it->second);
  }
  return on;
}

void Surrogate::factor(std::vector<double> matrix) {
  const size_t n = features_.size();
  for (size_t j = 0; j < n; ++j) {
    for (size_t k = 0; k < j; ++k)
      for (size_t i = j; i < n; ++i) matrix[i * n + j] -= matrix[i * n + k] * matrix[j * n + k];
    const double root = std::sqrt(matrix[j * n + j]);  // positive: the ridge is
    for (size_t i = j; i < n; ++i) matrix[i * n + j] /= root;
  }
  factor_ = std::move(matrix);
}

std::vector<double> Surrogate::forward(std::vector<double> right) const {
  const size_t n = features_.size();
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) right[i] -= factor_[i * n + k] * right[k];
    right[i] /= factor_[i * n + i];
  }
  return right;
}

std::vector<double> Surrogate::solve(std::vector<double> right) const {
  const size_t n = features_.size();
  right = forward(std::move(right));
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) right[i] -= factor_[k * n + i] * right[k];
    right[i] /= factor_[i * n + i];
  }
  return right;
}

Surrogate::Estimate Surrogate::estimate(const ConfigFields& fields) const {
  Estimate estimate{mean_, noise_};
  const std::vector<int> on = features_of(fields);
  std::vector<double> right(features_.size());
  for (const int i : on) {
    estimate.log_ratio += weights_[static_cast<size_t>(i)];
    right[static_cast<size_t>(i)] = 1;
  }
  double variance = 0;
  for (const double x : forward(std::move(right))) variance += x * x;
  // A value never seen could have any weight.
  variance += static_cast<double>(names_.size() - on.size()) / kRidge;
  estimate.deviation = noise_ * std::sqrt(1 + variance);
  return estimate;
}

}  // namespace tilewright::tune
