// What one launch moves and computes under a config, counted from tile IR before anything is
// compiled.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilewright/codegen/config.h"
#include "tilewright/codegen/target.h"
#include "tilewright/ir/node.h"

namespace tilewright::tune {

/// A tile that a block works with: loaded from a tensor, or kept over the steps of a loop (an
/// accumulator).
struct WorkingTile {
  std::string name;            ///< of the tensor, or of the user's variable
  std::string shape;           ///< "f16[16,32]"
  int64_t bytes = 0;           ///< of the largest tile there is
  int64_t edge_bytes = 0;      ///< of the smallest, at an edge
  bool accumulator = false;    ///< in registers over all steps of a loop
  bool staged = false;         ///< through shared memory
  int64_t further_stages = 0;  ///< bytes of the other slots of its ring
};

/// What a tensor costs. Edge tiles count at their real extents.
struct TensorTraffic {
  std::string name;
  int param = 0;              ///< among the function's parameters
  std::string spec;           ///< "f16[128,128]"
  int64_t unique_bytes = 0;   ///< of the elements it has
  int64_t read_bytes = 0;     ///< that blocks ask for, all together
  int64_t written_bytes = 0;  ///< likewise
  int64_t l2_bytes = 0;       ///< read and written, with what a cluster shares counted once
  /// What the cache does for tiles, over what it does for as many bytes in whole lines: rows that
  /// do not begin at a line take one more each, and those that are shorter ask for a line again.
  double lines = 1;
  /// Estimated to pass between memory and the L2 cache, for tensors that are not in it before.
  int64_t memory_bytes = 0;

  double times_read() const {
    return unique_bytes > 0 ? static_cast<double>(read_bytes) / static_cast<double>(unique_bytes)
                            : 0;
  }
  double times_written() const {
    return unique_bytes > 0 ? static_cast<double>(written_bytes) / static_cast<double>(unique_bytes)
                            : 0;
  }
};

struct Traffic {
  std::vector<WorkingTile> working;
  std::vector<TensorTraffic> tensors;  ///< in the order of the parameters; only those accessed
  int64_t programs = 0;                ///< tiles of the grid
  double dot_operations = 0;           ///< 2 m n k of every dot, at real extents
  double other_operations = 0;         ///< one for each element of each elementwise step
  std::vector<std::string> notes;      ///< what was assumed, where the kernel leaves it open

  int64_t read_bytes() const;
  int64_t written_bytes() const;
  int64_t bytes() const { return read_bytes() + written_bytes(); }
  int64_t l2_bytes() const;
  int64_t memory_bytes() const;
  int64_t working_bytes() const;
  int64_t further_stage_bytes() const;
  double operations() const { return dot_operations + other_operations; }
  /// Operations for each byte that blocks ask for.
  double intensity() const;
};

/// Counts. The config has one block size for each axis that is not pinned; its other fields matter
/// for stages, clusters and the estimate of what passes between memory and L2. Sizes that are known
/// at launch only are taken to be 4096, which a note says.
Traffic traffic_of(const ir::Function& fn, const Config& config, const Target& target);

}  // namespace tilewright::tune
