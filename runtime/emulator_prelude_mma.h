// What the helpers of codegen/prelude_mma.h do on the CPU.
#pragma once

#include <string_view>

namespace tilewright::runtime {

/// The host implementation of a helper, as C++ over the hooks of emulator_prelude.cpp and the
/// helpers shuffle and to_float; empty when it is none of these.
std::string_view mma_twin(std::string_view helper);

}  // namespace tilewright::runtime
