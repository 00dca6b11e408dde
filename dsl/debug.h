// Looking into a running kernel: printing and assertions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tilewright/dsl/operand.h"

namespace tilewright {

namespace dsl {

/// A text and the place where it was written.
struct TextAt {
  std::string_view text;
  Loc loc;

  TextAt(const char* written, Loc where = Loc::current()) : text(written), loc(where) {}
  TextAt(const std::string& written, Loc where = Loc::current()) : text(written), loc(where) {}
};

void print(const TextAt& format, const std::vector<Operand>& values);

}  // namespace dsl

/// Prints a line to the standard output for each program and each element of the values, which
/// broadcast: `tw::print("x is {} of {}", a[rows], n)` gives
///   kernels.h:12: x is 0.5 of 8 (program (3), element [17])
/// with the number of the program along each axis of the grid, and the element's position. Elements
/// past the end of a tile are left out. "{{" and "}}" are braces. Without values, or with scalars
/// only, each program prints one line. The order of lines on a GPU is not fixed.
/// Errors: print_format, outside_loop.
template <class... T>
void print(dsl::TextAt format, const T&... values) {
  dsl::print(format, std::vector<Operand>{Operand(values, format.loc)...});
}

/// Stops the launch with an error that tells the message, this line and the place of the element
/// where `condition`, a bool tile or scalar, does not hold. On a GPU the message is printed by the
/// driver, and the launch, with its context, ends with the driver's error. Elements past the end of
/// a tile do not count. Errors: function_dtype, outside_loop.
void device_assert(const Operand& condition, dsl::TextAt message);

}  // namespace tilewright
