#include "tilewright/codegen/pipeline.h"

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
using ir::Value;

/// The copies of one loop body that can run ahead.
struct Ahead {
  std::vector<const Op*> copies;                      // in program order
  std::unordered_set<const Value*> rings;             // their rings
  std::unordered_map<const Value*, const Op*> slots;  // slot -> acquire
};

/// Whether `value` can be computed before the body runs: defined outside of it, its slice, or pure
/// arithmetic on such values.
bool available_ahead(const Region& body, size_t slices, const Value* value) {
  if (value->owner == &body) return value->index < static_cast<int>(slices);
  if (value->def == nullptr) return true;
  const Region* region = value->def->parent;
  while (region != nullptr && region != &body)
    region = region->parent == nullptr ? nullptr : region->parent->parent;
  if (region == nullptr) return true;
  if (value->def->effect() != ir::Effect::pure) return false;
  return std::all_of(value->def->operands.begin(), value->def->operands.end(),
                     [&](const Value* v) { return available_ahead(body, slices, v); });
}

class Pipeliner {
 public:
  Pipeliner(const ir::Function& fn, const Config& config, const std::vector<bool>& written)
      : fn_(fn), config_(config), written_(written) {}

  bool operator()(ir::Rewriter& rewriter, const Op& op) {
    if (op.kind == OpKind::tile_loop && op.integer(AttrKey::parallel) == 0) {
      const Ahead ahead = find(op);
      if (!ahead.copies.empty()) {
        rewrite_loop(rewriter, op, ahead);
        return true;
      }
    }
    return moved_.contains(&op) || rewrite_wait(rewriter, op);
  }

 private:
  int stages(const Op& loop) const {
    int64_t stages = config_.copy == CopyKind::sync ? std::min(config_.stages, 2) : config_.stages;
    const int64_t trips = trip_count(fn_, loop);
    const bool bulk = config_.copy == CopyKind::tma;
    // A ring that bulk copies fill goes on from one tile of a block to its next, however few steps
    // each has.
    if (trips >= 0 && !(bulk && config_.persistent))
      stages = std::min<int64_t>(stages, bulk ? std::max<int64_t>(trips, 2) : trips);
    return static_cast<int>(stages);
  }

  bool tensor_written(const Value* tensor) const {
    const ir::Param* param = fn_.param_of(tensor);
    return param == nullptr || written_.at(param - fn_.params.data());
  }

  Ahead find(const Op& loop) const {
    Ahead result;
    if (stages(loop) < 2) return result;
    const Region& body = *loop.regions[0];
    const size_t slices = loop.integers(AttrKey::axes).size();
    std::unordered_map<const Value*, const Op*> acquires;
    for (const Op* op : body.ops) {
      if (op->kind == OpKind::ring_acquire) acquires[op->result()] = op;
      if (op->kind != OpKind::copy) continue;
      const ir::AccessView access(*op);
      const bool ok = !tensor_written(access.tensor) &&
                      std::all_of(access.indices.begin(), access.indices.end(),
                                  [&](const Value* v) { return available_ahead(body, slices, v); });
      if (!ok || !acquires.contains(access.value)) continue;
      result.copies.push_back(op);
      result.slots[access.value] = acquires.at(access.value);
      result.rings.insert(acquires.at(access.value)->operand(0));
    }
    return result;
  }

  void rewrite_loop(ir::Rewriter& rewriter, const Op& loop, const Ahead& ahead) {
    const int slots = stages(loop);
    for (const Op* op : loop.regions[0]->ops) {
      if (op->kind == OpKind::ring && ahead.rings.contains(op->result()))
        hoist_ring(rewriter, *op, slots);
      const bool moves =
          op->kind == OpKind::copy
              ? std::find(ahead.copies.begin(), ahead.copies.end(), op) != ahead.copies.end()
              : op->kind == OpKind::ring_acquire && ahead.slots.contains(op->result());
      if (moves) moved_.insert(op);
    }
    for (const Value* ring : ahead.rings) lookahead_[ring] = slots - 1;
    Op* copy = rewriter.clone(loop);
    copy->set(AttrKey::ahead, int64_t{slots - 1});
    build_fill(rewriter, loop, ahead, ir::Builder::region_of(copy, 1));
  }

