// Functions of the user's program that stand for a kernel's PTX where that cannot run.
#pragma once

#include <string>
#include <string_view>

namespace tilewright::ir {

/// Computes one element: reads an object of the C++ type of its dtype (float for narrower floats)
/// behind each argument, writes one behind `result`.
using HostFunction = void (*)(const void* const* arguments, void* result);

/// Makes a function known by name for as long as the program runs, so that the text of tile IR can
/// name it. The name is made of `identity`, and is the same for the same function. Thread-safe.
std::string register_host_function(std::string_view identity, HostFunction function);

/// The function of that name; null when there is none.
HostFunction find_host_function(std::string_view name);

}  // namespace tilewright::ir
