// What emulated kernels need to meet at barriers of their grid, and to be stopped in loops that do
// not end.
#pragma once

#include <string_view>

namespace tilewright::runtime {

/// The last members of the table of hooks, and the functions that call them.
std::string_view grid_hook_members();
std::string_view grid_hook_calls();

/// The host implementation of a helper for grids; empty when it is none.
std::string_view grid_twin(std::string_view helper);

/// Stands before a kernel's body: its while loops count their iterations.
std::string_view counted_loops();

}  // namespace tilewright::runtime
