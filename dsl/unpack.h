// Numbers of 4 bits, two in each byte.
#pragma once

#include <array>

#include "tilewright/dsl/operand.h"

namespace tilewright {

// Each takes a u8 tile and gives two of its shape: what the low halves of its bytes hold, the first
// of each pair, and what the high halves hold. All values are exact in every dtype that is taken.
// Errors: unpack_dtype.

/// Two's complement, -8 .. 7, as `dtype`: a float from f8 up or i8 to i64.
std::array<Tile, 2> unpack_int4(const Operand& bytes, DType dtype, Loc loc = Loc::current());
/// 0 .. 15.
std::array<Tile, 2> unpack_uint4(const Operand& bytes, DType dtype, Loc loc = Loc::current());
/// e2m1: a sign and 0, 0.5, 1, 1.5, 2, 3, 4 or 6, as `dtype`: a float.
std::array<Tile, 2> unpack_fp4(const Operand& bytes, DType dtype, Loc loc = Loc::current());

}  // namespace tilewright
