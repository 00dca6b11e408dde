// Host implementations of the helpers for atomics (codegen/prelude_atomics.h).
#pragma once

#include <string>
#include <string_view>

namespace tilewright::runtime {

/// What all of them use; stands behind the hooks.
std::string_view atomic_hook_calls();

/// The host implementation of one helper; empty for names that are none.
std::string atomic_twin(std::string_view helper);

}  // namespace tilewright::runtime
