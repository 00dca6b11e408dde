// Sums the rows of a matrix.
#include "kernels/row_sum.h"

#include "check.h"

int main() {
  namespace tw = tilewright;
  examples::Check check;
  for (const auto& [m, n] : {std::pair{64, 512}, std::pair{37, 1001}}) {
    const std::vector<float> x = examples::random_values(m * n, 1);
    std::vector<examples::Expected> expected;
    for (int i = 0; i < m; ++i) {
      double sum = 0, magnitude = 0;
      for (int j = 0; j < n; ++j) {
        sum += x[i * n + j];
        magnitude += std::abs(x[i * n + j]);
      }
      expected.push_back(examples::sum_of(sum, n, magnitude));
    }
    check.compare(fmt::format("row_sum of {}x{}", m, n),
                  examples::row_sum(tw::Array::from_host(x, {m, n})), expected);
  }
  return check.exit_code();
}
