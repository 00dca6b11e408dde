// Elementwise operators and functions on tiles.
#pragma once

#include <initializer_list>

#include "tilewright/dsl/operand.h"

namespace tilewright {

// Shapes broadcast as in NumPy: aligned at the last dimension, missing and size-1 dimensions
// stretch. C++ numbers take the tiles' dtype; tiles of different dtypes do not mix (tw::cast).
// Errors of all: shape_mismatch, dtype_mismatch, literal_dtype, literals_only, function_dtype.

Tile operator+(const Operand& x, const Operand& y);
Tile operator-(const Operand& x, const Operand& y);
Tile operator*(const Operand& x, const Operand& y);
Tile operator/(const Operand& x, const Operand& y);  ///< integers truncate; x / 0 is 0
Tile operator%(const Operand& x, const Operand& y);  ///< sign of the dividend; x % 0 is x
Tile operator-(const Operand& x);
Tile operator~(const Operand& x);
Tile operator&(const Operand& x, const Operand& y);
Tile operator|(const Operand& x, const Operand& y);
Tile operator^(const Operand& x, const Operand& y);
Tile operator<<(const Operand& x, const Operand& y);  ///< counts are taken modulo the width
Tile operator>>(const Operand& x, const Operand& y);

Tile operator==(const Operand& x, const Operand& y);  ///< comparisons give bool
Tile operator!=(const Operand& x, const Operand& y);
Tile operator<(const Operand& x, const Operand& y);
Tile operator<=(const Operand& x, const Operand& y);
Tile operator>(const Operand& x, const Operand& y);
Tile operator>=(const Operand& x, const Operand& y);

// Of bool; both sides are evaluated. They take tiles as such, to win over C++'s own operators on a
// tile converted to bool (which does not compile), and so cannot see their line: errors carry that
// of the last operation before.
Tile operator&&(const Tile& x, const Tile& y);
Tile operator&&(const Tile& x, const Operand& y);
Tile operator&&(const Operand& x, const Tile& y);
Tile operator||(const Tile& x, const Tile& y);
Tile operator||(const Tile& x, const Operand& y);
Tile operator||(const Operand& x, const Tile& y);
Tile operator!(const Tile& x);

Tile abs(const Operand& x, Loc loc = Loc::current());
Tile exp(const Operand& x, Loc loc = Loc::current());
Tile exp2(const Operand& x, Loc loc = Loc::current());
Tile log(const Operand& x, Loc loc = Loc::current());
Tile log2(const Operand& x, Loc loc = Loc::current());
Tile log10(const Operand& x, Loc loc = Loc::current());
Tile log1p(const Operand& x, Loc loc = Loc::current());  ///< log(1 + x)
Tile expm1(const Operand& x, Loc loc = Loc::current());  ///< exp(x) - 1
Tile sqrt(const Operand& x, Loc loc = Loc::current());
Tile rsqrt(const Operand& x, Loc loc = Loc::current());
Tile sin(const Operand& x, Loc loc = Loc::current());
Tile cos(const Operand& x, Loc loc = Loc::current());
Tile tan(const Operand& x, Loc loc = Loc::current());
Tile asin(const Operand& x, Loc loc = Loc::current());
Tile acos(const Operand& x, Loc loc = Loc::current());
Tile atan(const Operand& x, Loc loc = Loc::current());
Tile atan2(const Operand& y, const Operand& x, Loc loc = Loc::current());
Tile sinh(const Operand& x, Loc loc = Loc::current());
Tile cosh(const Operand& x, Loc loc = Loc::current());
Tile tanh(const Operand& x, Loc loc = Loc::current());
Tile erf(const Operand& x, Loc loc = Loc::current());
Tile floor(const Operand& x, Loc loc = Loc::current());
Tile ceil(const Operand& x, Loc loc = Loc::current());
Tile round(const Operand& x, Loc loc = Loc::current());  ///< to the nearest integer, halves to even
Tile trunc(const Operand& x, Loc loc = Loc::current());  ///< towards 0
Tile pow(const Operand& x, const Operand& y, Loc loc = Loc::current());
Tile min(const Operand& x, const Operand& y, Loc loc = Loc::current());  ///< NaN if either is
Tile max(const Operand& x, const Operand& y, Loc loc = Loc::current());
Tile minimum(const Operand& x, const Operand& y, Loc loc = Loc::current());
Tile maximum(const Operand& x, const Operand& y, Loc loc = Loc::current());
/// min(max(x, low), high).
Tile clamp(const Operand& x, const Operand& low, const Operand& high, Loc loc = Loc::current());
/// x * y + z, rounded once.
Tile fma(const Operand& x, const Operand& y, const Operand& z, Loc loc = Loc::current());
/// x where condition (bool), y elsewhere; all three broadcast.
Tile where(const Operand& condition, const Operand& x, const Operand& y, Loc loc = Loc::current());
/// Float to float rounds to nearest even; float to integer truncates and saturates, NaN gives 0.
Tile cast(const Operand& x, DType dtype, Loc loc = Loc::current());

// Of floats; false for integers (isfinite: true).
Tile isnan(const Operand& x, Loc loc = Loc::current());
Tile isinf(const Operand& x, Loc loc = Loc::current());
Tile isfinite(const Operand& x, Loc loc = Loc::current());

// Made of the functions above; half types compute in f32 and round once.
Tile sigmoid(const Operand& x, Loc loc = Loc::current());   ///< 1 / (1 + exp(-x))
Tile silu(const Operand& x, Loc loc = Loc::current());      ///< x / (1 + exp(-x))
Tile softplus(const Operand& x, Loc loc = Loc::current());  ///< log(1 + exp(x))
Tile gelu(const Operand& x, Loc loc = Loc::current());      ///< x / 2 * (1 + erf(x / sqrt(2)))
/// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
Tile gelu_tanh(const Operand& x, Loc loc = Loc::current());
Tile relu(const Operand& x, Loc loc = Loc::current());        ///< max(x, 0)
Tile reciprocal(const Operand& x, Loc loc = Loc::current());  ///< 1 / x
Tile square(const Operand& x, Loc loc = Loc::current());      ///< x * x
Tile sign(const Operand& x, Loc loc = Loc::current());        ///< -1, 0 or 1; x itself for NaN

}  // namespace tilewright
