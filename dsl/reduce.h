// Reductions of tiles, and products of two tiles.
#pragma once

#include <vector>

#include "tilewright/dsl/operand.h"
#include "tilewright/ir/precision.h"

namespace tilewright {

/// Dimensions to reduce: `tw::axis(1)`, `tw::axis(0, -1)`; negative counts from the last.
struct Axes {
  std::vector<int> dims;
};
template <std::integral... T>
Axes axis(T... dims) {
  return {{static_cast<int>(dims)...}};
}

/// Whether reduced dimensions stay, with size 1.
enum class KeepDims : bool { no, yes };
inline constexpr KeepDims keep_dims = KeepDims::yes;

// Without axes, everything is reduced, to a scalar. Positions past a clipped tile's end count as
// the operator's identity. Errors: bad_axis, function_dtype, reduce_nothing.

/// Narrow floats add in f32 and round once; integers below 64 bits, and bool, give i32.
Tile sum(const Operand& x, Loc loc = Loc::current());
Tile sum(const Operand& x, const Axes& axes, KeepDims keep = KeepDims::no,
         Loc loc = Loc::current());
/// As sum.
Tile prod(const Operand& x, Loc loc = Loc::current());
Tile prod(const Operand& x, const Axes& axes, KeepDims keep = KeepDims::no,
          Loc loc = Loc::current());
/// NaN if any is; max(-0, +0) is +0. Over a size known to be 0: reduce_nothing.
Tile max(const Operand& x, Loc loc = Loc::current());
Tile max(const Operand& x, const Axes& axes, KeepDims keep = KeepDims::no,
         Loc loc = Loc::current());
Tile min(const Operand& x, Loc loc = Loc::current());
Tile min(const Operand& x, const Axes& axes, KeepDims keep = KeepDims::no,
         Loc loc = Loc::current());
/// Of bool; tw::all(x, axes, keep) likewise.
Tile any(const Operand& x, Loc loc = Loc::current());
Tile any(const Operand& x, const Axes& axes, KeepDims keep = KeepDims::no,
         Loc loc = Loc::current());

// Precisions of a dot; see ir/precision.h.
inline constexpr DotPrecision ieee = DotPrecision::ieee;
inline constexpr DotPrecision tf32 = DotPrecision::tf32;
inline constexpr DotPrecision tf32x3 = DotPrecision::tf32x3;
inline constexpr DotPrecision two_level = DotPrecision::two_level;

/// a [M,K] times b [K,N], plus acc [M,N] where given. a and b are both f16, bf16, f32 or f8, of
/// either kind each (acc and result f32), f64 (f64), i8 or u8 (i32). An f32 product is IEEE f32
/// unless asked for as tw::tf32 or tw::tf32x3; one of f8 may be asked for as tw::two_level, which
/// keeps a long sum's small terms. Errors: dot_dtype, dot_shape, dot_precision.
Tile dot(const Operand& a, const Operand& b, Loc loc = Loc::current());
Tile dot(const Operand& a, const Operand& b, DotPrecision precision, Loc loc = Loc::current());
Tile dot(const Operand& a, const Operand& b, const Operand& acc, Loc loc = Loc::current());
Tile dot(const Operand& a, const Operand& b, const Operand& acc, DotPrecision precision,
         Loc loc = Loc::current());
Tile addmm(const Operand& acc, const Operand& a, const Operand& b, Loc loc = Loc::current());
Tile addmm(const Operand& acc, const Operand& a, const Operand& b, DotPrecision precision,
           Loc loc = Loc::current());

}  // namespace tilewright
