// How many blocks of a config a multiprocessor holds.
#pragma once

#include <cstdint>

#include "tilewright/codegen/config.h"
#include "tilewright/codegen/target.h"
#include "tilewright/ir/node.h"

namespace tilewright::tune {

/// Estimates, from what the config says it needs.
struct Occupancy {
  int threads = 0;           ///< a block, those that only copy included
  int64_t registers = 0;     ///< a thread
  int64_t shared_bytes = 0;  ///< a block, without padding
  double crowded = 0;        ///< registers wanted beyond those there are, over those there are
  int64_t spilled = 0;       ///< registers a thread wants beyond those it can have
  int resident = 1;          ///< blocks a multiprocessor holds
  double occupancy = 0;      ///< their warps over the most it holds
};

/// For a config that has passed check_config.
Occupancy occupancy_of(const ir::Function& fn, const Config& config, const Target& target);

}  // namespace tilewright::tune
