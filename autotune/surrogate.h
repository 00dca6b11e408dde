// What the measurements so far say about configs not tried: how far the model is off for each value
// of each field.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tilewright/autotune/config_fields.h"

namespace tilewright::tune {

/// A linear model of log(measured / predicted): one weight for each value of each field, held small
/// where little is known (ridge regression).
class Surrogate {
 public:
  struct Sample {
    ConfigFields fields;
    double log_ratio = 0;  ///< log(measured / predicted)
  };
  struct Estimate {
    double log_ratio = 0;
    double deviation = 0;  ///< standard deviation of that, from noise and from what is not known
  };

  explicit Surrogate(const std::vector<Sample>& samples);

  Estimate estimate(const ConfigFields& fields) const;

 private:
  std::vector<int> features_of(
      const ConfigFields& fields) const;  // positions; those unknown left out
  void factor(std::vector<double> matrix);
  std::vector<double> solve(std::vector<double> right) const;  // by the factor
  std::vector<double> forward(std::vector<double> right) const;

  std::map<std::pair<std::string, std::string>, int> features_;
  std::vector<std::string> names_;  // fields that some sample has
  std::vector<double> factor_;      // Cholesky factor, row-major, lower
  std::vector<double> weights_;
  double mean_ = 0, noise_ = 0.1;
};

}  // namespace tilewright::tune
