// What the helpers of codegen/prelude_hopper.h and codegen/prelude_wgmma.h do on the CPU.
#pragma once

#include <string>
#include <string_view>

namespace tilewright::runtime {

/// Members of the host prelude's table of hooks, as in EmulatorHooks behind float_to_f16.
std::string_view hopper_hook_members();
/// Functions of the host prelude that call these hooks.
std::string_view hopper_hook_calls();
/// The host implementation of a helper, all its overloads together; empty when it is none of these.
std::string_view hopper_twin(std::string_view helper);
/// The same for the products of warpgroups, which are made on request.
std::string wgmma_twin(std::string_view helper);

}  // namespace tilewright::runtime
