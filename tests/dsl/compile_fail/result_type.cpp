// std: c++23
// expect: a kernel returns void, a tw::Tensor, or a tuple, pair or array of tw::Tensor
// line: 8
#include "tilewright/dsl/dsl.h"

namespace tw = tilewright;

auto k = tw::make_traceable("k", [](tw::Tensor) { return 3; });
