// A matrix product with a bias and GELU, passed to the kernel as a C++ callable.
#include "check.h"
#include "kernels/linear.h"

namespace {

// GELU in double, with the tolerance of its argument and of erf (2 ulp) carried through.
examples::Expected gelu(examples::Expected x) {
  const double y = x.value / 2 * (1 + std::erf(x.value / std::sqrt(2.0)));
  return {y, 1.2 * x.tolerance + 4 * 0x1p-23 * (std::abs(x.value) + std::abs(y))};
}

}  // namespace

int main() {
  namespace tw = tilewright;
  struct Sizes {
    int64_t m, k, n;
  };
  examples::Check check;
  for (const auto [m, k, n] : {Sizes{64, 128, 96}, Sizes{33, 70, 49}}) {
    const std::vector<float> x = examples::random_values(m * k, 1);
    const std::vector<float> w = examples::random_values(k * n, 2);
    const std::vector<float> bias = examples::random_values(n, 3);
    const tw::Array y =
        examples::linear_gelu(tw::Array::from_host(x, {m, k}), tw::Array::from_host(w, {k, n}),
                              tw::Array::from_host(bias, {n}));
    auto expected = examples::product(
        m, k, n, [&, k = k](auto i, auto l) { return x[i * k + l]; },
        [&, n = n](auto l, auto j) { return w[l * n + j]; });
    for (int64_t at = 0; at < m * n; ++at) {
      expected[at].value += bias[at % n];
      expected[at] = gelu(expected[at]);
    }
    check.compare(fmt::format("linear_gelu {}x{} by {}x{}", m, k, k, n), y, expected);
  }
  return check.exit_code();
}
