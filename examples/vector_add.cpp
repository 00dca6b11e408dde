// Adds two vectors, of a length that tiles divide and of one they do not.
#include "kernels/vector_add.h"

#include "check.h"

int main() {
  examples::Check check;
  for (const int64_t n : {4096, 1001}) {
    const std::vector<float> a = examples::random_values(n, 1);
    const std::vector<float> b = examples::random_values(n, 2);
    const tilewright::Array sum = examples::vector_add(tilewright::Array::from_host(a, {n}),
                                                       tilewright::Array::from_host(b, {n}));
    std::vector<examples::Expected> expected;
    for (int64_t i = 0; i < n; ++i) expected.push_back({a[i] + b[i], 0});
    check.compare(fmt::format("vector_add of {}", n), sum, expected);
  }
  return check.exit_code();
}
