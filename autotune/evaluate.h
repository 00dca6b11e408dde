// What tries configs: a GPU behind a worker process, or a simulated device.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tilewright/autotune/store.h"
#include "tilewright/codegen/config.h"

namespace tilewright::tune {

/// What became of a config that was tried for the first time.
struct Attempt {
  Trial::Status status = Trial::Status::ok;
  std::string message = {};  ///< why it failed
};

/// Tries the configs of one kernel and shape on one device. A config that fails, however badly,
/// costs only itself. Not thread-safe; several evaluators may work at the same time.
class Evaluator {
 public:
  virtual ~Evaluator() = default;

  /// The name of what measures: "NVIDIA H200", "simulated sm_90a".
  virtual std::string device() const = 0;
  /// Seconds since the evaluator was made, as budgets count them: of a simulated device, those its
  /// work would have taken.
  virtual double seconds() const = 0;

  /// Begins to compile what attempt() will be asked for soon. What is no longer wanted when the
  /// next call comes is dropped, unless it has begun.
  virtual void prefetch(std::span<const Config> /*configs*/) {}

  /// Compiles each config, runs it on poisoned copies of the data and compares what it leaves with
  /// the verified result. One answer for each config, in their order; fewer when it is stopped.
  virtual std::vector<Attempt> attempt(std::span<const Config> configs) = 0;

  /// Times of one call, microseconds, of configs that passed attempt(): `rounds` samples of each,
  /// taken in turns. A config that fails meanwhile has no samples.
  virtual std::vector<std::vector<double>> race(std::span<const Config> configs, int rounds) = 0;

  /// Why race() has no samples of a config.
  virtual Attempt why(const Config& /*config*/) const {
    return {Trial::Status::crashed, "it failed while it was timed"};
  }

  /// Runs and compares again configs that won so far: several times, and on other data where the
  /// data is random.
  virtual std::vector<Attempt> recheck(std::span<const Config> configs) = 0;

  /// The configs in question from now on; what belongs to others may be unloaded.
  virtual void keep(std::span<const Config> /*configs*/) {}
};

}  // namespace tilewright::tune
