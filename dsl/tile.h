// Tile, Scalar and TensorRef: the run-time values of a kernel, as C++ variables.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tilewright/dsl/dtypes.h"
#include "tilewright/dsl/size.h"
#include "tilewright/ir/loc.h"

namespace tilewright {

namespace ir {
struct Value;
}

class Operand;
class Tile;
class TileIndex;
class Tensor;
class TensorRef;

struct Axes;
enum class KeepDims : bool;

/// A full slice: `a[rows, tw::all]` takes a whole dimension, `x[tw::all, tw::none]` keeps one.
/// Called, `tw::all(x)` is the reduction: whether all of a bool tile (along some axes) are true.
struct All {
  Tile operator()(const Operand& x, Loc loc = Loc::current()) const;
  Tile operator()(const Operand& x, const Axes& axes, Loc loc = Loc::current()) const;
  Tile operator()(const Operand& x, const Axes& axes, KeepDims keep,
                  Loc loc = Loc::current()) const;
};
inline constexpr All all{};
/// A new dimension of size 1: `x[tw::all, tw::none]`.
struct None {};
inline constexpr None none{};

namespace dsl {

/// A number written in C++, before it has taken a tile's dtype.
using LiteralValue = std::variant<bool, int64_t, double>;

/// A C++ number and where it was written.
struct Literal {
  LiteralValue value;
  Loc loc;

  template <class T>
  requires std::is_arithmetic_v<T> Literal(T number, Loc where = Loc::current())
      : value(widen(number)), loc(where) {}

  template <class T>
  static LiteralValue widen(T number) {
    if constexpr (std::is_same_v<T, bool>) return number;
    if constexpr (std::is_floating_point_v<T>) return static_cast<double>(number);
    return static_cast<int64_t>(number);
  }
};

/// Names a variable of a trace.
struct Slot {
  int id = -1;
  uint32_t trace = 0;  ///< number of the trace it belongs to
};

/// An index of a Tile's view: tw::all or tw::none.
struct ViewIndex {
  bool insert = false;
  Loc loc;
  ViewIndex(All, Loc where = Loc::current()) : loc(where) {}
  ViewIndex(None, Loc where = Loc::current()) : insert(true), loc(where) {}
};

Tile view(const Tile& x, const std::vector<ViewIndex>& indices);

/// Subscripts of one arity: not a template, so that each argument converts implicitly and thereby
/// captures its line. Derived must have `subscript(std::vector<Index>)`.
template <class Derived, class Result, class Index, class Positions>
struct SubscriptOf;

template <class Index, size_t>
using RepeatType = Index;

template <class Derived, class Result, class Index, size_t... I>
struct SubscriptOf<Derived, Result, Index, std::index_sequence<I...>> {
  Result operator()(RepeatType<const Index&, I>... indices) const {
    return static_cast<const Derived&>(*this).subscript(std::vector<Index>{indices...});
  }
#if defined(__cpp_multidimensional_subscript) && __cpp_multidimensional_subscript >= 202110L
  Result operator[](RepeatType<const Index&, I>... indices) const {
    return static_cast<const Derived&>(*this).subscript(std::vector<Index>{indices...});
  }
#endif
};

#if !(defined(__cpp_multidimensional_subscript) && __cpp_multidimensional_subscript >= 202110L)
template <class Derived, class Result, class Index>
struct SubscriptOf<Derived, Result, Index, std::index_sequence<0>> {
  Result operator()(const Index& index) const {
    return static_cast<const Derived&>(*this).subscript(std::vector<Index>{index});
  }
  Result operator[](const Index& index) const {
    return static_cast<const Derived&>(*this).subscript(std::vector<Index>{index});
  }
};
#endif

/// operator() of 1 to 8 indices; operator[] of one, and of 1 to 8 from C++23.
template <class Derived, class Result, class Index, size_t... N>
struct SubscriptsOf : SubscriptOf<Derived, Result, Index, std::make_index_sequence<N>>... {
  using SubscriptOf<Derived, Result, Index, std::make_index_sequence<N>>::operator()...;
#if defined(__cpp_multidimensional_subscript) && __cpp_multidimensional_subscript >= 202110L
  using SubscriptOf<Derived, Result, Index, std::make_index_sequence<N>>::operator[]...;
#else
  using SubscriptOf<Derived, Result, Index, std::make_index_sequence<1>>::operator[];
#endif
};

template <class Derived, class Result, class Index>
using Subscripts = SubscriptsOf<Derived, Result, Index, 1, 2, 3, 4, 5, 6, 7, 8>;

}  // namespace dsl

/// A variable that holds a tile: an n-dimensional block of values, one program's part of an array.
/// The empty shape is a scalar known at run time. Copying makes a new variable with the same value;
/// assigning one declared outside a loop carries it from iteration to iteration. The first
/// assignment fixes dtype and shape.
///
/// `x[tw::all, tw::none]` (or `x(tw::all, tw::none)`) inserts dimensions of size 1.
class Tile : public dsl::Subscripts<Tile, Tile, dsl::ViewIndex> {
 public:
  /// A variable not yet assigned.
  Tile(Loc loc = Loc::current());
  Tile(const Tile& other, Loc loc = Loc::current());
  /// Errors: variable_changes when dtype or shape are not those of the first assignment.
  Tile& operator=(const Tile& other) &;
  /// Fills the variable, which must have been assigned before, with one number.
  Tile& operator=(const dsl::Literal& value) &;

