#include "tilewright/ir/dce.h"

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tilewright/ir/builder.h"
#include "tilewright/ir/combine.h"

namespace tilewright::ir {
namespace {

/// Results and carried values that are always the same as a value made before: what a loop carries
/// without changing, what both branches of an if yield.
class Aliases {
 public:
  explicit Aliases(const Function& fn) { region(fn.body()); }

  /// The value that `value` always is, one step on; null when it is its own.
  const Value* find(const Value* value) const {
    const auto found = of_.find(value);
    return found == of_.end() ? nullptr : found->second;
  }

 private:
  // Inner before outer: an outer loop carries a value unchanged when its inner loops do.
  void region(const Region& region) {
    for (const Op* op : region.ops) {
      for (const Region* inner : op->regions) this->region(*inner);
      if (op->kind == OpKind::tile_loop) loop(*op);
      if (op->kind == OpKind::while_loop) repetition(*op);
      if (op->kind == OpKind::if_else) branch(*op);
    }
  }

  void loop(const Op& op) {
    const LoopView view(op);
    const auto& yields = view.body->yields();
    for (size_t i = 0; i < view.inits.size(); ++i) {
      const Value* next = resolve(yields[i]);
      if (next != view.carried[i] && next != resolve(view.inits[i])) continue;
      of_[view.carried[i]] = view.inits[i];
      of_[op.results[i]] = view.inits[i];
    }
  }

  void repetition(const Op& op) {
    const WhileView view(op);
    for (size_t i = 0; i < view.inits.size(); ++i) {
      const Value* next = resolve(view.next[i]);
      if (next != view.carried[i] && next != resolve(view.inits[i])) continue;
      of_[view.carried[i]] = view.inits[i];
      of_[op.results[i]] = view.inits[i];
    }
  }

  void branch(const Op& op) {
    for (size_t i = 0; i < op.results.size(); ++i) {
      const Value* value = resolve(op.regions[0]->yields()[i]);
      if (value == resolve(op.regions[1]->yields()[i])) of_[op.results[i]] = value;
    }
  }

  const Value* resolve(const Value* value) const {
    while (const Value* next = find(value)) value = next;
    return value;
  }

  std::unordered_map<const Value*, const Value*> of_;
};

class Liveness {
 public:
  Liveness(const Function& fn, const Aliases& aliases) : aliases_(aliases) {
    for_each_op(fn.body(), [&](const Op& op) {
      if (op.effect() == Effect::write || op.effect() == Effect::sync) keep(op);
    });
    while (!work_.empty()) {
      const Value* value = work_.back();
      work_.pop_back();
      trace(*value);
    }
  }

  bool is_kept(const Op& op) const { return ops_.contains(&op); }
  bool is_read(const Value* value) const { return values_.contains(value); }

  /// Whether result `i` of a loop or an if stays.
  bool keeps_result(const Op& op, size_t i) const {
    if (aliases_.find(op.results[i]) != nullptr) return false;
    if (is_read(op.results[i])) return true;
    if (op.kind == OpKind::while_loop) return is_read(op.regions[0]->args[i]);
    return op.kind == OpKind::tile_loop && is_read(LoopView(op).carried[i]);
  }

 private:
  void keep(const Op& op) {
    if (!ops_.insert(&op).second) return;
    size_t needed = op.operands.size();
    // The carried values of a loop are needed one by one.
    if (op.kind == OpKind::tile_loop) needed = 2 * op.integers(AttrKey::axes).size();
    if (op.kind == OpKind::while_loop) {
      needed = 1;
      read(WhileView(op).again);
    }
    for (size_t i = 0; i < needed; ++i) read(op.operands[i]);
    if (op.parent->parent != nullptr) keep(*op.parent->parent);
  }

  void read(const Value* value) {
    if (values_.insert(value).second) work_.push_back(value);
  }

  void trace(const Value& value) {
    if (const Value* same = aliases_.find(&value)) return read(same);
    if (value.owner != nullptr) {
      const Op& loop = *value.owner->parent;
      keep(loop);
      if (combines(loop.kind)) return;
      if (loop.kind == OpKind::while_loop) return repeated(loop, value.index);
      const int slices = static_cast<int>(loop.integers(AttrKey::axes).size());
      if (value.index >= slices) carried(loop, value.index - slices);
    } else if (value.def != nullptr) {
      keep(*value.def);
      if (value.def->kind == OpKind::tile_loop) carried(*value.def, value.index);
      if (value.def->kind == OpKind::while_loop) repeated(*value.def, value.index);
      if (combines(value.def->kind))
        for (const Value* yielded : value.def->regions[0]->yields()) read(yielded);
      if (value.def->kind == OpKind::if_else)
        for (const Region* region : value.def->regions) read(region->yields()[value.index]);
    }
  }

  void repeated(const Op& loop, size_t i) {
    const WhileView view(loop);
    read(view.inits[i]);
    read(view.next[i]);
  }

  void carried(const Op& loop, size_t i) {
    const LoopView view(loop);
    read(view.inits[i]);
    read(view.body->yields()[i]);
  }

