// Device helpers for atomic operations on tensors (PTX: atom, red), made on request.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/codegen/prelude.h"
#include "tilewright/ir/type.h"

namespace tilewright::codegen {

/// What the helper "atomic_<name>_<dtype>[_<order>]" or "red_<name>_<dtype>[x<count>][_<order>]"
/// does: the first gives what was there before, the second nothing.
struct AtomicForm {
  bool gives = true;
  std::string name;  ///< add, min, max, and, or, xor, exchange, cas
  DType dtype = DType::f32;
  int count = 1;      ///< elements; more than one is added from registers
  std::string order;  ///< relaxed, acquire, release, acq_rel
};

/// The form that a helper's plain name speaks of; none for other names.
std::optional<AtomicForm> parse_atomic(std::string_view name);

/// That helper; empty for names that parse_atomic does not take.
std::vector<Helper> atomic_helpers(std::string_view name);

}  // namespace tilewright::codegen
