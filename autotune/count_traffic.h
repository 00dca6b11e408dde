// From counts of operations to traffic: what traffic_of and the time model share.
#pragma once

#include "tilewright/autotune/traffic.h"
#include "tilewright/autotune/work.h"

namespace tilewright::tune {

/// What the estimate of memory traffic depends on.
struct Surroundings {
  double concurrent = 1;  ///< programs that run at the same time
  double l2_bytes = 0;    ///< size of the L2 cache
  bool describe = true;   ///< list working tiles and describe tensors, besides the sums
};

/// `fn` is the function that was counted (WorkCounter::function).
Traffic count_traffic(const Work& work, const ir::Function& fn, const Config& config,
                      const Target& target, const Surroundings& surroundings);

}  // namespace tilewright::tune
