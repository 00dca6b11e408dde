#include "tilewright/codegen/place.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

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

/// The load a value is a cast or a transposition of; null when it is computed.
const Op* load_behind(const Value* value) {
  const Op* op = value->def;
  while (op != nullptr && (op->kind == OpKind::cast || op->kind == OpKind::permute))
    op = op->operand(0)->def;
  return op != nullptr && op->kind == OpKind::load ? op : nullptr;
}

class Placer {
 public:
  explicit Placer(const ir::Function& fn) {
    ir::for_each_op(fn.body(), [&](const Op& op) {
      if (op.kind != OpKind::dot) return;
      for (int i = 0; i < 2; ++i)
        if (const Op* load = load_behind(op.operand(i))) staged_.insert(load);
    });
  }

  bool operator()(ir::Rewriter& rewriter, const Op& op) {
    State& state = states_[op.parent];
    if (!state.pending.empty() && needs_copies(state, op)) flush(rewriter, state);
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
    const Value* loaded;  // in the source
    const Value* ring;    // in the target
  };
  /// What one region of the source has copied.
  struct State {
    std::vector<Copy> pending;           // not yet committed
    std::vector<const Value*> readable;  // rings with a slot to release
  };

  bool place(ir::Rewriter& rewriter, State& state, const Op& op) {
    if (op.kind == OpKind::load && staged_.contains(&op)) return start_copy(rewriter, state, op);
    if (op.kind == OpKind::dot) return place_dot(rewriter, state, op);
    return false;
  }

  static void release(ir::Rewriter& rewriter, const State& state) {
    if (!state.readable.empty()) rewriter.builder().create(OpKind::ring_release, state.readable);
  }

  /// Whether pending copies must be over before `op`: a dot of theirs, or a store, which may
  /// overwrite what they still read.
  bool needs_copies(const State& state, const Op& op) const {
    if (op.kind == OpKind::store) return true;
    if (op.kind == OpKind::dot)
      for (int i = 0; i < 2; ++i)
        if (const Op* load = load_behind(op.operand(i)))
          for (const Copy& copy : state.pending)
            if (copy.loaded == load->result()) return true;
    for (const Region* region : op.regions)
      for (const Op* inner : region->ops)
        if (needs_copies(state, *inner)) return true;
    return false;
  }

  static const Value* make_ring(ir::Builder& builder, const Type& tile, const std::string& name) {
    const Type type = Type::ring(tile.dtype, tile.shape, 1);
    const Op* op = builder.create(
        OpKind::ring, {}, {{AttrKey::shape, tile.shape}, {AttrKey::stages, int64_t{1}}}, &type);
    const_cast<Value*>(op->result())->name = name;
    return op->result();
  }

  bool start_copy(ir::Rewriter& rewriter, State& state, const Op& load) {
    rewriter.clone(load);  // for its other users; dead otherwise
    ir::Builder& builder = rewriter.builder();
    const Value* ring = make_ring(builder, load.result()->type, load.operand(0)->name);
    const Value* slot = builder.create(OpKind::ring_acquire, {ring})->result();
    std::vector<const Value*> operands = {slot};
    for (const Value* operand : load.operands) operands.push_back(rewriter(operand));
    builder.create(OpKind::copy, operands, {{AttrKey::guard, load.integers(AttrKey::guard)}});
    state.pending.push_back({load.result(), ring});
    return true;
  }

  void flush(ir::Rewriter& rewriter, State& state) {
    std::vector<const Value*> rings;
    for (const Copy& copy : state.pending) rings.push_back(copy.ring);
    publish(rewriter.builder(), rings);
    for (const Copy& copy : state.pending)
      shared_[copy.loaded] = rewriter.builder().create(OpKind::ring_read, {copy.ring})->result();
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
    for (int i = 0; i < 2; ++i)
      operands[i] = load_behind(op.operand(i)) != nullptr ? shared_view(rewriter, op.operand(i))
                                                          : stage(rewriter, state, op.operand(i));
    const Op* dot = rewriter.builder().create(
        OpKind::dot, {operands[0], operands[1], rewriter(op.operand(2))}, op.attributes);
    rewriter.replace(op.result(), dot->result());
    return true;
  }

  std::unordered_set<const Op*> staged_;
  std::unordered_map<const Region*, State> states_;
  std::unordered_map<const Value*, const Value*> shared_;  // loaded value -> its shared tile
};

}  // namespace

ir::Function place(const ir::Function& fn) {
  Placer placer(fn);
  return ir::Rewriter::run(fn, std::ref(placer));
}

}  // namespace tilewright::codegen
