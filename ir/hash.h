// A stable identity of a function's meaning.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tilewright/ir/node.h"

namespace tilewright::ir {

/// A 64-bit hash of bytes, the same on every machine and in every version.
uint64_t hash_text(std::string_view text);

/// The hash of the text of `fn` without names and locations: renaming variables or moving the
/// source does not change it, and neither do limits of dynamic sizes, for which the code is often
/// the same; shapes, strides, block sizes and operations do.
uint64_t hash(const Function& fn);

/// Eight hexadecimal digits of a hash, for names of symbols and files.
std::string hex8(uint64_t hash);

}  // namespace tilewright::ir
