#include "tilewright/codegen/schedule.h"

#include "tilewright/ir/builder.h"

namespace tilewright::codegen {

ir::Function schedule(const ir::Function& fn, const Config& config) {
  return ir::Rewriter::run(fn, [&](ir::Rewriter& rewriter, const ir::Op& op) {
    if (op.kind != ir::OpKind::tile_loop || op.integer(ir::AttrKey::parallel) == 0) return false;
    ir::Op* loop = rewriter.clone(op);
    if (config.group > 1 && op.integers(ir::AttrKey::axes).size() == 2)
      loop->set(ir::AttrKey::group, int64_t{config.group});
    if (config.order.size() == op.integers(ir::AttrKey::axes).size())
      loop->set(ir::AttrKey::dims, std::vector<int64_t>(config.order.begin(), config.order.end()));
    return true;
  });
}

}  // namespace tilewright::codegen
