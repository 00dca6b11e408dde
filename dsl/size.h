// Sizes of tensors, known when a kernel is traced or launched, and checks on them.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "tilewright/ir/error.h"
#include "tilewright/ir/functions.h"
#include "tilewright/ir/loc.h"

namespace tilewright {

class Size;

namespace dsl {

/// A condition on sizes, where one of them is dynamic: `tw::check` finds out before each launch.
/// As a bool it has a value when both are known; raises dynamic_size otherwise.
class SizeTest {
 public:
  constexpr SizeTest(bool value) : value_(value) {}
  SizeTest(int number, uint32_t trace) : number_(number), trace_(trace) {}
  constexpr bool known() const { return number_ < 0; }
  constexpr operator bool() const { return known() ? value_ : raise_unknown(); }
  int number() const { return number_; }
  uint32_t trace() const { return trace_; }

 private:
  [[noreturn]] bool raise_unknown() const;
  bool value_ = false;
  int number_ = -1;  ///< of the trace's computations
  uint32_t trace_ = 0;
};

/// x fn y, where one of them is dynamic.
Size computed(ir::Fn fn, Size x, Size y);
SizeTest compared(ir::Fn fn, Size x, Size y);
/// "a.size(0) + 1"
std::string text_of(Size size);
/// The number; raises dynamic_size, naming what needs one, when the size is dynamic.
int64_t known_size(Size size, std::string_view what, Loc loc);

}  // namespace dsl

/// A size. Of known sizes, arithmetic and comparisons happen while tracing (C++ division:
/// truncating) and the result specializes the kernel. The first size of a tensor may be dynamic:
/// known when the kernel is launched. What is computed from it is dynamic too: it can bound loops,
/// size results, be checked and be an i64 scalar of the kernel.
class Size {
 public:
  constexpr Size() = default;
  template <std::integral T>
  constexpr Size(T value) : value_(static_cast<int64_t>(value)) {}
  Size(int number, uint32_t trace) : number_(number), trace_(trace) {}  ///< used by the library

  constexpr bool dynamic() const { return number_ >= 0; }
  /// Raises dynamic_size.
  constexpr int64_t value(Loc loc = Loc::current()) const {
    return dynamic() ? dsl::known_size(*this, "a plain number", loc) : value_;
  }
  constexpr explicit operator int64_t() const { return value(Loc{}); }
  int number() const { return number_; }  ///< among the trace's computations; -1: known
  uint32_t trace() const { return trace_; }

  friend constexpr Size operator+(Size a, Size b) {
    return both_known(a, b) ? Size(a.value_ + b.value_) : dsl::computed(ir::Fn::add, a, b);
  }
  friend constexpr Size operator-(Size a, Size b) {
    return both_known(a, b) ? Size(a.value_ - b.value_) : dsl::computed(ir::Fn::sub, a, b);
  }
  friend constexpr Size operator*(Size a, Size b) {
    return both_known(a, b) ? Size(a.value_ * b.value_) : dsl::computed(ir::Fn::mul, a, b);
  }
  /// Raises size_division when b is 0.
  friend Size operator/(Size a, Size b) {
    return both_known(a, b) ? Size(a.value_ / nonzero(b)) : dsl::computed(ir::Fn::div, a, b);
  }
  friend Size operator%(Size a, Size b) {
    return both_known(a, b) ? Size(a.value_ % nonzero(b)) : dsl::computed(ir::Fn::rem, a, b);
  }
  friend constexpr Size operator-(Size a) { return Size(0) - a; }
  friend constexpr dsl::SizeTest operator==(Size a, Size b) {
    return both_known(a, b) ? dsl::SizeTest(a.value_ == b.value_) : dsl::compared(ir::Fn::eq, a, b);
  }
  friend constexpr dsl::SizeTest operator!=(Size a, Size b) {
    return both_known(a, b) ? dsl::SizeTest(a.value_ != b.value_) : dsl::compared(ir::Fn::ne, a, b);
  }
  friend constexpr dsl::SizeTest operator<(Size a, Size b) {
    return both_known(a, b) ? dsl::SizeTest(a.value_ < b.value_) : dsl::compared(ir::Fn::lt, a, b);
  }
  friend constexpr dsl::SizeTest operator<=(Size a, Size b) {
    return both_known(a, b) ? dsl::SizeTest(a.value_ <= b.value_) : dsl::compared(ir::Fn::le, a, b);
  }
  friend constexpr dsl::SizeTest operator>(Size a, Size b) { return b < a; }
  friend constexpr dsl::SizeTest operator>=(Size a, Size b) { return b <= a; }

 private:
  static constexpr bool both_known(Size a, Size b) { return !a.dynamic() && !b.dynamic(); }
  static int64_t nonzero(Size divisor) {
    if (divisor.value_ == 0) raise(ErrorId::size_division, Loc{});
    return divisor.value_;
  }
  int64_t value_ = 0;
  int number_ = -1;
  uint32_t trace_ = 0;
};

/// ceil(a / b) for non-negative a and positive b: how many blocks of b cover a.
inline Size cdiv(Size a, Size b) { return (a + b - 1) / b; }

/// The size as a plain number, for a C++ `if` or an array length: the kernel is specialized to it.
/// Raises dynamic_size.
constexpr int64_t specialize(Size size, Loc loc = Loc::current()) { return size.value(loc); }

namespace dsl {

/// A checked format string and the place where it was written.
template <class... Args>
struct FormatAt {
  fmt::format_string<Args...> format;
  Loc loc;

  template <class Text>
  consteval FormatAt(const Text& text, Loc where = Loc::current()) : format(text), loc(where) {}
};

}  // namespace dsl

/// Raises check_failed with the formatted message, at the caller's line, unless `ok`. For what must
/// hold of sizes and dtypes when a kernel is traced.
template <class... Args>
void check(bool ok, dsl::FormatAt<std::type_identity_t<Args>...> message, const Args&... args) {
  if (ok) return;
  raise(ErrorId::check_failed, message.loc,
        fmt::vformat(fmt::string_view(message.format), fmt::make_format_args(args...)));
}

namespace dsl {
/// Checks it before every launch.
void check_at_launch(SizeTest condition, std::string message, Loc loc);
}  // namespace dsl

/// The same for a condition that may have dynamic sizes in it: then it is checked before every
/// launch, and raises check_failed there.
template <class... Args>
void check(dsl::SizeTest ok, dsl::FormatAt<std::type_identity_t<Args>...> message,
           const Args&... args) {
  if (ok.known()) return check(static_cast<bool>(ok), message, args...);
  dsl::check_at_launch(
      ok, fmt::vformat(fmt::string_view(message.format), fmt::make_format_args(args...)),
      message.loc);
}

}  // namespace tilewright

/// A number, or the text of a dynamic size.
template <>
struct fmt::formatter<tilewright::Size> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(tilewright::Size size, Context& context) const {
    const std::string text = tilewright::dsl::text_of(size);
    return fmt::formatter<std::string_view>::format(text, context);
  }
};
