// What one program of the grid takes on a multiprocessor: the parts that the time model adds up.
#pragma once

#include "tilewright/autotune/calibration.h"
#include "tilewright/autotune/occupancy.h"
#include "tilewright/autotune/traffic.h"
#include "tilewright/autotune/work.h"

namespace tilewright::tune {

/// Microseconds of one program (of one block, where blocks share a program).
struct ProgramTime {
  // Each resource alone, if the program had a multiprocessor to itself and used it fully.
  double matrix = 0, cores = 0, shared = 0, l2 = 0;
  double begin = 0;  ///< from the block's start to its first result
  double chain = 0;  ///< its loops, or its loads and computations one after the other
  double end = 0;    ///< from the last step to the last store
  double warps = 4;  ///< of a block, that compute

  /// Of so many blocks that share a multiprocessor, once what a block waits for is hidden.
  double busy(double blocks) const;
  double alone() const { return begin + chain + end; }
};

/// `work` and `traffic` are of one config, whose block sizes are `blocks`; `fn` is the function
/// that was counted.
ProgramTime program_time(const ir::Function& fn, const Work& work, const Traffic& traffic,
                         const std::vector<int64_t>& blocks, const Config& config,
                         const Target& target, const Calibration& calibration,
                         const Occupancy& occupancy);

}  // namespace tilewright::tune
