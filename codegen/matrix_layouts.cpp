#include "tilewright/codegen/matrix_layouts.h"

#include "tilewright/ir/error.h"

namespace tilewright::codegen {

Layout mma_layout(int64_t, int64_t, int) { throw InternalError("the mma unit has no layout"); }

Layout wgmma_layout(int64_t m, int64_t n, int warps) {
  internal_check(warps % 4 == 0 && n % 8 == 0, "wgmma takes whole warpgroups and columns by eight");
  const int groups = warps / 4;
  const int pieces = static_cast<int>((m + 64 * groups - 1) / (64 * groups));
  return {2,
          {{Holder::reg, 2, 1, 1},
           {Holder::reg, 2, 0, 8},
           {Holder::reg, static_cast<int>(n / 8), 1, 8},
           {Holder::reg, pieces, 0, 64},
           {Holder::lane, 4, 1, 2},
           {Holder::lane, 8, 0, 1},
           {Holder::warp, 4, 0, 16},
           {Holder::warp, groups, 0, int64_t{64} * pieces}}};
}

}  // namespace tilewright::codegen
