// How wide atomics may be, and what they are called in printed CUDA.
#pragma once

#include <string>

#include "tilewright/codegen/access.h"
#include "tilewright/codegen/config.h"
#include "tilewright/codegen/target.h"

namespace tilewright::codegen {

/// Whether anything uses `value`.
bool is_used(const ir::Function& fn, const ir::Value* value);

/// analyze_access, with the width that the target has for an atomic.
AccessFacts access_facts(const ir::Function& fn, const ir::Facts& facts, const ir::Op& op,
                         const Config& config, const Target& target);

/// The device helper for an atomic (prelude_atomics.h): the one that gives nothing where nothing is
/// asked for and there is one, `vector` elements at a time.
std::string atomic_helper(const ir::Op& op, bool used, int vector);

}  // namespace tilewright::codegen
