// The elementwise functions, and which of them can reduce.
#pragma once

#include <optional>
#include <string_view>

#include "tilewright/ir/type.h"

namespace tilewright::ir {

enum class Fn : uint8_t {
#define TW_FN(name, kind, operands, ulp) name,
#include "tilewright/ir/functions.def"
#undef TW_FN
};

enum class FnKind : uint8_t { unary, binary, compare };
enum class FnDomain : uint8_t { any, number, floating, integral };

struct FnInfo {
  std::string_view name;
  FnKind kind;
  FnDomain domain;
  int ulp;
};

const FnInfo& info(Fn fn);
/// The function called `name`, if there is one.
std::optional<Fn> find_fn(std::string_view name);
bool accepts(Fn fn, DType dtype);
/// Whether fn can be a reduction's function: add, mul, min, max, bit_and, bit_or.
bool is_monoid(Fn fn);
/// The identity of a reduction. max: -inf, min: +inf, bit_and: all ones (-1).
double identity_of(Fn fn);
/// The same as an integer or bool of `dtype`: the infinities become its extremes.
int64_t integer_identity(Fn fn, DType dtype);

/// Whether tensors of `dtype` can be changed by atomic operations: i32, i64, f16, bf16, f32, f64.
bool has_atomics(DType dtype);
/// Whether fn can be an atomic's function on `dtype`: add, min, max; of integers also bit_and,
/// bit_or, bit_xor.
bool has_atomic(Fn fn, DType dtype);

}  // namespace tilewright::ir