  Tile& operator+=(const Operand& other) &;
  Tile& operator-=(const Operand& other) &;
  Tile& operator*=(const Operand& other) &;
  Tile& operator/=(const Operand& other) &;
  Tile& operator%=(const Operand& other) &;
  Tile& operator&=(const Operand& other) &;
  Tile& operator|=(const Operand& other) &;
  Tile& operator^=(const Operand& other) &;

  /// Errors: used_before_assignment.
  DType dtype(Loc loc = Loc::current()) const;
  int rank(Loc loc = Loc::current()) const;
  /// The transpose of a tile of two dimensions.
  Tile t(Loc loc = Loc::current()) const;

  /// A C++ `if`, `while`, `?:` or `!` on a run-time value does not compile.
  template <class B>
  requires std::is_same_v<B, bool>
  explicit constexpr operator B() const {
    static_assert(!std::is_same_v<B, bool>,
                  "a C++ condition cannot depend on a run-time value: use tw::if_ for a branch, "
                  "tw::where to choose per element, or tw::specialize for a size known when the "
                  "kernel is traced");
    return false;
  }

  // Used by the library.
  Tile subscript(const std::vector<dsl::ViewIndex>& indices) const {
    return dsl::view(*this, indices);
  }
  dsl::Slot slot() const { return slot_; }
  static Tile of(const ir::Value* value, Loc loc);
  explicit Tile(dsl::Slot slot) : slot_(slot) {}

 protected:
  struct FromValue {};
  Tile(FromValue, const ir::Value* value, Loc loc);

 private:
  dsl::Slot slot_;
};

namespace dsl {
/// Raises not_a_scalar unless `tile` is a scalar of this dtype.
void expect_scalar(const Tile& tile, DType dtype, Loc loc);
Tile scalar_literal(const LiteralValue& value, DType dtype, Loc loc);
}  // namespace dsl

/// A run-time scalar of a known C++ type: a kernel's parameter, or what .begin(), .end(), .size(),
/// .id() and tw::grid give. A variable like every Tile.
template <class T>
class Scalar : public Tile {
  static_assert(Element<T>, "tw::Scalar<T> takes bool, float, double or a signed integer type");

 public:
  Scalar(const Scalar& other, Loc loc = Loc::current()) : Tile(other, loc) {}
  /// Errors: not_a_scalar when `value` is not a scalar of this type.
  Scalar(const Tile& value, Loc loc = Loc::current()) : Tile(value, loc) {
    dsl::expect_scalar(value, dtype_of<T>(), loc);
  }
  Scalar(T value, Loc loc = Loc::current())
      : Tile(dsl::scalar_literal(dsl::Literal::widen(value), dtype_of<T>(), loc), loc) {}
  Scalar(FromValue tag, const ir::Value* value, Loc loc) : Tile(tag, value, loc) {}

  Scalar& operator=(const Scalar& other) & {
    Tile::operator=(other);
    return *this;
  }
  using Tile::operator=;

  explicit Scalar(dsl::Slot slot) : Tile(slot) {}
  static Scalar of(const ir::Value* value, Loc loc) { return Scalar(FromValue{}, value, loc); }
};

namespace dsl {

/// An access of a parameter of the kernel, through what may be a view of it.
struct TensorAccess {
  const ir::Value* tensor = nullptr;
  std::vector<const ir::Value*> indices;  ///< of the parameter
  const ir::Value* mask = nullptr;        ///< what a view asks for; of the access's shape
  std::vector<int64_t> dims;  ///< dimension i of the user's tile is the access's dims[i]; empty: i
};

}  // namespace dsl

/// What indexing a Tensor gives. It has loaded the tile: it is a variable like any Tile, and
/// assigning to a named one (`auto x = a[i, j]; x = y;`) rebinds the variable. Assigning to the
/// unnamed one (`c[i, j] = y`) stores to memory, converting to the tensor's dtype.
class TensorRef : public Tile {
 public:
  TensorRef(const TensorRef& other, Loc loc = Loc::current());

  TensorRef& operator=(const TensorRef& other) & {
    Tile::operator=(other);
    return *this;
  }
  TensorRef& operator=(const Tile& other) & {
    Tile::operator=(other);
    return *this;
  }
  TensorRef& operator=(const dsl::Literal& value) & {
    Tile::operator=(value);
    return *this;
  }

  /// Store. Shapes broadcast to the indexed one; int to float and float to float convert.
  /// Errors: shape_mismatch, store_needs_cast (float or bool to another kind).
  void operator=(const TensorRef& value) &&;
  void operator=(const Operand& value) &&;

  using Tile::operator+=;
  using Tile::operator-=;
  using Tile::operator*=;
  using Tile::operator/=;
  /// Load, combine, store.
  void operator+=(const Operand& value) &&;
  void operator-=(const Operand& value) &&;
  void operator*=(const Operand& value) &&;
  void operator/=(const Operand& value) &&;

  // Used by the library.
  TensorRef(const ir::Value* loaded, dsl::TensorAccess access, Loc loc);
  /// What it refers to. Errors: value_escapes.
  const dsl::TensorAccess& access(std::string_view what, Loc loc) const;
  Loc loc() const { return loc_; }

 private:
  dsl::TensorAccess access_;
  uint64_t frame_;  ///< the loop body in which the indices were made
  Loc loc_;
};

}  // namespace tilewright
