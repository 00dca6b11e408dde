// std: c++23
// expect: use tw::if_ for a branch, tw::where to choose per element, or tw::specialize
// line: 11
#include "tilewright/dsl/dsl.h"

namespace tw = tilewright;

void kernel(tw::Tensor a) {
  for (auto rows : tw::tile(64)) {
    tw::Tile x = a[rows];
    if (tw::sum(x) > 0) a[rows] = x;
  }
}
