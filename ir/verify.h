// Checks that a function obeys the rules of tile IR.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tilewright/ir/node.h"

namespace tilewright::ir {

/// The first rule that a function breaks; `op` is null for a fault of the function's header.
struct Fault {
  const Op* op = nullptr;
  std::string message;
};

/// Looks for a fault: forms and types of all operations, scopes, arguments and yields of regions,
/// block dimensions outside their loop, use of rings.
std::optional<Fault> find_fault(const Function& fn);

/// Throws InternalError, with the pass, the operation and the function's text, when there is a
/// fault.
void verify(const Function& fn, std::string_view after_pass);

}  // namespace tilewright::ir
