// Device helpers for accesses that tell caches when to let go (PTX: ld, st with eviction hints).
#pragma once

#include <vector>

#include "tilewright/codegen/prelude.h"

namespace tilewright::codegen {

/// load_evict_first, load_evict_last, store_evict_first, store_evict_last: as load and store.
std::vector<Helper> evict_helpers();

}  // namespace tilewright::codegen
