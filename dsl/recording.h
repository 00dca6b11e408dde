// What a kernel's body did, before its C++ variables have become IR values.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "tilewright/ir/node.h"

namespace tilewright::dsl {

/// A variable was read (giving `value`, which no operation defines) or assigned `value`.
struct Event {
  size_t position = 0;  ///< operations in the region before it
  bool write = false;
  int variable = 0;
  const ir::Value* value = nullptr;
  Loc loc;
};

/// A C++ variable: a Tile, Scalar or TensorRef, temporaries included.
struct Variable {
  std::optional<ir::Type> type;  ///< fixed by the first assignment
  uint64_t frame = 0;            ///< the body in which it was declared
  const ir::Region* region = nullptr;
  Loc declared;
};

/// Operations in regions, loops and branches without results, and the events between them.
struct Recording {
  ir::Function fn;
  std::unordered_map<const ir::Region*, std::vector<Event>> events;
  std::vector<Variable> variables;
};

/// An event or an operation of a region.
struct Step {
  const Event* event = nullptr;
  const ir::Op* op = nullptr;
};

/// The events and operations of a region, in the order in which they happened.
std::vector<Step> steps_of(const Recording& recording, const ir::Region& region);

/// "variable 'acc'" where the source tells, else "a variable".
std::string describe(const Variable& variable);

}  // namespace tilewright::dsl
