#include "tilewright/codegen/coalescing.h"

namespace tilewright::codegen {

int access_vector(const AccessFacts& facts, const Layout& layout) {
  if (facts.contiguous_axis < 0) return 1;
  int vector = 1;
  const int run = layout.vector(facts.contiguous_axis);
  while (vector * 2 <= facts.whole_vector && run % (vector * 2) == 0) vector *= 2;
  return vector;
}

int64_t warp_run(const AccessFacts& facts, const Layout& layout) {
  int64_t run = access_vector(facts, layout);
  // Lane digits that go on where the run ends, in whatever order they are listed.
  for (size_t tries = 0; tries < layout.digits.size(); ++tries)
    for (const Digit& digit : layout.digits)
      if (digit.holder == Holder::lane && digit.axis == facts.contiguous_axis &&
          digit.stride == run)
        run *= digit.radix;
  return run;
}

}  // namespace tilewright::codegen
