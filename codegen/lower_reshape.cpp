#include "tilewright/codegen/function_exprs.h"
#include "tilewright/codegen/lowering.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using ir::Op;
using ir::Value;

/// Where an element lies when its tile's elements are counted row by row.
ExprRef row_major_index(const std::vector<int64_t>& extents, const std::vector<ExprRef>& at) {
  ExprRef index = integer(0);
  for (size_t axis = 0; axis < extents.size(); ++axis)
    index = index * integer(extents[axis]) + at[axis];
  return index;
}

}  // namespace

/// Elements meet in a line of shared memory: written by their old coordinates, read by the new.
void lower_reshape(Lowering& lowering, const Op& op) {
  const Value* from = op.operand(0);
  const Value* to = op.result();
  const Layout& source = lowering.layout(from);
  const Layout& target = lowering.layout(to);
  const auto old_extents = lowering.extents(from), new_extents = lowering.extents(to);
  lowering.at_source(op);

  SharedBuffer buffer;
  buffer.name = lowering.names.unique(name_of(from, "tile") + "_line");
  buffer.dtype = from->type.dtype;
  buffer.extents = {1};
  for (int64_t extent : old_extents) buffer.extents[0] *= extent;
  buffer.comment = "row by row, to be read in another shape";
  lowering.kernel.buffers.push_back(buffer);

  lowering.emit_if(replica_guard(lowering, source), [&] {
    for_registers(lowering, source, -1, 1, [&](const RegIndex& index) {
      const auto at = coordinates(lowering, source, from->type.shape, index);
      lowering.emit_if(overhang_guard(source, old_extents, at), [&] {
        lowering.emit(assign(shared(buffer.name, {row_major_index(old_extents, at)}),
                             element_value(lowering, from, index)));
      });
    });
  });

  const std::string tile = declare_tile(lowering, to);
  for_registers(lowering, target, -1, 1, [&](const RegIndex& index) {
    const auto at = coordinates(lowering, target, to->type.shape, index);
    ExprRef element = shared(buffer.name, {row_major_index(new_extents, at)});
    if (ExprRef inside = overhang_guard(target, new_extents, at))
      element = conditional(inside, element, constant_expr(int64_t{0}, to->type.dtype));
    lowering.emit(assign(register_element(tile, target, index), element));
  });
}

}  // namespace tilewright::codegen
