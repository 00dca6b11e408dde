#include "tilewright/codegen/axis_scope.h"

#include "tilewright/ir/builder.h"

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

const ir::Value* first_position(const ir::Value* index) {
  if (index->type.kind != ir::Type::Kind::slice) return index;
  if (index->def != nullptr) return index->def->operand(0);
  return ir::LoopView(*index->owner->parent).begins.at(index->index);
}

}  // namespace tilewright::codegen
