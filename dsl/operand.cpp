#include "tilewright/dsl/operand.h"

#include "tilewright/dsl/trace.h"
#include "tilewright/ir/error.h"

namespace tilewright {

Operand::Operand(const Tile& tile, Loc loc)
    : value_(dsl::Trace::current("a tile", loc).read(tile.slot(), loc)), loc_(loc) {}

Operand::Operand(const TileIndex& index, Loc loc) : loc_(loc) {
  if (!index.single())
    raise(ErrorId::index_kind, loc,
          "a loop's tile is a range, not a value: write .index() for its positions, .begin() for "
          "the first",
          "a tile index as an operand");
  value_ = Operand(index.begin(loc), loc).value();
}

Operand::Operand(Size size, Loc loc) : loc_(loc) {
  if (size.dynamic())
    value_ = dsl::Trace::current("a size", loc).value_of(size, loc);
  else
    literal_ = size.value();
}

}  // namespace tilewright
