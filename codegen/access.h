// What is known of a memory operation's addresses: the contiguous direction and how wide an access
// may be.
#pragma once

#include <utility>

#include "tilewright/ir/builder.h"
#include "tilewright/ir/facts.h"
#include "tilewright/ir/node.h"

namespace tilewright::codegen {

/// Facts about a load, store, atomic or copy.
struct AccessFacts {
  int contiguous_dim = -1;   ///< tensor dimension of stride 1 that is indexed by a slice; -1: none
  int contiguous_axis = -1;  ///< the tile axis it became
  int vector = 1;            ///< elements of the widest access proven aligned; a power of two
  int whole_vector = 1;      ///< the widest that is also entirely inside or outside the limits
  bool wide = false;         ///< offsets need 64 bits
};

/// The tensor dimension of stride 1 that is indexed by a slice, and the tile axis that became; -1
/// and -1 when there is none. Dimensions of size 1 count only where there is no other.
std::pair<int, int> contiguous_dimension(const ir::AccessView& access, const TensorSpec& spec);

/// Whether the elements of a tile along `axis` are known to be equal.
bool is_uniform_along(const ir::Value* value, int axis);

/// Whether every position at which `slice` begins is known to be a multiple of `n`.
bool begins_at_multiple(const ir::Function& fn, const ir::Facts& facts, const ir::Value* slice,
                        int64_t n);

/// Examines `op` (load, store, atomic or copy). `max_bytes` bounds an access (config.vector);
/// accesses are at most 16 bytes.
AccessFacts analyze_access(const ir::Function& fn, const ir::Facts& facts, const ir::Op& op,
                           int max_bytes);

}  // namespace tilewright::codegen
