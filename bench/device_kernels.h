// Small CUDA kernels of the benchmarks' own, written by hand: random data, plain copies, and checks
// of results in full. They do not pass through Tilewright's code generation.
#pragma once

#include <cstdint>
#include <functional>

#include "tilewright/runtime/array.h"
#include "tilewright/runtime/driver.h"

namespace tilewright::bench {

/// How a result compares with a reference.
struct Verdict {
  int64_t wrong = 0;  ///< elements further off than allowed, or not numbers
  double worst = 0;   ///< the largest error over what is allowed there
};

/// The kernels, on device 0, whose context must be current. Those that check wait for their result.
class DeviceKernels {
 public:
  /// Compiles and loads them. Raises what compile_cuda and Module raise.
  DeviceKernels();

  /// Fills an f32 or bf16 array with normally distributed numbers that depend on `seed`.
  void fill_normal(const Array& out, unsigned seed, const Stream& stream = {}) const;
  /// Fills every byte with 0xff: not a number in every float type.
  void poison(const Array& out, const Stream& stream = {}) const;
  /// f64 copies of an f32 array, or of its absolute values.
  void widen(const Array& out, const Array& in, bool absolute) const;

  /// Copies `bytes` (a multiple of 16) by 16-byte accesses, `unroll` (1 or 4) in flight a thread.
  void copy(void* to, const void* from, int64_t bytes, int unroll, const Stream& stream) const;

  /// Compares a sum of `terms` products in f32: allowed are an ulp of the value and
  /// 4 sqrt(terms) 2^-24 times `magnitude`, the sum of the products' absolute values.
  Verdict check_product(const Array& out, const Array& value, const Array& magnitude,
                        int64_t terms) const;
  /// Compares c with a + b, exactly.
  Verdict check_sum(const Array& a, const Array& b, const Array& c) const;
  /// Compares each row of bf16 y with exp(x) / sum(exp(x)) in f64: allowed is the error of rounding
  /// to bf16, and a hundredth of it for the arithmetic in f32.
  Verdict check_normalized_exp(const Array& x, const Array& y) const;

 private:
  Verdict judge(const std::function<void(void* verdict)>& launch) const;

  runtime::Module module_;
  CUfunc_st *fill_f32_, *fill_bf16_, *widen_, *copy_1_, *copy_4_, *product_, *sum_, *exp_;
};

}  // namespace tilewright::bench
