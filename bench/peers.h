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

/// What a product is; matrices are row-major without gaps.
struct ProductSpec {
  int64_t m = 0, n = 0, k = 0;
  int64_t batch = 1;          ///< products of matrices that follow each other
  bool a_transposed = false;  ///< stored K by M
  bool b_transposed = false;  ///< stored N by K
  DType input = DType::f32, output = DType::f32;
  bool tf32 = false;               ///< f32: by TF32; else in IEEE arithmetic (no TF32)
  bool fast_accumulation = false;  ///< f8: as the matrix unit adds up, without promotion
};

/// c[m,n] = a . b by cuBLASLt, accumulating in f32 (i8: in i32), with 32 MiB of workspace. Needs
/// cublas_problem() to be empty and the context of device 0 current; calls throw std::runtime_error
/// when the library refuses.
class MatrixProduct {
 public:
  explicit MatrixProduct(const ProductSpec& spec);
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
