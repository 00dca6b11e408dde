// The dot: acc + a b, one fused multiply-add after the other in increasing k.
#include <bit>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "tilewright/ir/error.h"
#include "tilewright/ir/precision.h"
#include "tilewright/runtime/interpreter_frame.h"

namespace tilewright::interpreter {
namespace {

/// Row-major operands: a [m, k] with rows `a_row` apart, b [k, n], c [m, n].
struct Operands {
  const void *a, *b;
  void* c;
  int64_t m, n, k, a_row;
};

inline float multiply_add(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline double multiply_add(double x, double y, double z) { return __builtin_fma(x, y, z); }
inline uint64_t multiply_add(uint64_t x, uint64_t y, uint64_t z) { return x * y + z; }

/// Along n inside, so that it is vectorized and every element of c sees its k in order.
template <class T>
[[gnu::always_inline]] inline void accumulate(const Operands& operands) {
  const T* a = static_cast<const T*>(operands.a);
  for (int64_t i = 0; i < operands.m; ++i, a += operands.a_row) {
    T* __restrict c = static_cast<T*>(operands.c) + i * operands.n;
    const T* __restrict b = static_cast<const T*>(operands.b);
    for (int64_t k = 0; k < operands.k; ++k, b += operands.n)
      for (int64_t j = 0; j < operands.n; ++j) c[j] = multiply_add(a[k], b[j], c[j]);
  }
}

void accumulate_integers(const Operands& operands) { accumulate<uint64_t>(operands); }

using Accumulate = void (*)(const Operands&);

// The same loop twice: a fused multiply-add gives the same bits as an instruction and as a call.
template <class T>
void accumulate_portably(const Operands& operands) {
  accumulate<T>(operands);
}

#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] void accumulate_f32_fma(const Operands& operands) {
  accumulate<float>(operands);
}

[[gnu::target("avx2,fma")]] void accumulate_f64_fma(const Operands& operands) {
  accumulate<double>(operands);
}

bool has_fma() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

Accumulate accumulate_for(numeric::Storage storage) {
  if (storage == numeric::Storage::i64) return &accumulate_integers;
  if (storage == numeric::Storage::f32)
    return has_fma() ? &accumulate_f32_fma : &accumulate_portably<float>;
  return has_fma() ? &accumulate_f64_fma : &accumulate_portably<double>;
}
#else
Accumulate accumulate_for(numeric::Storage storage) {
  if (storage == numeric::Storage::i64) return &accumulate_integers;
  return storage == numeric::Storage::f32 ? &accumulate_portably<float>
                                          : &accumulate_portably<double>;
}
#endif

template <class T>
bool zero_tail(const Operands& operands, int64_t extent) {
  const T *a = static_cast<const T*>(operands.a), *b = static_cast<const T*>(operands.b);
  for (int64_t k = operands.k; k < extent; ++k) {
    for (int64_t i = 0; i < operands.m; ++i)
      if (!(a[i * operands.a_row + k] == 0)) return false;
    for (int64_t j = 0; j < operands.n; ++j)
      if (!(b[k * operands.n + j] == 0)) return false;
  }
  return true;
}

/// Whether both operands are 0 from k on, as a dot without a guard promises when k is clipped.
bool tail_is_zero(const Operands& operands, int64_t extent, numeric::Storage storage) {
  switch (storage) {
    case numeric::Storage::f32:
      return zero_tail<float>(operands, extent);
    case numeric::Storage::f64:
      return zero_tail<double>(operands, extent);
    case numeric::Storage::i64:
      return zero_tail<int64_t>(operands, extent);
  }
  return false;
}

/// To the nearest TF32 number, ties away from zero (PTX cvt.rna.tf32.f32): 11 significant bits.
float to_tf32(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7f800000) == 0x7f800000) return x;
  return std::bit_cast<float>((bits + 0x1000) & ~uint32_t{0x1fff});
}

/// What of x is multiplied: x as TF32, or the part of it that this leaves out.
enum class Part { high, low };

float part_of(float x, Part part) {
  const float high = to_tf32(x);
  // An infinity has no rest, and so has a value that rounds to one.
  return part == Part::high ? high : std::isinf(high) ? 0 : to_tf32(x - high);
}

/// acc + a b of f32 with both operands reduced to TF32: one product, or three of the operands' high
/// and low parts, the smallest first.
void accumulate_tf32(const Operands& operands, DotPrecision precision) {
  constexpr std::pair<Part, Part> kProducts[] = {
      {Part::low, Part::high}, {Part::high, Part::low}, {Part::high, Part::high}};
  const std::span products =
      std::span(kProducts).last(precision == DotPrecision::tf32x3 ? std::size(kProducts) : 1);
  const int64_t count = std::ssize(products);
  std::vector<float> a(operands.m * operands.k * count), b(operands.k * operands.n * count);
  const auto* from_a = static_cast<const float*>(operands.a);
  const auto* from_b = static_cast<const float*>(operands.b);
  for (int64_t k = 0; k < operands.k; ++k)
    for (int64_t p = 0; p < count; ++p) {
      const int64_t to = k * count + p;
      for (int64_t i = 0; i < operands.m; ++i)
        a[i * operands.k * count + to] = part_of(from_a[i * operands.a_row + k], products[p].first);
      for (int64_t j = 0; j < operands.n; ++j)
        b[to * operands.n + j] = part_of(from_b[k * operands.n + j], products[p].second);
    }
  Operands parts = operands;
  parts.a = a.data();
  parts.b = b.data();
  parts.k = parts.a_row = operands.k * count;
  accumulate_for(numeric::Storage::f32)(parts);
}

bool unguarded(const ir::Op& op) {
  return op.has(ir::AttrKey::guard) && op.integers(ir::AttrKey::guard).empty();
}

}  // namespace

void run_dot(const Step& step, Frame& frame) {
  const DType dtype = step.out_dtype();
  const numeric::Storage storage = numeric::storage_of(dtype);
  if (numeric::storage_of(step.in_dtype()) != storage)
    fail(step, fmt::format("{} cannot be accumulated in {}", to_string(step.in_dtype()),
                           to_string(dtype)));
  const int64_t extent = step.in_extents[1];
  const int64_t n = count(step.out_extents);
  void* result = frame.result(step);
  std::memcpy(result, frame.operand(step, 2), n * numeric::storage_size(dtype));
  Operands operands{frame.operand(step, 0),
                    frame.operand(step, 1),
                    result,
                    step.out_extents[0],
                    step.out_extents[1],
                    extent,
                    extent};
  if (step.limits[1] >= 0) operands.k = frame.cells[step.limits[1]].slice.size();
  if (operands.k < extent && unguarded(*step.op) && !tail_is_zero(operands, extent, storage))
    fail(step, "k runs past its limit with operands that are not 0 there, but has no guard");
  const DotPrecision precision = ir::precision_of(*step.op);
  if (precision == DotPrecision::tf32 || precision == DotPrecision::tf32x3)
    accumulate_tf32(operands, precision);
  else
    accumulate_for(storage)(operands);
  if (storage == numeric::Storage::i64)
    numeric::cast_kernel(dtype, DType::i64)(result, result, n);
  else if (is_narrow_float(dtype))
    numeric::cast_kernel(dtype, DType::f32)(result, result, n);
}

}  // namespace tilewright::interpreter
