// Branches on run-time scalars.
#pragma once

#include <functional>
#include <type_traits>

#include "tilewright/dsl/operand.h"

namespace tilewright {

namespace dsl {
/// Traces `then` and, unless empty, `otherwise` under a run-time condition, or runs the one that a
/// C++ bool chooses.
void branch(const Operand& condition, const std::function<void()>& then,
            const std::function<void()>& otherwise, Loc loc);

template <class F>
concept BranchBody = std::is_invocable_r_v<void, F>;
}  // namespace dsl

/// Runs `then` where the scalar bool `condition` holds: `tw::if_(x > 0, [&] { acc += x; })`.
/// Variables assigned inside are merged with their values before. Errors: not_a_scalar,
/// outside_loop, maybe_unassigned.
template <dsl::BranchBody Then>
void if_(const Operand& condition, const Then& then, Loc loc = Loc::current()) {
  static_assert(std::is_void_v<std::invoke_result_t<Then>>, "a branch of tw::if_ returns nothing");
  dsl::branch(condition, then, {}, loc);
}

/// The same with an alternative.
template <dsl::BranchBody Then, dsl::BranchBody Else>
void if_(const Operand& condition, const Then& then, const Else& otherwise,
         Loc loc = Loc::current()) {
  static_assert(
      std::is_void_v<std::invoke_result_t<Then>> && std::is_void_v<std::invoke_result_t<Else>>,
      "a branch of tw::if_ returns nothing");
  dsl::branch(condition, then, otherwise, loc);
}

}  // namespace tilewright
