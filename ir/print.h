// The text form of tile IR; parse.h reads it back, docs/ir.md describes it.
#pragma once

#include <string>

#include "tilewright/ir/node.h"

namespace tilewright::ir {

struct PrintOptions {
  bool locations = false;  ///< append loc("file":line) where known
  bool names = true;       ///< the user's names; else values are numbered and nothing is named
  bool limits = true;      ///< of dynamic sizes
};

/// Deterministic text of `fn`, one operation a line. Values are %name (made unique: %acc, %acc.1)
/// or %0, %1. Never throws, also not on functions that the verifier refuses.
std::string print(const Function& fn, const PrintOptions& options = {});

std::string to_string(const Attr& attr);  ///< "3", "0.5", "add", "[0,1]", "[B0,128]", "\"text\""
/// The shortest text that reads back as `value`, always with a point or an exponent: "1.0", "-inf",
/// "nan" (sign and payload of a NaN are not kept).
std::string float_text(double value);
/// `text` in double quotes, with escapes.
std::string quoted(std::string_view text);

}  // namespace tilewright::ir
