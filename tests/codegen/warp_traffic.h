// What the warps of one block ask of memory, measured by running it.
#pragma once

#include <map>
#include <string>

#include "tests/codegen/emulate.h"

namespace tilewright::testing {

/// Accesses to one tensor, over all warps.
struct GlobalTraffic {
  int64_t bytes = 0;
  int64_t sectors = 0;  ///< of 32 bytes, those that one access of a warp touches
  int narrowest = 16;   ///< bytes per lane
};

struct WarpTraffic {
  int64_t shared_accesses = 0;  ///< of warps
  int64_t bank_conflicts = 0;   ///< wavefronts beyond the least that could move as many words
  std::map<std::string, GlobalTraffic> global;
  std::string problem;  ///< the emulation's first error
};

/// The traffic of block 0.
WarpTraffic warp_traffic(const codegen::Kernel& kernel, const std::vector<HostArgument>& args);

}  // namespace tilewright::testing
