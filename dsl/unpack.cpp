#include "tilewright/dsl/unpack.h"

#include "tilewright/dsl/elementwise.h"
#include "tilewright/dsl/ops.h"
#include "tilewright/dsl/trace.h"
#include "tilewright/ir/error.h"

namespace tilewright {
namespace {

Operand bytes_of(const char* what, const Operand& bytes, DType to, bool integers, Loc loc) {
  dsl::builder_at(what, loc);
  const DType from = dsl::common_dtype(what, {&bytes}, loc);
  const bool fits = is_float(to) || (integers && is_integer(to));
  if (from != DType::u8 || !fits)
    raise(ErrorId::unpack_dtype, loc, what, integers ? "integers or floats" : "floats",
          to_string(from), to_string(to));
  return bytes;
}

/// e2m1 bits as a number: twice its magnitude is a small integer, which grows by 1, 2 and 4 from
/// one code to the next.
Tile fp4_value(const Operand& code, DType dtype, Loc loc) {
  const Operand n(cast({code & Operand(7, loc), loc}, i8, loc), loc);
  const Operand zero(0, loc);
  const Operand by_two(max({n - Operand(4, loc), loc}, zero, loc), loc);
  const Operand by_four(max({n - Operand(6, loc), loc}, zero, loc), loc);
  const Operand twice(Operand(n + by_two, loc) + Operand(by_four * Operand(2, loc), loc), loc);
  const Operand magnitude(Operand(cast(twice, dtype, loc), loc) * Operand(0.5, loc), loc);
  return where({code > Operand(7, loc), loc}, {-magnitude, loc}, magnitude, loc);
}

}  // namespace

std::array<Tile, 2> unpack_int4(const Operand& bytes, DType dtype, Loc loc) {
  const Operand x(cast(bytes_of("tw::unpack_int4", bytes, dtype, true, loc), i8, loc), loc);
  const Operand four(4, loc);
  const Tile low = Operand(x << four, loc) >> four;
  return {cast({low, loc}, dtype, loc), cast({x >> four, loc}, dtype, loc)};
}

std::array<Tile, 2> unpack_uint4(const Operand& bytes, DType dtype, Loc loc) {
  const Operand x = bytes_of("tw::unpack_uint4", bytes, dtype, true, loc);
  const Tile low = x & Operand(15, loc), high = x >> Operand(4, loc);
  return {cast({low, loc}, dtype, loc), cast({high, loc}, dtype, loc)};
}

std::array<Tile, 2> unpack_fp4(const Operand& bytes, DType dtype, Loc loc) {
  const Operand x = bytes_of("tw::unpack_fp4", bytes, dtype, false, loc);
  const Tile low = x & Operand(15, loc), high = x >> Operand(4, loc);
  return {fp4_value({low, loc}, dtype, loc), fp4_value({high, loc}, dtype, loc)};
}

}  // namespace tilewright
