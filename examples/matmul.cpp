// Multiplies matrices, of sizes that tiles divide and of sizes that no tile divides.
#include "kernels/matmul.h"

#include "check.h"

int main() {
  namespace tw = tilewright;
  struct Sizes {
    int64_t m, k, n;
  };
  examples::Check check;
  for (const auto [m, k, n] : {Sizes{128, 64, 256}, Sizes{101, 37, 83}}) {
    const std::vector<float> a = examples::random_values(m * k, 1);
    const std::vector<float> b = examples::random_values(k * n, 2);
    const tw::Array c =
        examples::matmul(tw::Array::from_host(a, {m, k}), tw::Array::from_host(b, {k, n}));
    const auto expected = examples::product(
        m, k, n, [&, k = k](auto i, auto l) { return a[i * k + l]; },
        [&, n = n](auto l, auto j) { return b[l * n + j]; });
    check.compare(fmt::format("matmul {}x{} by {}x{}", m, k, k, n), c, expected);
  }
  return check.exit_code();
}
