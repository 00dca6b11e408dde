// Random shapes, strides, dtypes and configs on a GPU, against the interpreter. The seed is fixed;
// TILEWRIGHT_RANDOM_CASES asks for more than the usual number of cases.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "examples/kernels/linear.h"
#include "examples/kernels/matmul.h"
#include "examples/kernels/row_sum.h"
#include "examples/kernels/softmax.h"
#include "tests/gpu/kernel_case.h"
#include "tests/support/gpu.h"

namespace tilewright {
namespace {

using testing::expect_gpu_matches_interpreter;
using testing::GpuTest;
using testing::KernelCase;
using testing::Operand;

class GpuRandom : public GpuTest {
 protected:
  static int cases() {
    const char* text = std::getenv("TILEWRIGHT_RANDOM_CASES");
    return text != nullptr ? std::atoi(text) : 12;
  }
  template <class T>
  T pick(std::initializer_list<T> of) {
    return of.begin()[std::uniform_int_distribution<size_t>(0, of.size() - 1)(random_)];
  }
  int64_t between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  /// Any strides in which elements do not overlap, and any offset of the base pointer.
  Operand matrix(DType dtype, int64_t rows, int64_t cols) {
    Operand operand{dtype, {rows, cols}};
    const int64_t pad = pick<int64_t>({0, 0, 1, 4, 8});
    operand.strides = pick({true, false}) ? std::vector<int64_t>{cols + pad, 1}
                                          : std::vector<int64_t>{1, rows + pad};
    operand.offset = pick<int64_t>({0, 0, 1, 2, 4, 8});
    return operand;
  }
  Config config(std::vector<int64_t> block) {
    Config result{.block = std::move(block)};
    result.warps = pick({1, 2, 4, 8});
    result.stages = pick({1, 2, 3, 4});
    result.copy = pick({CopyKind::sync, CopyKind::cp_async, CopyKind::cp_async});
    result.group = pick({1, 4, 8});
    result.vector = pick({4, 8, 16, 16});
    return result;
  }
  /// Runs a case; configs that are refused for their resources do not count.
  bool runs(const KernelCase& test) {
    try {
      expect_gpu_matches_interpreter(test);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::config) throw;
      return false;
    }
    return true;
  }

  std::mt19937 random_{20260};
};

TEST_F(GpuRandom, Products) {
  int done = 0;
  for (int tries = 0; done < cases() && tries < 4 * cases(); ++tries) {
    const int64_t m = between(1, 150), n = between(1, 150), k = between(1, 100);
    const DType dtype = pick({DType::f32, DType::f32, DType::f16, DType::bf16});
    KernelCase test{examples::matmul.handle(), {}, {}, {}, {}};
    test.inputs = {matrix(dtype, m, k), matrix(dtype, k, n)};
    test.outputs = {matrix(dtype, m, n)};
    test.config = config({pick<int64_t>({1, 8, 16, 24, 32, 48, 64, 100, 128}),
                          pick<int64_t>({1, 8, 12, 16, 32, 64, 80, 128}),
                          pick<int64_t>({1, 4, 6, 8, 16, 20, 32, 64})});
    done += runs(test);
  }
  EXPECT_EQ(done, cases());
}

TEST_F(GpuRandom, Epilogues) {
  int done = 0;
  for (int tries = 0; done < cases() / 4 && tries < cases(); ++tries) {
    const int64_t m = between(1, 100), n = between(1, 100), k = between(1, 64);
    KernelCase test{examples::linear_gelu.handle(), {}, {}, {}, {}};
    test.inputs = {matrix(DType::f32, m, k), matrix(DType::f32, k, n), {DType::f32, {n}}};
    test.outputs = {matrix(DType::f32, m, n)};
    test.config = config(
        {pick<int64_t>({8, 32, 64}), pick<int64_t>({8, 24, 64}), pick<int64_t>({4, 16, 32})});
    test.ulps = 16;        // erf and the products around it
    test.absolute = 1e-5;  // gelu cancels to nearly 0 for negative values
    done += runs(test);
  }
  EXPECT_EQ(done, cases() / 4);
}

TEST_F(GpuRandom, Rows) {
  int done = 0;
  for (int tries = 0; done < cases() && tries < 4 * cases(); ++tries) {
    const int64_t rows = between(1, 70), cols = between(1, 600);
    const DType dtype = pick({DType::f32, DType::bf16, DType::f16});
    const bool sum = pick({true, false});
    KernelCase test{sum ? examples::row_sum.handle() : examples::softmax.handle(), {}, {}, {}, {}};
    test.inputs = {matrix(dtype, rows, cols)};
    test.outputs = {sum ? Operand{DType::f32, {rows}} : matrix(dtype, rows, cols)};
    const int64_t block = pick<int64_t>({1, 2, 3, 4, 8, 16});
    test.config = config(sum ? std::vector<int64_t>{block, pick<int64_t>({8, 50, 64, 256})}
                             : std::vector<int64_t>{block});
    test.ulps = sum ? 0 : dtype == DType::f32 ? 64 : 1;  // the sum's order, two exponentials
    test.absolute = sum ? 16 * std::sqrt(static_cast<double>(cols)) * 0x1p-23 : 0;
    done += runs(test);
  }
  EXPECT_EQ(done, cases());
}

}  // namespace
}  // namespace tilewright
