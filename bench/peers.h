// The vendor's library, as a peer and as a reference.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tilewright/ir/type.h"
#include "tilewright/runtime/stream.h"

namespace tilewright::bench {

/// Why cuBLASLt cannot be used; empty when it can. Opens the library on the first call.
const std::string& cublas_problem();
/// "cuBLASLt 13.0.2"; empty when there is none.
std::string cublas_version();

/// c[m,n] = a[m,k] . b[k,n], all row-major without gaps, by cuBLASLt: f32 in IEEE arithmetic
/// (CUBLAS_COMPUTE_32F_PEDANTIC: no TF32), or f64. Needs cublas_problem() to be empty and the
/// context of device 0 current; calls throw std::runtime_error when the library refuses.
class MatrixProduct {
 public:
  MatrixProduct(int64_t m, int64_t n, int64_t k, DType dtype);
  MatrixProduct(MatrixProduct&&) noexcept;
  ~MatrixProduct();

  /// How many algorithms the library's heuristic offers, at most 8, the likely best first.
  int algorithms() const;
  /// Enqueues the product by algorithm 0 .. algorithms() - 1; may be captured.
  void enqueue(int algorithm, const void* a, const void* b, void* c, const Stream& stream) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilewright::bench
