// The least and the greatest element of each row, from one kernel.
#include "kernels/row_minmax.h"

#include "check.h"

int main() {
  namespace tw = tilewright;
  examples::Check check;
  for (const auto& [m, n] : {std::pair{64, 512}, std::pair{37, 1000}}) {
    const std::vector<float> x = examples::random_values(m * n, 1);
    std::vector<examples::Expected> lowest, highest;
    for (int i = 0; i < m; ++i) {
      const auto [low, high] = std::minmax_element(x.begin() + i * n, x.begin() + (i + 1) * n);
      lowest.push_back({*low, 0});
      highest.push_back({*high, 0});
    }
    const auto [low, high] = examples::row_minmax(tw::Array::from_host(x, {m, n}));
    check.compare(fmt::format("least of each row of {}x{}", m, n), low, lowest);
    check.compare(fmt::format("greatest of each row of {}x{}", m, n), high, highest);
  }
  return check.exit_code();
}
