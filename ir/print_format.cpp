#include "tilewright/ir/print_format.h"

#include <fmt/format.h>

namespace tilewright::ir {

PrintFormat parse_print_format(std::string_view format) {
  PrintFormat result{{""}, ""};
  for (size_t i = 0; i < format.size(); ++i) {
    const char c = format[i];
    const char next = i + 1 < format.size() ? format[i + 1] : '\0';
    if (c == '{' && next == '}') {
      result.texts.emplace_back();
      ++i;
    } else if ((c == '{' || c == '}') && c != next) {
      result.fault = fmt::format(
          "'{}' at position {} stands alone; values stand at {{}}, a brace is written twice", c, i);
      return result;
    } else {
      i += c == '{' || c == '}';
      result.texts.back() += c;
    }
  }
  return result;
}

std::string print_prefix(const Loc& loc) {
  if (!loc.known()) return "";
  const std::string_view file = loc.file.substr(loc.file.find_last_of('/') + 1);
  return fmt::format("{}:{}: ", file, loc.line);
}

}  // namespace tilewright::ir
