// What operators and functions on tiles take: a tile, a scalar or a C++ number.
#pragma once

#include <optional>

#include "tilewright/dsl/loops.h"
#include "tilewright/dsl/tile.h"

namespace tilewright {

/// An operand. Made implicitly, so that it captures the line it is written on, and reads its
/// variable at once. A C++ number, or a Size, takes the dtype of the other operands; it must be
/// representable in it as a kind (no 0.5 in an integer tile).
class Operand {
 public:
  Operand(const Tile& tile, Loc loc = Loc::current());
  Operand(const TileIndex& index, Loc loc = Loc::current());  ///< one of tw::each: its position
  Operand(Size size, Loc loc = Loc::current());               ///< a dynamic one is an i64 scalar
  template <class T>
  requires std::is_arithmetic_v<T> Operand(T value, Loc loc = Loc::current())
      : literal_(dsl::Literal::widen(value)), loc_(loc) {}
  Operand(const dsl::Literal& literal) : literal_(literal.value), loc_(literal.loc) {}

  /// Null for a literal.
  const ir::Value* value() const { return value_; }
  const dsl::LiteralValue& literal() const { return *literal_; }
  Loc loc() const { return loc_; }

 private:
  const ir::Value* value_ = nullptr;
  std::optional<dsl::LiteralValue> literal_;
  Loc loc_;
};

}  // namespace tilewright
