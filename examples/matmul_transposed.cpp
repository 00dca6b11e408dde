// Transposed operands are views of the same memory: nothing is copied, and the kernel is compiled
// for the strides it gets.
#include "check.h"
#include "kernels/matmul.h"

namespace {

constexpr int64_t kM = 96, kK = 50, kN = 71;

// A matrix [rows, cols] that is stored as it is, or transposed and viewed so that it reads the
// same.
struct Matrix {
  Matrix(int64_t rows, int64_t cols, bool transposed, unsigned seed)
      : values(examples::random_values(rows * cols, seed)),
        array(tilewright::Array::from_host(
            values, transposed ? std::vector{cols, rows} : std::vector{rows, cols})),
        view(transposed ? array.t() : array.view()),
        stride(transposed ? rows : cols),
        transposed(transposed) {}

  float operator()(int64_t i, int64_t j) const {
    return transposed ? values[j * stride + i] : values[i * stride + j];
  }

  std::vector<float> values;
  tilewright::Array array;
  tilewright::TensorView view;
  int64_t stride;
  bool transposed;
};

}  // namespace

int main() {
  examples::Check check;
  for (const bool left : {false, true})
    for (const bool right : {false, true}) {
      const Matrix a(kM, kK, left, 1), b(kK, kN, right, 2);
      check.compare(fmt::format("{}.{}", left ? "A'" : "A", right ? "B'" : "B"),
                    examples::matmul(a.view, b.view), examples::product(kM, kK, kN, a, b));
    }
  return check.exit_code();
}
