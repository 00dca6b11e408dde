// std: c++20
// expect: a C++ value is known when the kernel is traced and never changes
// line: 9
#include "tilewright/dsl/dsl.h"

namespace tw = tilewright;

void kernel(tw::Tensor a, int n) {
  for (auto i : tw::tile(64)) tw::while_([&] { return n > 0; }, [&] { a[i] = 0; });
}
