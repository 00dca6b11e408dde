// std: c++20
// expect: a[rows, cols] needs C++23; in C++20, write a(rows, cols)
// line: 10
#include "tilewright/dsl/dsl.h"

namespace tw = tilewright;

void kernel(tw::Tensor a) {
  for (auto [rows, cols] : tw::tile({64, 64})) {
    tw::Tile x = a[rows, cols];
  }
}
