#include "tilewright/codegen/sink_loads.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "tilewright/ir/builder.h"

namespace tilewright::codegen {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

/// Whether a value is the same in every program: made of constants and sizes.
bool is_common(const ir::Function& fn, const Value* value) {
  if (value->def == nullptr) return fn.param_of(value) != nullptr;
  if (value->def->effect() != ir::Effect::pure) return false;
  return std::ranges::all_of(value->def->operands,
                             [&](const Value* operand) { return is_common(fn, operand); });
}

bool uses(const Op& op, const Value* value) {
  if (std::ranges::find(op.operands, value) != op.operands.end()) return true;
  return std::ranges::any_of(op.regions, [&](const ir::Region* region) {
    return std::ranges::any_of(region->ops, [&](const Op* inner) { return uses(*inner, value); });
  });
}

/// Converts or moves about what one operand holds: goes where the load goes.
bool is_view(OpKind kind) {
  return kind == OpKind::cast || kind == OpKind::broadcast || kind == OpKind::permute;
}

class Sinking {
 public:
  Sinking(const ir::Function& fn, const Config& config, const std::vector<bool>& written)
      : fn_(fn), config_(config), written_(written) {
    ir::for_each_op(fn.body(), [&](const Op& op) {
      if (is_common_load(op)) sink(op);
    });
  }

  bool operator()(ir::Rewriter& rewriter, const Op& op) const {
    if (const auto found = before_.find(&op); found != before_.end())
      for (const Op* moved : found->second) rewriter.clone(*moved);
    return moved_.contains(&op);
  }

 private:
  bool is_common_load(const Op& op) const {
    if (op.kind != OpKind::load || !op.result()->type.is_tile()) return false;
    const ir::Param* param = fn_.param_of(ir::AccessView(op).tensor);
    return holds_many(op.result()->type.shape) && param != nullptr &&
           !written_.at(static_cast<size_t>(param - fn_.params.data())) &&
           std::ranges::all_of(op.operands,
                               [&](const Value* operand) { return is_common(fn_, operand); });
  }

  /// Whether each thread would hold many elements of such a tile.
  bool holds_many(const ir::Shape& shape) const {
    constexpr int64_t many = 32;
    int64_t elements = 1;
    for (const ir::Dim& dim : shape)
      elements *= std::max<int64_t>(1, dim.is_block() ? fn_.axes[dim.axis].block : dim.extent);
    return elements >= many * 32 * config_.warps;
  }

  /// Notes where a load goes, with the views of what it loads: before the first that needs one,
  /// when that comes after a reduction.
  void sink(const Op& load) {
    std::vector<const Op*> chain = {&load};
    bool reduces = false;
    const auto& ops = load.parent->ops;
    for (auto next = std::ranges::find(ops, &load) + 1; next != ops.end(); ++next) {
      const bool needs = std::ranges::any_of(
          chain, [&](const Op* moved) { return uses(**next, moved->result()); });
      if (needs && is_view((*next)->kind)) {
        chain.push_back(*next);
      } else if (needs) {
        if (!reduces) return;
        moved_.insert(chain.begin(), chain.end());
        auto& before = before_[*next];
        before.insert(before.end(), chain.begin(), chain.end());
        return;
      }
      reduces |= (*next)->kind == OpKind::reduce || (*next)->kind == OpKind::combine;
    }
  }

  const ir::Function& fn_;
  const Config& config_;
  const std::vector<bool>& written_;
  std::unordered_map<const Op*, std::vector<const Op*>> before_;
  std::unordered_set<const Op*> moved_;
};

}  // namespace

ir::Function sink_loads(const ir::Function& fn, const Config& config,
                        const std::vector<bool>& written) {
  const Sinking sinking(fn, config, written);
  return ir::Rewriter::run(fn, sinking);
}

}  // namespace tilewright::codegen
