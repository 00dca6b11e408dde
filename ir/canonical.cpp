#include "tilewright/ir/canonical.h"

#include <algorithm>
#include <unordered_map>

#include "tilewright/ir/builder.h"

namespace tilewright::ir {
namespace {

bool is_root(const Op& op) { return op.effect() != Effect::pure && op.effect() != Effect::read; }

/// Orders one region whose inner regions are in order already.
class RegionOrder {
 public:
  explicit RegionOrder(const Region& region) : region_(region) {}

  std::vector<const Op*> run() {
    rank_all();
    auto pending = loads_in_record_order();
    size_t next_load = 0;
    for (size_t i = 0; i < region_.ops.size(); ++i) {
      if (!is_root(*region_.ops[i])) continue;
      // Loads recorded before an effect must not see it: emit those still pending.
      const size_t first = next_load;
      while (next_load < pending.size() && pending[next_load].first < i) ++next_load;
      emit_loads(pending, first, next_load);
      emit(*region_.ops[i]);
    }
    return std::move(order_);
  }

 private:
  using Pending = std::vector<std::pair<size_t, const Op*>>;

  /// Visits what `op` and its inner regions use of this region, each operand before its users.
  template <class Visit>
  void for_each_operand(const Op& op, const Visit& visit) {
    for (const Value* operand : op.operands)
      if (operand->def != nullptr && operand->def->parent == &region_) visit(*operand->def);
    for (const Region* inner : op.regions)
      for (const Op* nested : inner->ops) for_each_operand(*nested, visit);
  }

  void rank_all() {
    for (const Op* op : region_.ops)
      if (is_root(*op)) rank(*op);
  }
  void rank(const Op& op) {
    if (rank_.contains(&op)) return;
    for_each_operand(op, [&](const Op& operand) { rank(operand); });
    rank_.emplace(&op, rank_.size());
  }

  Pending loads_in_record_order() const {
    Pending loads;
    for (size_t i = 0; i < region_.ops.size(); ++i)
      if (region_.ops[i]->effect() == Effect::read && rank_.contains(region_.ops[i]))
        loads.emplace_back(i, region_.ops[i]);
    return loads;
  }

  void emit_loads(const Pending& pending, size_t first, size_t last) {
    std::vector<const Op*> loads;
    for (size_t i = first; i < last; ++i) loads.push_back(pending[i].second);
    std::sort(loads.begin(), loads.end(),
              [&](const Op* a, const Op* b) { return rank_.at(a) < rank_.at(b); });
    for (const Op* load : loads) emit(*load);
  }

  void emit(const Op& op) {
    if (!emitted_.emplace(&op, true).second) return;
    for_each_operand(op, [&](const Op& operand) { emit(operand); });
    order_.push_back(&op);
  }

  const Region& region_;
  std::unordered_map<const Op*, size_t> rank_;
  std::unordered_map<const Op*, bool> emitted_;
  std::vector<const Op*> order_;
};

void order_region(Region& region) {
  for (const Op* op : region.ops)
    for (size_t i = 0; i < op->regions.size(); ++i)
      order_region(*Builder::region_of(op, static_cast<int>(i)));
  region.ops = RegionOrder(region).run();
}

}  // namespace

void canonicalize(Function& fn) { order_region(*fn.mutable_body()); }

}  // namespace tilewright::ir
