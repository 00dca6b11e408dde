// std: c++20
// expect: the host function of tw::inline_ptx is a lambda that captures nothing
// line: 10
#include "tilewright/dsl/dsl.h"

namespace tw = tilewright;

void kernel(tw::Tensor a, float scale) {
  for (auto i : tw::tile(64))
    a(i) = tw::inline_ptx("neg.f32 %0, %1;", tw::f32, {a(i)}, [=](float x) { return scale * x; });
}
