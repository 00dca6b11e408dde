// The words of tile IR text.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "tilewright/ir/error.h"

namespace tilewright::ir {

struct Token {
  enum class Kind : uint8_t {
    word,    ///< [A-Za-z_][A-Za-z0-9_]*
    value,   ///< %name, without the %
    number,  ///< -12, 0.5, 1e-30, -inf
    string,  ///< with the escapes resolved
    mark,    ///< one of ( ) { } [ ] < > , : = @ ? or ->
    end,
  };
  Kind kind = Kind::end;
  std::string text;
  int line = 0;
  bool starts_line = false;

  bool is(Kind k, std::string_view t) const { return kind == k && text == t; }
  /// How an error message calls it.
  std::string described() const;
};

/// The tokens of `text`, the last of kind end. Comments run from // to the end of the line. Raises
/// parse_ir on characters that start no token.
std::vector<Token> tokenize(std::string_view text);

/// Raises parse_ir for a line of the text.
template <class... Args>
[[noreturn]] void fail_parse(int line, fmt::format_string<Args...> format, Args&&... args) {
  raise(ErrorId::parse_ir, Loc{}, line, fmt::format(format, std::forward<Args>(args)...));
}

/// The number in a token; raises parse_ir when it is not one of the kind, or outside min..max.
int64_t integer_of(const Token& token, int64_t min, int64_t max);
double real_of(const Token& token);
/// Whether a number is written as an integer.
bool is_integer_text(const Token& token);

}  // namespace tilewright::ir
