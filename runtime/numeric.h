// What every elementwise function and every conversion computes, for every dtype: the law that the
// interpreter runs and that other back ends are compared with.
//
// - Arithmetic on f16, bf16 and the f8 types is rounded once, to nearest even, from the exact
// result
//   (fma too); in the f8 types it saturates, so that no operation gives an infinity: only memory
//   holds those of f8e5m2.
// - f32 and f64 arithmetic is IEEE; transcendental functions of narrower types and f32 are
// evaluated in
//   double and rounded, so that they are within the bounds of functions.def with room to spare.
// - min and max return NaN when an operand is one, and order -0 below +0.
// - Integers wrap; x / 0 = 0, x % 0 = x, MIN / -1 = MIN, MIN % -1 = 0; a shift count is masked to
//   the width (bool has width 1, so shifting it does nothing).
// - Conversions: float to float rounds to nearest even, to f8 types with saturation; float to
// integer truncates, saturates and
//   makes 0 of NaN; integer to float rounds once; integer to integer wraps; to bool is `!= 0` (true
//   for NaN).
#pragma once

#include <cstdint>
#include <variant>

#include "tilewright/ir/functions.h"
#include "tilewright/ir/type.h"

namespace tilewright::numeric {

/// What holds an element outside memory: float for f32 and narrower floats (always a value of that
/// dtype), double for f64, int64_t for integers and bool (0 or 1).
enum class Storage : uint8_t { f32, f64, i64 };

Storage storage_of(DType dtype);
int storage_size(DType dtype);  ///< bytes of one stored element

/// One element as stored; the alternative is that of storage_of(its dtype).
using Element = std::variant<float, double, int64_t>;

// --- One element at a time. An Element of another storage, or a function that does not take the
// --- dtype, is an InternalError.
Element evaluate(ir::Fn fn, DType dtype, Element x);
Element evaluate(ir::Fn fn, DType dtype, Element x, Element y);
bool compare(ir::Fn fn, DType dtype, Element x, Element y);
Element fma(DType dtype, Element x, Element y, Element z);  ///< integers: wraps
Element convert(DType to, DType from, Element x);
Element from_double(DType dtype, double x);  ///< converted as from f64
Element from_int(DType dtype, int64_t x);    ///< converted as from i64
/// The identity of a reduction by `fn`: the lowest value for max (-inf, INT_MIN), all ones for
/// bit_and.
Element identity(ir::Fn fn, DType dtype);

// --- Arrays of n stored elements. Results may overwrite an operand exactly.
using UnaryKernel = void (*)(const void* x, void* out, int64_t n);
using BinaryKernel = void (*)(const void* x, const void* y, void* out, int64_t n);
using TernaryKernel = void (*)(const void* x, const void* y, const void* z, void* out, int64_t n);

UnaryKernel unary_kernel(ir::Fn fn, DType dtype);
BinaryKernel binary_kernel(ir::Fn fn, DType dtype);
BinaryKernel compare_kernel(ir::Fn fn, DType dtype);  ///< out: int64_t, 0 or 1
TernaryKernel fma_kernel(DType dtype);
UnaryKernel cast_kernel(DType to, DType from);

// --- Between memory and storage: n elements of memory, `stride` elements apart.
using LoadKernel = void (*)(const void* memory, int64_t stride, void* out, int64_t n);
using StoreKernel = void (*)(const void* x, void* memory, int64_t stride, int64_t n);

LoadKernel load_kernel(DType dtype);
StoreKernel store_kernel(DType dtype);

}  // namespace tilewright::numeric
