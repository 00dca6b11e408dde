// std: c++23
// expect: passing
// line: 8
#include "tilewright/dsl/dsl.h"

namespace tw = tilewright;

void kernel(tw::Tile x, tw::Tile y) { x + y = y; }
