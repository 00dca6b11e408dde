// std: c++23
// expect: the function returns a std::tuple of as many values as it combines
// line: 11
#include "tilewright/dsl/dsl.h"

namespace tw = tilewright;

void kernel(tw::Tensor x) {
  for (auto rows : tw::tile(x.size(0))) {
    tw::Tile row = x[rows, tw::all];
    tw::reduce(tw::axis(1), std::tuple{row, row}, std::tuple{0, 0},
               [](auto left, auto) { return std::tuple{std::get<0>(left)}; });
  }
}
