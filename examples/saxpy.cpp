// y = alpha * x + y in place, with a factor that is not compiled in.
#include "kernels/saxpy.h"

#include "check.h"

int main() {
  namespace tw = tilewright;
  examples::Check check;
  for (const int64_t n : {4096, 1001}) {
    const std::vector<float> x = examples::random_values(n, 1);
    const std::vector<float> y = examples::random_values(n, 2);
    for (const float alpha : {2.5f, -0.3f}) {
      const tw::Array x_array = tw::Array::from_host(x, {n});
      const tw::Array y_array = tw::Array::from_host(y, {n});
      examples::saxpy(alpha, x_array, y_array);
      std::vector<examples::Expected> expected;
      for (int64_t i = 0; i < n; ++i) expected.push_back({std::fma(alpha, x[i], y[i]), 0});
      check.compare(fmt::format("saxpy of {} with alpha {}", n, alpha), y_array, expected);
    }
  }
  return check.exit_code();
}
