// Control flow that depends on run-time scalars, and the order of a kernel's grids.
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

/// Traces `body` in a loop that goes on while what `condition` gives holds.
void repeat(const std::function<Operand()>& condition, const std::function<void()>& body, Loc loc);

template <class F>
concept BranchBody = std::is_invocable_r_v<void, F>;
template <class F>
concept Condition =
    std::is_invocable_v<F> && std::is_convertible_v<std::invoke_result_t<F>, Operand>;
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

/// Runs `body` as long as the scalar bool that `condition` computes holds, not at all when it does
/// not at first: `tw::while_([&] { return x > 1; }, [&] { x = x / 2; })`. Variables declared before
/// and assigned in the body are carried from iteration to iteration. A loop that does not end is an
/// error in the interpreter and the emulator (endless_loop), and hangs a GPU. Errors: not_a_scalar,
/// outside_loop, condition_assigns, maybe_unassigned.
template <dsl::Condition Condition, dsl::BranchBody Body>
void while_(const Condition& condition, const Body& body, Loc loc = Loc::current()) {
  static_assert(!std::is_arithmetic_v<std::remove_cvref_t<std::invoke_result_t<Condition>>>,
                "the condition of tw::while_ gives a scalar of the kernel; a C++ value is known "
                "when the kernel is traced and never changes");
  static_assert(std::is_void_v<std::invoke_result_t<Body>>, "a body of tw::while_ returns nothing");
  dsl::repeat([&] { return Operand(condition(), loc); }, body, loc);
}

/// A run-time scalar is not known when the kernel is traced.
template <class T>
requires std::is_base_of_v<Tile, T> int64_t specialize(const T&) {
  static_assert(
      !sizeof(T),
      "tw::specialize takes sizes, which are known when the kernel is traced; for a number "
      "that the kernel is to be compiled for, declare its parameter int64_t (or bool, int, "
      "float, an enum) instead of tw::Scalar");
  return 0;
}

/// Between two grid loops: every program of the first is over, and what it stored is there, before
/// one of the second begins. Without it, nothing orders the grids of a kernel, and one must not
/// touch what another one writes. Errors: barrier_misplaced, grids_depend.
void barrier(Loc loc = Loc::current());

}  // namespace tilewright
