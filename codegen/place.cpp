#include "tilewright/codegen/place.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "tilewright/codegen/dot_operands.h"
#include "tilewright/codegen/matrix_unit.h"
#include "tilewright/ir/builder.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Region;
using ir::Type;
using ir::Value;

/// Whether `op`, or one inside it, may write to memory.
bool writes(const Op& op) {
  if (op.effect() == ir::Effect::write) return true;
  return std::any_of(op.regions.begin(), op.regions.end(), [](const Region* region) {
    return std::any_of(region->ops.begin(), region->ops.end(),
                       [](const Op* inner) { return writes(*inner); });
  });
}

class Placer {
 public:
  Placer(const ir::Function& fn, const Config& config, const Target& target)
      : fn_(fn), config_(config), target_(target) {
    ir::for_each_op(fn.body(), [&](const Op& op) {
      if (op.kind != OpKind::dot) return;
      for (int i = 0; i < 2; ++i) visit_operand(op, i);
    });
  }

  bool operator()(ir::Rewriter& rewriter, const Op& op) {
    State& state = states_[op.parent];
    passed_.insert(&op);
    if (!state.pending.empty() && needs_copies(state, op)) flush(rewriter, state, op);
    const bool is_last = op.parent->ops.back() == &op;
    if (is_last && op.kind == OpKind::yield) release(rewriter, state);
    bool handled = place(rewriter, state, op);
    if (is_last && op.kind != OpKind::yield) {
      if (!handled) rewriter.clone(op);
      handled = true;
      release(rewriter, state);
    }
    return handled;
  }

 private:
  struct Copy {
    const Op* load;     // in the source
    const Value* ring;  // in the target
  };
  /// What one region of the source has copied.
  struct State {
    std::vector<Copy> pending;           // not yet committed
    std::vector<const Value*> readable;  // rings with a slot to release
  };

  void visit_operand(const Op& dot, int operand) {
    const Value* value = dot.operand(operand);
    if (operand_home(fn_, dot, operand, config_, target_) == OperandHome::copied) {
      staged_.insert(load_behind(value, true));
    } else if (unit_of(dot, config_, target_) != MatrixUnit::fma) {
      for (const Op* load : loads_behind(value)) fetched_.insert(load);
    }
  }

  bool is_copied(const Op& load) const {
    return staged_.contains(&load) || fetched_.contains(&load);
  }

  bool place(ir::Rewriter& rewriter, State& state, const Op& op) {
    if (early_.contains(&op)) return true;
    if (op.kind == OpKind::load && is_copied(op)) return start_copy(rewriter, state, op);
    if (op.kind == OpKind::dot) return place_dot(rewriter, state, op);
    return false;
  }

  static void release(ir::Rewriter& rewriter, const State& state) {
    if (!state.readable.empty()) rewriter.builder().create(OpKind::ring_release, state.readable);
  }

  /// Whether pending copies must be over before `op`: a dot of theirs or another use of what is
  /// fetched, or a store, which may overwrite what they still read.
  bool needs_copies(const State& state, const Op& op) const {
    if (ir::writes_tensor(op.kind)) return true;
    if (std::any_of(state.pending.begin(), state.pending.end(),
                    [&](const Copy& copy) { return reads(op, *copy.load); }))
      return true;
    return std::any_of(op.regions.begin(), op.regions.end(), [&](const Region* region) {
      return std::any_of(region->ops.begin(), region->ops.end(),
                         [&](const Op* inner) { return needs_copies(state, *inner); });
    });
  }

  bool reads(const Op& op, const Op& load) const {
    if (op.kind == OpKind::dot)
      for (int i = 0; i < 2; ++i)
        if (load_behind(op.operand(i), true) == &load) return true;
    return fetched_.contains(&load) &&
           std::find(op.operands.begin(), op.operands.end(), load.result()) != op.operands.end();
  }

  static const Value* make_ring(ir::Builder& builder, const Type& tile, const std::string& name) {
    const Type type = Type::ring(tile.dtype, tile.shape, 1);
    const Op* op = builder.create(
        OpKind::ring, {}, {{AttrKey::shape, tile.shape}, {AttrKey::stages, int64_t{1}}}, &type);
    const_cast<Value*>(op->result())->name = name;
    return op->result();
  }

  bool start_copy(ir::Rewriter& rewriter, State& state, const Op& load) {
    if (!fetched_.contains(&load)) rewriter.clone(load);  // for its other users; dead otherwise
    ir::Builder& builder = rewriter.builder();
    const Value* ring = make_ring(builder, load.result()->type, load.operand(0)->name);
    const Value* slot = builder.create(OpKind::ring_acquire, {ring})->result();
    std::vector<const Value*> operands = {slot};
    for (const Value* operand : load.operands) operands.push_back(rewriter(operand));
    builder.create(OpKind::copy, operands, {{AttrKey::guard, load.integers(AttrKey::guard)}});
    state.pending.push_back({&load, ring});
    return true;
  }

  /// Whether `value` is known before `at`, or could be computed there: positions are.
  bool can_bring(const Value* value, const Region& region) const {
    const Op* def = value->def;
    if (def == nullptr || def->parent != &region || passed_.contains(def)) return true;
    return def->effect() == ir::Effect::pure && def->regions.empty() && !value->type.is_tile() &&
           std::all_of(def->operands.begin(), def->operands.end(),
                       [&](const Value* x) { return can_bring(x, region); });
  }

