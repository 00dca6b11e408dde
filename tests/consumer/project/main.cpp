// A kernel of the user's own, run where this machine can run it.
#include <tilewright/tilewright.h>

#include <vector>

namespace tw = tilewright;

namespace {

auto scaled_sum =
    tw::kernel("scaled_sum", [](tw::Tensor x, tw::Tensor y, tw::Scalar<float> factor) {
      tw::Tensor z = tw::empty_like(x);
      for (auto [rows, cols] : tw::tile({x.size(0), x.size(1)})) {
        z[rows, cols] = (x[rows, cols] + y[rows, cols]) * factor;
      }
      return z;
    });

}  // namespace

int main() {
  const std::vector<float> ones(7 * 5, 1), twos(7 * 5, 2);
  const tw::Array z =
      scaled_sum(tw::Array::from_host(ones, {7, 5}), tw::Array::from_host(twos, {7, 5}), 0.5f)
          .to_host();
  for (const float value : z.values<float>())
    if (value != 1.5f) return 1;
  fmt::print("{}\n", z);
  return 0;
}
