// A device that does not exist: the model's times, distorted and noisy, with configs that fail. For
// trying and testing searches where there is no GPU; its name says so in everything it appears in.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "tilewright/autotune/calibration.h"
#include "tilewright/autotune/evaluate.h"
#include "tilewright/autotune/time_model.h"
#include "tilewright/codegen/target.h"
#include "tilewright/ir/node.h"

namespace tilewright::tune {

/// How the simulated device differs from the model. Parts of one.
struct SimulationOptions {
  uint64_t seed = 1;           ///< of the times and of what fails
  uint64_t noise_seed = 1;     ///< of the samples
  double value_spread = 0.12;  ///< of the factor that each value of each field brings
  double pair_spread = 0.04;   ///< of what each pair of values brings
  double noise = 0.01;         ///< of each sample
  double outliers = 0.02;      ///< samples that are half as long again
  /// Configs that fail in each way. Those that are wrong would be the fastest.
  double crashes = 0.01, hangs = 0.003, wrong = 0.01, refused = 0.03;
};

/// Answers depend on the seed and the config alone, samples also on how many were taken of that
/// config before. Borrows the function.
class SimulatedDevice : public Evaluator {
 public:
  SimulatedDevice(const ir::Function& fn, const Target& target, const Calibration& calibration,
                  const SimulationOptions& options = {});

  std::string device() const override { return "simulated " + target_.name(); }
  double seconds() const override { return seconds_; }
  std::vector<Attempt> attempt(std::span<const Config> configs) override;
  std::vector<std::vector<double>> race(std::span<const Config> configs, int rounds) override;
  std::vector<Attempt> recheck(std::span<const Config> configs) override;

  /// The time without noise, microseconds; whether or not the config fails.
  double true_microseconds(const Config& config) const;
  /// What attempt() says of it.
  Attempt outcome(const Config& config) const;
  int64_t attempts() const { return attempts_; }

 private:
  double sample(const Config& config);
  double uniform(const std::string& what) const;
  double noise(const std::string& what) const;

  const ir::Function& fn_;
  Target target_;
  SimulationOptions options_;
  TimeModel model_;
  std::map<std::string, int> sampled_;
  double seconds_ = 0;
  int64_t attempts_ = 0;
};

}  // namespace tilewright::tune
