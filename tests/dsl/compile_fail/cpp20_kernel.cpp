// Compiles: the same language without C++23's subscripts.
#include "tilewright/dsl/dsl.h"

namespace tw = tilewright;

auto scaled = tw::make_traceable("scaled", [](tw::Tensor a, tw::Scalar<float> scale) {
  auto [m, n] = tw::sizes<2>(a);
  tw::Tensor c = tw::empty({m, n}, a.dtype());
  for (auto [rows, cols] : tw::tile({m, n})) {
    tw::Tile x = a(rows, cols) * scale;
    c(rows, cols) = x / tw::sum(x, tw::axis(1))(tw::all, tw::none);
    tw::if_(rows.id() == 0, [&, r = rows, k = cols] { c(r, k) = x; });
  }
  return c;
});
