// A product small enough to follow by hand: 9x9 by 9x9 in tiles of 3x3.
#include "check.h"
#include "kernels/matmul.h"

int main() {
  namespace tw = tilewright;
  std::vector<float> a(81), b(81);
  for (int i = 0; i < 81; ++i) {
    a[i] = static_cast<float>(i);      // 0, 1, .. 80
    b[i] = static_cast<float>(2 * i);  // 0, 2, .. 160
  }
  const tw::Array a_array = tw::Array::from_host(a, {9, 9});
  const tw::Array b_array = tw::Array::from_host(b, {9, 9});
  tw::Array c(a_array.device(), {9, 9}, tw::f32);
  examples::matmul.launch({.out = {c}, .config = tw::Config{.block = {3, 3, 3}}}, a_array, b_array);

  const tw::Array result = c.to_host();
  for (int i = 0; i < 9; ++i) {
    if (i % 3 == 0) fmt::print("rows {}:{}, columns 0:3, 3:6, 6:9\n", i, i + 3);
    for (int j = 0; j < 9; ++j)
      fmt::print("{}{:6.0f}", j % 3 == 0 ? " |" : "", result.value(i * 9 + j));
    fmt::print(" |\n");
  }

  examples::Check check;
  std::vector<examples::Expected> expected;  // all numbers are small integers: exact in f32
  for (int i = 0; i < 9; ++i)
    for (int j = 0; j < 9; ++j) {
      double sum = 0;
      for (int l = 0; l < 9; ++l) sum += double(a[i * 9 + l]) * b[l * 9 + j];
      expected.push_back({sum, 0});
    }
  check.compare("matmul 9x9 by 9x9 in tiles of 3", c, expected);
  return check.exit_code();
}
