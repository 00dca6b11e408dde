#include "tilewright/ir/functions.h"

#include <limits>

#include "tilewright/ir/error.h"

namespace tilewright::ir {
namespace {

constexpr FnInfo kFunctions[] = {
#define TW_FN(name, kind, operands, ulp) {#name, FnKind::kind, FnDomain::operands, ulp},
#include "tilewright/ir/functions.def"
#undef TW_FN
};

}  // namespace

const FnInfo& info(Fn fn) { return kFunctions[static_cast<int>(fn)]; }

std::optional<Fn> find_fn(std::string_view name) {
  for (size_t i = 0; i < std::size(kFunctions); ++i)
    if (kFunctions[i].name == name) return static_cast<Fn>(i);
  return std::nullopt;
}

bool accepts(Fn fn, DType dtype) {
  switch (info(fn).domain) {
    case FnDomain::any:
      return true;
    case FnDomain::number:
      return dtype != DType::boolean;
    case FnDomain::floating:
      return is_float(dtype);
    case FnDomain::integral:
      return !is_float(dtype);
  }
  return false;
}

bool is_monoid(Fn fn) {
  return fn == Fn::add || fn == Fn::mul || fn == Fn::min || fn == Fn::max || fn == Fn::bit_and ||
         fn == Fn::bit_or;
}

bool has_atomics(DType dtype) {
  switch (dtype) {
    case DType::i32:
    case DType::i64:
    case DType::f16:
    case DType::bf16:
    case DType::f32:
    case DType::f64:
      return true;
    default:
      return false;
  }
}

bool has_atomic(Fn fn, DType dtype) {
  if (fn == Fn::add || fn == Fn::min || fn == Fn::max) return has_atomics(dtype);
  const bool bits = fn == Fn::bit_and || fn == Fn::bit_or || fn == Fn::bit_xor;
  return bits && (dtype == DType::i32 || dtype == DType::i64);
}

double identity_of(Fn fn) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  switch (fn) {
    case Fn::add:
    case Fn::bit_or:
      return 0;
    case Fn::mul:
      return 1;
    case Fn::min:
      return inf;
    case Fn::max:
      return -inf;
    case Fn::bit_and:
      return -1;
    default:
      throw InternalError("a function with no identity was used to reduce");
  }
}

int64_t integer_identity(Fn fn, DType dtype) {
  const double exact = identity_of(fn);
  const bool low_is_zero = dtype == DType::boolean || dtype == DType::u8;
  const int bits = dtype == DType::boolean ? 1 : 8 * size_of(dtype) - (low_is_zero ? 0 : 1);
  const int64_t high = static_cast<int64_t>((uint64_t{1} << bits) - 1);
  if (fn == Fn::bit_and) return low_is_zero ? high : -1;
  if (exact == std::numeric_limits<double>::infinity()) return high;
  if (exact == -std::numeric_limits<double>::infinity()) return low_is_zero ? 0 : -high - 1;
  return static_cast<int64_t>(exact);
}

}  // namespace tilewright::ir