  void bring(ir::Rewriter& rewriter, const Value* value, const Region& region) {
    const Op* def = value->def;
    if (def == nullptr || def->parent != &region || passed_.contains(def)) return;
    for (const Value* operand : def->operands) bring(rewriter, operand, region);
    rewriter.builder().loc = def->loc;
    rewriter.clone(*def);
    passed_.insert(def);
    early_.insert(def);
  }

  /// Starts the copies that the rest of the region asks for, up to the next store: then one wait is
  /// enough for all.
  void start_later_copies(ir::Rewriter& rewriter, State& state, const Op& at) {
    const Region& region = *at.parent;
    for (auto it = std::find(region.ops.begin(), region.ops.end(), &at); it != region.ops.end();
         ++it) {
      const Op& op = **it;
      if (writes(op)) return;
      if (&op == &at || op.kind != OpKind::load || !is_copied(op)) continue;
      if (!std::all_of(op.operands.begin(), op.operands.end(),
                       [&](const Value* x) { return can_bring(x, region); }))
        continue;
      for (const Value* operand : op.operands) bring(rewriter, operand, region);
      rewriter.builder().loc = op.loc;
      start_copy(rewriter, state, op);
      passed_.insert(&op);
      early_.insert(&op);
    }
  }

  void flush(ir::Rewriter& rewriter, State& state, const Op& at) {
    ir::Builder& builder = rewriter.builder();
    if (std::any_of(state.pending.begin(), state.pending.end(),
                    [&](const Copy& copy) { return fetched_.contains(copy.load); }))
      start_later_copies(rewriter, state, at);
    builder.loc = at.loc;
    std::vector<const Value*> rings;
    for (const Copy& copy : state.pending) rings.push_back(copy.ring);
    publish(builder, rings);
    for (const Copy& copy : state.pending)
      shared_[copy.load->result()] = builder.create(OpKind::ring_read, {copy.ring})->result();
    for (const Copy& copy : state.pending) {
      const Value* loaded = copy.load->result();
      if (!fetched_.contains(copy.load)) continue;
      builder.loc = copy.load->loc;
      rewriter.replace(loaded, builder.create(OpKind::fetch, {shared_.at(loaded)})->result());
    }
    builder.loc = at.loc;
    state.readable.insert(state.readable.end(), rings.begin(), rings.end());
    state.pending.clear();
  }

  static void publish(ir::Builder& builder, const std::vector<const Value*>& rings) {
    builder.create(OpKind::ring_commit, rings);
    builder.create(OpKind::ring_wait, rings, {{AttrKey::pending, int64_t{0}}});
  }

  /// The shared tile that a loaded value, cast or transposed on the way, is a view of.
  const Value* shared_view(ir::Rewriter& rewriter, const Value* value) {
    if (value->def->kind == OpKind::load) return shared_.at(value);
    const Value* inner = shared_view(rewriter, value->def->operand(0));
    const Type type = Type::shared(value->type.dtype, value->type.shape);
    return rewriter.builder()
        .create(value->def->kind, {inner}, value->def->attributes, &type)
        ->result();
  }

  const Value* stage(ir::Rewriter& rewriter, State& state, const Value* value) {
    ir::Builder& builder = rewriter.builder();
    const Value* ring = make_ring(builder, value->type, value->name);
    const Value* slot = builder.create(OpKind::ring_acquire, {ring})->result();
    builder.create(OpKind::stage, {slot, rewriter(value)});
    publish(builder, {ring});
    state.readable.push_back(ring);
    return builder.create(OpKind::ring_read, {ring})->result();
  }

  bool place_dot(ir::Rewriter& rewriter, State& state, const Op& op) {
    const Value* operands[2];
    for (int i = 0; i < 2; ++i) operands[i] = place_operand(rewriter, state, op, i);
    const Op* dot = rewriter.builder().create(
        OpKind::dot, {operands[0], operands[1], rewriter(op.operand(2))}, op.attributes);
    rewriter.replace(op.result(), dot->result());
    return true;
  }

  const Value* place_operand(ir::Rewriter& rewriter, State& state, const Op& dot, int operand) {
    const Value* value = dot.operand(operand);
    switch (operand_home(fn_, dot, operand, config_, target_)) {
      case OperandHome::copied:
        return shared_view(rewriter, value);
      case OperandHome::staged:
        return stage(rewriter, state, value);
      case OperandHome::registers:
        break;
    }
    return rewriter(value);
  }

  const ir::Function& fn_;
  const Config& config_;
  const Target& target_;
  std::unordered_set<const Op*> staged_;          // loads that dots read from shared memory
  std::unordered_set<const Op*> fetched_;         // loads that dots' operands are computed from
  std::unordered_set<const Op*> passed_, early_;  // what is done; what was done ahead of its place
  std::unordered_map<const Region*, State> states_;
  std::unordered_map<const Value*, const Value*> shared_;  // loaded value -> its shared tile
};

}  // namespace

ir::Function place(const ir::Function& fn, const Config& config, const Target& target) {
  Placer placer(fn, config, target);
  return ir::Rewriter::run(fn, std::ref(placer));
}

}  // namespace tilewright::codegen
