// Lines of the user's source files, for names in the IR and comments in the generated code.
#pragma once

#include <optional>
#include <string>

#include "tilewright/ir/loc.h"

namespace tilewright {

/// The text of a line, without its newline; nothing when the file cannot be read or has no such
/// line. Files are read once and kept. Thread-safe. What it gives must never be part of a key: the
/// file need not be the one that was compiled.
std::optional<std::string> source_line(Loc loc);

}  // namespace tilewright