  void hoist_ring(ir::Rewriter& rewriter, const Op& ring, int slots) {
    moved_.insert(&ring);
    const ir::Type& type = ring.result()->type;
    const ir::Type deep = ir::Type::ring(type.dtype, type.shape, slots);
    rewriter.builder().loc = ring.loc;
    const Op* hoisted = rewriter.builder().create(
        OpKind::ring, {}, {{AttrKey::shape, type.shape}, {AttrKey::stages, int64_t{slots}}}, &deep);
    rewriter.replace(ring.result(), hoisted->result());
  }

  /// The fill region: the moved acquires and copies, on a slice of its own, closed by one commit.
  void build_fill(ir::Rewriter& rewriter, const Op& loop, const Ahead& ahead, Region* fill) {
    ir::Builder& builder = rewriter.builder();
    const Region& body = *loop.regions[0];
    std::unordered_map<const Value*, const Value*> local;
    for (size_t i = 0; i < loop.integers(AttrKey::axes).size(); ++i)
      local[body.args[i]] = builder.add_argument(fill, body.args[i]->type, body.args[i]->name);
    ir::Builder::Scope scope(builder, fill);
    std::function<const Value*(const Value*)> bring = [&](const Value* value) -> const Value* {
      if (auto found = local.find(value); found != local.end()) return found->second;
      if (value->def == nullptr || value->def->parent != &body) return rewriter(value);
      if (ahead.rings.contains(value)) return rewriter(value);
      std::vector<const Value*> operands;
      for (const Value* operand : value->def->operands) operands.push_back(bring(operand));
      const Op* copy =
          builder.create(value->def->kind, operands, value->def->attributes, &value->type);
      return local[value] = copy->result();
    };
    std::vector<const Value*> rings;
    for (const Op* copy : ahead.copies) {
      builder.loc = copy->loc;
      const Op* acquire = ahead.slots.at(copy->operand(0));
      rings.push_back(bring(acquire->operand(0)));
      bring(acquire->result());
      std::vector<const Value*> operands;
      for (const Value* operand : copy->operands) operands.push_back(bring(operand));
      builder.create(OpKind::copy, operands, copy->attributes);
    }
    builder.create(OpKind::ring_commit, rings);
  }

  /// In a pipelined body: drops the commit of moved copies and lets younger groups stay in flight.
  bool rewrite_wait(ir::Rewriter& rewriter, const Op& op) {
    if (op.kind != OpKind::ring_commit && op.kind != OpKind::ring_wait) return false;
    std::vector<const Value*> stay, moved;
    for (const Value* ring : op.operands)
      (lookahead_.contains(ring) ? moved : stay).push_back(ring);
    if (moved.empty()) return false;
    if (op.kind == OpKind::ring_commit) {
      if (!stay.empty()) rewriter.builder().create(OpKind::ring_commit, rewriter(stay));
      return true;
    }
    // A wait that also covers copies committed just now has to wait for everything.
    const int64_t pending = stay.empty() ? lookahead_.at(moved[0]) - 1 : 0;
    rewriter.clone(op)->set(AttrKey::pending, pending);
    return true;
  }

  const ir::Function& fn_;
  const Config& config_;
  const std::vector<bool>& written_;
  std::unordered_set<const Op*> moved_;
  std::unordered_map<const Value*, int> lookahead_;  // ring -> iterations it is filled ahead
};

}  // namespace

int64_t trip_count(const ir::Function& fn, const ir::Op& loop) {
  const ir::LoopView view(loop);
  if (view.begins.size() != 1) return -1;
  auto known = [](const Value* v) { return v->def != nullptr && v->def->kind == OpKind::constant; };
  if (!known(view.begins[0]) || !known(view.limits[0])) return -1;
  const int64_t begin = view.begins[0]->def->integer(AttrKey::value);
  const int64_t limit = view.limits[0]->def->integer(AttrKey::value);
  const int64_t block = fn.axes.at(loop.integers(AttrKey::axes)[0]).block;
  return limit <= begin ? 0 : (limit - begin + block - 1) / block;
}

ir::Function pipeline(const ir::Function& fn, const Config& config,
                      const std::vector<bool>& written) {
  Pipeliner pipeliner(fn, config, written);
  return ir::Rewriter::run(fn, std::ref(pipeliner));
}

}  // namespace tilewright::codegen
