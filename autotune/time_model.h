// How long a config should take: counts, rates and a few latencies.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tilewright/autotune/calibration.h"
#include "tilewright/autotune/traffic.h"
#include "tilewright/codegen/config.h"
#include "tilewright/codegen/target.h"
#include "tilewright/ir/node.h"

namespace tilewright::tune {

/// A predicted time, and what it consists of.
struct Prediction {
  double microseconds = 0;
  std::string bound;   ///< "tensor cores", "CUDA cores", "shared memory", "L2", "memory", "latency"
  int64_t blocks = 0;  ///< of the launch
  int resident = 0;    ///< blocks that fit a multiprocessor
  double waves = 0;    ///< programs over how many run at a time
  double occupancy = 0;      ///< resident warps over the most a multiprocessor holds
  int64_t registers = 0;     ///< a thread, estimated
  int64_t shared_bytes = 0;  ///< a block, estimated, without padding
  /// What each resource alone would take, in microseconds.
  double matrix_us = 0, cores_us = 0, shared_us = 0, l2_us = 0, memory_us = 0, latency_us = 0;
};

/// Predicts the time of one launch with a cold L2 behind others of its kind. The config has passed
/// check_config.
Prediction predict(const ir::Function& fn, const Config& config, const Target& target,
                   const Calibration& calibration);

/// predict() for many configs of one kernel: what does not depend on the config is found once.
/// Borrows the function. Not thread-safe.
class TimeModel {
 public:
  TimeModel(const ir::Function& fn, const Target& target, const Calibration& calibration);
  ~TimeModel();
  TimeModel(const TimeModel&) = delete;
  TimeModel& operator=(const TimeModel&) = delete;

  Prediction predict(const Config& config) const;
  double microseconds(const Config& config) const { return predict(config).microseconds; }

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The config that the model finds fastest among those it looks at, default_config's among them;
/// one that the whole compiler takes. Where no config passes, default_config's.
Config model_pick(const ir::Function& fn, const Target& target, const Calibration& calibration);

}  // namespace tilewright::tune
