#include "tilewright/codegen/low_part.h"

#include "tilewright/codegen/lowering.h"
#include "tilewright/codegen/stage_layouts.h"
#include "tilewright/ir/precision.h"

namespace tilewright::codegen {
namespace {

constexpr int kVector = 4;  // floats of one access

}  // namespace

bool has_parts(const ir::Op& dot) { return ir::precision_of(dot) == DotPrecision::tf32x3; }

std::string lower_low_part(Lowering& lowering, const ir::Op& dot) {
  const ir::Value* ring = view_of(dot.operand(1)).ring;
  const SharedLayout& shared = lowering.in.shared.at(ring);
  const RingBuffer& buffer = lowering.rings.at(ring);
  const std::string low =
      declare_shared(lowering, name_of(ring, "b") + "_low", DType::f32, 1, shared,
                     "what TF32 leaves out of a slot of " + buffer.name);
  const int fast = shared.order.back();
  const Layout layout =
      blocked_layout(shared.extents, {fast, 1 - fast}, kVector, lowering.config.warps);
  const ir::Shape& shape = ring->type.shape;
  lowering.emit_if(replica_guard(lowering, layout), [&] {
    for_registers(lowering, layout, fast, kVector, [&](const RegIndex& index) {
      const auto at = coordinates(lowering, layout, shape, index, fast, kVector);
      const auto place = [&](const std::string& name, const ExprRef& stage) {
        return address(shared_element(name, shared, stage, at, kVector));
      };
      lowering.emit_if(overhang_guard(layout, shared.extents, at), [&] {
        const std::string run = lowering.names.unique("run");
        const std::string& p = lowering.vector_loop[0];
        const ExprRef each = element(run, {name(p)});
        lowering.emit(array("float", run, {kVector}));
        lowering.emit(
            call_stmt(call("tw::load<4>", {name(run), place(buffer.name, buffer.read_stage)})));
        lowering.emit(loop(p, integer(0), integer(kVector), integer(1), true,
                           {assign(each, call("tw::tf32_low", {each}))}));
        lowering.emit(call_stmt(call("tw::store<4>", {place(low, nullptr), name(run)})));
      });
    });
  });
  lowering.emit(call_stmt(call("tw::fence_async_shared", {})));
  return low;
}

}  // namespace tilewright::codegen
