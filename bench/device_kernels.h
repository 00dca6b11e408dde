// Small CUDA kernels of the benchmarks' own, written by hand: random data, plain copies, and checks
// of results in full. They do not pass through Tilewright's code generation.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "tilewright/runtime/array.h"
#include "tilewright/runtime/driver.h"

namespace tilewright::bench {

/// How a result compares with a reference.
struct Verdict {
  int64_t wrong = 0;  ///< elements further off than allowed, or not numbers
  double worst = 0;   ///< the largest error over what is allowed there
};

/// value[m,n] = a[m,k] . b[k,n] and magnitude[m,n] = |a| . |b|, row-major f64 without gaps, of
/// operands of one dtype (f32, bf16, f16, f8e4m3 or i8) and any strides. With a bias of n elements,
/// value is gelu(a . b + bias), and magnitude what `of_magnitude` times it allows for that.
struct ReferenceProduct {
  double *value = nullptr, *magnitude = nullptr;
  const void *a = nullptr, *b = nullptr, *bias = nullptr;
  DType a_dtype = DType::f32, b_dtype = DType::f32;  ///< the bias has a's
  int64_t m = 0, n = 0, k = 0;
  int64_t a_row = 0, a_column = 1;  ///< strides, elements
  int64_t b_row = 0, b_column = 1;
  double of_magnitude = 0;  ///< of the tolerance; with a bias only
};

/// The kernels, on device 0, whose context must be current. Those that check wait for their result.
class DeviceKernels {
 public:
  /// Compiles and loads them. Raises what compile_cuda and Module raise.
  DeviceKernels();

  /// Fills an array of f32, bf16, f16, f8e4m3 or i8 with normally distributed numbers that depend
  /// on `seed`; those of i8 have a deviation of 32. u8 is filled
  /// evenly.
  void fill_normal(const Array& out, unsigned seed, const Stream& stream = {}) const;
  /// Fills every byte with 0xff: not a number in every float type.
  void poison(const Array& out, const Stream& stream = {}) const;
  /// `each` elements from each of the positions `starts` on, `step` apart, in rows. Waits.
  std::vector<double> gather(const void* in, DType dtype, const std::vector<int64_t>& starts,
                             int64_t each, int64_t step) const;
  /// The sum of all elements, and the sum of their sizes. Waits.
  std::pair<double, double> add_up(const void* in, DType dtype, int64_t count) const;
  /// Two numbers of 4 bits, from -8 on, from each byte: all lower ones, then all upper ones; as i8.
  void unpack(const Array& out, const Array& in) const;
  /// Enqueues a product in double precision.
  void multiply(const ReferenceProduct& product) const;

  /// Copies `bytes` (a multiple of 16) by 16-byte accesses, `unroll` (1 or 4) in flight a thread.
  void copy(void* to, const void* from, int64_t bytes, int unroll, const Stream& stream) const;

  /// Compares with what multiply() gave: allowed are `of_value` times a value's size and
  /// `of_magnitude` times its magnitude.
  Verdict check_product(const Array& out, const Array& value, const Array& magnitude,
                        double of_value, double of_magnitude) const;
  /// Compares c with a + b, exactly.
  Verdict check_sum(const Array& a, const Array& b, const Array& c) const;
  /// Compares each row of bf16 y with exp(x) / sum(exp(x)) in f64: allowed is the error of rounding
  /// to bf16, and a hundredth of it for the arithmetic in f32.
  Verdict check_normalized_exp(const Array& x, const Array& y) const;

 private:
  Verdict judge(const std::function<void(void* verdict)>& launch) const;

  runtime::Module module_;
  CUfunc_st *fill_, *gather_, *add_up_, *unpack_, *multiply_, *copy_1_, *copy_4_, *compare_, *sum_,
      *exp_;
};

}  // namespace tilewright::bench
