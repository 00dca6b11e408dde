// The value of an operation on scalar constants, by the rules that every back end follows: integers
// wrap, x / 0 is 0, shift counts are masked, conversions saturate, floats round after each
// operation.
#pragma once

#include <optional>

#include "tilewright/ir/functions.h"
#include "tilewright/ir/node.h"

namespace tilewright::ir {

/// A constant. Integers and bool (0 or 1) are in `i`, within the dtype's range; floats in `f`,
/// representable in the dtype.
struct Scalar {
  DType dtype = DType::i64;
  int64_t i = 0;
  double f = 0;

  static Scalar of(DType dtype, int64_t value);  ///< wraps to the dtype; an integer dtype
  static Scalar of(DType dtype, double value);   ///< rounds to the dtype; a float dtype
  /// Same dtype and same bits, so that 0.0 is not -0.0 and NaN is NaN.
  bool identical(const Scalar& other) const;
};

int bits_of(DType dtype);     ///< width of an integer dtype; 1 for bool
int64_t min_of(DType dtype);  ///< least value of an integer dtype or bool
int64_t max_of(DType dtype);
int64_t wrap_to(DType dtype, int64_t value);
/// `value` rounded to nearest even in a float dtype, once; too large a one becomes infinity, or the
/// greatest value of an f8 type.
double round_to(DType dtype, double value);

/// None where the function is not exactly specified (exp and its kind) or takes another dtype.
std::optional<Scalar> fold_unary(Fn fn, const Scalar& x);
std::optional<Scalar> fold_binary(Fn fn, const Scalar& x, const Scalar& y);
bool fold_compare(Fn fn, const Scalar& x, const Scalar& y);
/// x * y + z of floats, rounded once.
Scalar fold_fma(const Scalar& x, const Scalar& y, const Scalar& z);
/// None for large integers to half types, where back ends may round on the way.
std::optional<Scalar> fold_cast(const Scalar& x, DType to);

}  // namespace tilewright::ir
