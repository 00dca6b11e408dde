// std: c++23
// expect: a kernel's parameters are tw::Tensor, tw::Scalar<T> (known at run time), bool
// line: 10
#include <string>

#include "tilewright/dsl/dsl.h"

namespace tw = tilewright;

auto k = tw::make_traceable("k", [](tw::Tensor a, std::string) { return a; });
