// Sizes and conditions that the host works out before a launch, from the dynamic sizes of tensors.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tilewright/ir/functions.h"
#include "tilewright/ir/loc.h"

namespace tilewright::ir {

/// A step of a computation on a stack.
struct SizeStep {
  enum class Kind : uint8_t {
    constant,  ///< pushes `value`
    size,      ///< pushes the scalar parameter numbered `value`
    apply,     ///< replaces the two on top, x below y, by x `fn` y
  };
  Kind kind = Kind::constant;
  int64_t value = 0;
  Fn fn = Fn::add;  ///< add, sub, mul, div, rem or a comparison
  friend bool operator==(const SizeStep&, const SizeStep&) = default;
};

/// Steps that leave one number; comparisons give 0 or 1.
using SizeProgram = std::vector<SizeStep>;

/// The number, given the scalar parameters. Division truncates. Raises size_division at `loc`.
int64_t evaluate(const SizeProgram& program, const std::function<int64_t(int)>& size, Loc loc = {});
/// "(a.size(0) + 63) / 64", given the names of the scalar parameters.
std::string to_string(const SizeProgram& program, const std::function<std::string(int)>& name);

/// What the host must find true before a launch.
struct LaunchCheck {
  SizeProgram condition;
  std::string message;  ///< of the error check_failed otherwise
  Loc loc;
};

}  // namespace tilewright::ir
