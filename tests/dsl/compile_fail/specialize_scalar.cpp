// std: c++20
// expect: declare its parameter int64_t
// line: 8
#include "tilewright/dsl/dsl.h"

namespace tw = tilewright;

int64_t steps(tw::Scalar<int64_t> n) { return tw::specialize(n); }
