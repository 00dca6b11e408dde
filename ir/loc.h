// A place in the user's source, captured by default arguments.
#pragma once

#include <string_view>

namespace tilewright {

/// File and line of a user's statement. `file` points to static or interned storage; line 0 means
/// "unknown".
struct Loc {
  std::string_view file;
  int line = 0;

  /// The caller's position, when used as a default argument (g++ and clang both give the call site,
  /// for operators too when it is the default argument of an implicit conversion).
  static constexpr Loc current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
  bool known() const { return line > 0; }
  friend bool operator==(const Loc&, const Loc&) = default;
};

}  // namespace tilewright
