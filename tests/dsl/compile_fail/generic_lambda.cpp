// std: c++23
// expect: give each parameter its type (tw::Tensor a) instead of auto
// line: 8
#include "tilewright/dsl/dsl.h"

namespace tw = tilewright;

auto k = tw::make_traceable("k", [](auto a) { return a; });
