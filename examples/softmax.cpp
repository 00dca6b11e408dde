// Softmax of the rows of a matrix.
#include "kernels/softmax.h"

#include <cmath>

#include "check.h"

namespace {

// One row, in double.
std::vector<double> softmax_of(std::span<const float> row) {
  const double highest = *std::max_element(row.begin(), row.end());
  std::vector<double> result;
  double sum = 0;
  for (const float x : row) sum += result.emplace_back(std::exp(x - highest));
  for (double& y : result) y /= sum;
  return result;
}

}  // namespace

int main() {
  namespace tw = tilewright;
  examples::Check check;
  for (const auto& [m, n] : {std::pair{64, 512}, std::pair{37, 1000}}) {
    const std::vector<float> x = examples::random_values(m * n, 1);
    std::vector<examples::Expected> expected;
    for (int i = 0; i < m; ++i)
      for (const double y : softmax_of(std::span(x).subspan(i * n, n)))
        expected.push_back(examples::sum_of(y, n, 2 * y));  // n terms, all positive, and the exp
    check.compare(fmt::format("softmax of {}x{}", m, n),
                  examples::softmax(tw::Array::from_host(x, {m, n})), expected);
  }
  return check.exit_code();
}
