#include "tilewright/codegen/axis_scope.h"

namespace tilewright::codegen {

const ir::Value* slice_in_scope(const ir::Op& op, int axis) {
  for (const ir::Region* region = op.parent; region != nullptr && region->parent != nullptr;
       region = region->parent->parent) {
    const ir::Op& outer = *region->parent;
    if (outer.kind != ir::OpKind::tile_loop) continue;
    const auto& axes = outer.integers(ir::AttrKey::axes);
    for (size_t i = 0; i < axes.size(); ++i)
      if (axes[i] == axis) return region->args.at(i);
  }
  return nullptr;
}

}  // namespace tilewright::codegen
