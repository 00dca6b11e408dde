// std: c++23
// expect: tw::Scalar<T> takes bool, float, double or a signed integer type
// line: 8
#include "tilewright/dsl/dsl.h"

namespace tw = tilewright;

void kernel(tw::Scalar<unsigned> x) { (void)x; }
