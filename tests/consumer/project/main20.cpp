// In C++20 tensors are indexed with parentheses.
#include <tilewright/tilewright.h>

#include <vector>

namespace tw = tilewright;

namespace {

auto transposed = tw::kernel("transposed", [](tw::Tensor x) {
  tw::Tensor y = tw::empty({x.size(1), x.size(0)}, x.dtype());
  for (auto [rows, cols] : tw::tile({x.size(0), x.size(1)})) {
    y(cols, rows) = tw::transpose(x(rows, cols));
  }
  return y;
});

}  // namespace

int main() {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  const tw::Array y = transposed(tw::Array::from_host(x, {2, 3})).to_host();
  const std::vector<float> expected = {1, 4, 2, 5, 3, 6};
  const auto values = y.values<float>();
  return std::vector<float>(values.begin(), values.end()) == expected ? 0 : 1;
}
