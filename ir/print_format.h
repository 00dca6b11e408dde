// The text of the print operation: what stands between the values it prints.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tilewright/ir/loc.h"

namespace tilewright::ir {

/// A format, taken apart: one text more than there are values.
struct PrintFormat {
  std::vector<std::string> texts;
  std::string fault;  ///< what is wrong with the format; empty: nothing

  size_t values() const { return texts.size() - 1; }
};

/// Values stand at "{}"; "{{" and "}}" are braces.
PrintFormat parse_print_format(std::string_view format);

/// "kernels.h:12: ", what printed lines begin with; empty when the place is not known.
std::string print_prefix(const Loc& loc);

}  // namespace tilewright::ir
