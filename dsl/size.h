// Sizes of tensors, known when a kernel is traced, and checks on them.
#pragma once

#include <fmt/format.h>

#include <compare>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "tilewright/ir/error.h"
#include "tilewright/ir/loc.h"

namespace tilewright {

/// A size. Arithmetic and comparisons happen while tracing (C++ division: truncating); the result
/// specializes the kernel. Kept a class, so that sizes unknown while tracing can join it.
class Size {
 public:
  constexpr Size() = default;
  template <std::integral T>
  constexpr Size(T value) : value_(static_cast<int64_t>(value)) {}

  constexpr int64_t value() const { return value_; }
  constexpr explicit operator int64_t() const { return value_; }

  friend constexpr Size operator+(Size a, Size b) { return a.value_ + b.value_; }
  friend constexpr Size operator-(Size a, Size b) { return a.value_ - b.value_; }
  friend constexpr Size operator*(Size a, Size b) { return a.value_ * b.value_; }
  /// Raises size_division when b is 0.
  friend Size operator/(Size a, Size b) { return a.value_ / nonzero(b); }
  friend Size operator%(Size a, Size b) { return a.value_ % nonzero(b); }
  friend constexpr Size operator-(Size a) { return -a.value_; }
  friend constexpr bool operator==(Size a, Size b) { return a.value_ == b.value_; }
  friend constexpr auto operator<=>(Size a, Size b) { return a.value_ <=> b.value_; }

 private:
  static int64_t nonzero(Size divisor) {
    if (divisor.value_ == 0) raise(ErrorId::size_division, Loc{});
    return divisor.value_;
  }
  int64_t value_ = 0;
};

/// ceil(a / b) for non-negative a and positive b: how many blocks of b cover a.
inline Size cdiv(Size a, Size b) { return (a + b - 1) / b; }

/// The size as a plain number, for a C++ `if` or an array length: the kernel is specialized to it.
constexpr int64_t specialize(Size size) { return size.value(); }

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

}  // namespace tilewright

template <>
struct fmt::formatter<tilewright::Size> : fmt::formatter<int64_t> {
  template <class Context>
  auto format(tilewright::Size size, Context& context) const {
    return fmt::formatter<int64_t>::format(size.value(), context);
  }
};