  const Aliases& aliases_;
  std::unordered_set<const Op*> ops_;
  std::unordered_set<const Value*> values_;
  std::vector<const Value*> work_;
};

class Remover {
 public:
  explicit Remover(const Function& fn) : aliases_(fn), live_(fn, aliases_) {}

  bool operator()(Rewriter& rewriter, const Op& op) const {
    if (op.kind == OpKind::yield) return yield(rewriter, op);
    if (!live_.is_kept(op)) return replace_aliases(rewriter, op);
    if (op.kind == OpKind::tile_loop) return loop(rewriter, op);
    if (op.kind == OpKind::if_else) return branch(rewriter, op);
    if (op.kind == OpKind::while_loop) return repetition(rewriter, op);
    return false;
  }

 private:
  /// Results of an operation that goes may stand for values that stay.
  bool replace_aliases(Rewriter& rewriter, const Op& op) const {
    for (const Value* result : op.results) replace_alias(rewriter, result);
    return true;
  }

  void replace_alias(Rewriter& rewriter, const Value* value) const {
    const Value* same = aliases_.find(value);
    if (same != nullptr && live_.is_read(value)) rewriter.replace(value, rewriter(same));
  }

  bool yield(Rewriter& rewriter, const Op& op) const {
    std::vector<const Value*> values;
    const Op& of = *op.parent->parent;
    if (combines(of.kind)) return false;
    const size_t first = of.kind == OpKind::while_loop ? 1 : 0;  // the condition stays
    for (size_t i = 0; i < op.operands.size(); ++i)
      if (i < first || live_.keeps_result(of, i - first))
        values.push_back(rewriter(op.operands[i]));
    if (!values.empty()) rewriter.builder().yield(values);
    return true;
  }

  void add_result(Rewriter& rewriter, Op* to, const Value* from) const {
    Value* result = rewriter.target().new_value(from->type);
    result->def = to;
    result->index = static_cast<int>(to->results.size());
    result->name = from->name;
    to->results.push_back(result);
    rewriter.replace(from, result);
  }

  bool loop(Rewriter& rewriter, const Op& op) const {
    const LoopView view(op);
    std::vector<const Value*> operands(op.operands.begin(),
                                       op.operands.begin() + 2 * view.begins.size());
    for (size_t i = 0; i < view.inits.size(); ++i)
      if (live_.keeps_result(op, i)) operands.push_back(view.inits[i]);
    Op* copy = rewriter.builder().create(op.kind, rewriter(operands), op.attributes);
    Region* body = Builder::region_of(copy, 0);
    add_arguments(rewriter, body, view.slices);
    for (size_t i = 0; i < view.inits.size(); ++i) {
      replace_alias(rewriter, view.carried[i]);
      if (!live_.keeps_result(op, i)) continue;
      add_arguments(rewriter, body, {view.carried[i]});
      add_result(rewriter, copy, op.results[i]);
    }
    fill(rewriter, *view.body, body);
    if (!view.fill->empty()) {
      add_arguments(rewriter, Builder::region_of(copy, 1), view.fill->args);
      fill(rewriter, *view.fill, Builder::region_of(copy, 1));
    }
    return replace_aliases(rewriter, op);
  }

  bool repetition(Rewriter& rewriter, const Op& op) const {
    const WhileView view(op);
    std::vector<const Value*> operands{view.condition};
    for (size_t i = 0; i < view.inits.size(); ++i)
      if (live_.keeps_result(op, i)) operands.push_back(view.inits[i]);
    Op* copy = rewriter.builder().create(op.kind, rewriter(operands), op.attributes);
    Region* body = Builder::region_of(copy, 0);
    for (size_t i = 0; i < view.inits.size(); ++i) {
      replace_alias(rewriter, view.carried[i]);
      if (!live_.keeps_result(op, i)) continue;
      add_arguments(rewriter, body, {view.carried[i]});
      add_result(rewriter, copy, op.results[i]);
    }
    fill(rewriter, *view.body, body);
    return replace_aliases(rewriter, op);
  }

  bool branch(Rewriter& rewriter, const Op& op) const {
    Op* copy = rewriter.builder().create(op.kind, rewriter(op.operands), op.attributes);
    for (size_t i = 0; i < op.results.size(); ++i)
      if (live_.keeps_result(op, i)) add_result(rewriter, copy, op.results[i]);
    for (int i = 0; i < 2; ++i) fill(rewriter, *op.regions[i], Builder::region_of(copy, i));
    return replace_aliases(rewriter, op);
  }

  static void add_arguments(Rewriter& rewriter, Region* region,
                            const std::vector<const Value*>& values) {
    for (const Value* value : values)
      rewriter.replace(value, rewriter.builder().add_argument(region, value->type, value->name));
  }

  static void fill(Rewriter& rewriter, const Region& from, Region* to) {
    Builder::Scope scope(rewriter.builder(), to);
    rewriter.clone_ops(from);
  }

  Aliases aliases_;
  Liveness live_;
};

}  // namespace

Function eliminate_dead_code(const Function& fn) {
  const Remover remover(fn);
  return Rewriter::run(fn, [&](Rewriter& rewriter, const Op& op) { return remover(rewriter, op); });
}

}  // namespace tilewright::ir
