// What the examples share: random inputs, and the comparison with results computed in plain C++.
#pragma once

#include <fmt/format.h>
#include <tilewright/tilewright.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace examples {

/// `count` numbers between -1 and 1, the same on every run.
inline std::vector<float> random_values(int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(count);
  std::generate(values.begin(), values.end(), [&] { return uniform(engine); });
  return values;
}

/// What one element must be, and how far it may be off.
struct Expected {
  double value = 0;
  double tolerance = 0;
};

/// A sum of `terms` products in f32 whose absolute values add up to `magnitude`.
inline Expected sum_of(double value, int64_t terms, double magnitude) {
  constexpr double epsilon = 0x1p-24;
  return {value, 0x1p-23 * std::abs(value) + 4 * std::sqrt(double(terms)) * epsilon * magnitude};
}

/// Every element of the product of a [m, k] and b [k, n], given as functions of row and column.
template <class A, class B>
std::vector<Expected> product(int64_t m, int64_t k, int64_t n, const A& a, const B& b) {
  std::vector<Expected> expected;
  for (int64_t i = 0; i < m; ++i) {
    std::vector<double> sums(n), magnitudes(n);
    for (int64_t l = 0; l < k; ++l)
      for (int64_t j = 0; j < n; ++j) {
        const double term = double(a(i, l)) * b(l, j);
        sums[j] += term;
        magnitudes[j] += std::abs(term);
      }
    for (int64_t j = 0; j < n; ++j) expected.push_back(sum_of(sums[j], k, magnitudes[j]));
  }
  return expected;
}

/// Collects the comparisons of one example; main returns exit_code().
class Check {
 public:
  /// Compares a result with what it must be, element by element, and prints one line.
  void compare(const std::string& what, const tilewright::Array& result,
               std::span<const Expected> expected) {
    const tilewright::Array host = result.to_host();
    bool right = host.elements() == static_cast<int64_t>(expected.size());
    double error = 0, allowed = 0;  // where the error is largest
    for (int64_t i = 0; right && i < host.elements(); ++i) {
      const double difference = std::abs(host.value(i) - expected[i].value);
      right = difference <= expected[i].tolerance;
      if (difference > error || !right) {
        error = difference;
        allowed = expected[i].tolerance;
      }
    }
    fmt::print("{} on {}: largest error {:.2g} (allowed there: {:.2g}): {}\n", what,
               to_string(result.device()), error, allowed, right ? "ok" : "WRONG");
    if (!right) failed_ = true;
  }

  int exit_code() const { return failed_ ? 1 : 0; }

 private:
  bool failed_ = false;
};

}  // namespace examples
