// Which variables carry a value into, through and out of the loops and branches of a recording.
#pragma once

#include <set>
#include <unordered_map>
#include <vector>

#include "tilewright/dsl/recording.h"

namespace tilewright::dsl {

/// The variables that one loop or branch must hand on.
struct Flow {
  std::vector<int> carried;  ///< assigned inside, and read in a later iteration or after it
  std::set<int> live_after;  ///< read after it before they are assigned again
};

using Flows = std::unordered_map<const ir::Op*, Flow>;

/// The flow of every loop and branch.
Flows flows_of(const Recording& recording);

/// Whether the bounds are known to hold at least one tile.
bool runs_at_least_once(const ir::Op& loop);

}  // namespace tilewright::dsl
