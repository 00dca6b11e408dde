#include "tilewright/codegen/orient_dots.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "tilewright/codegen/dot_operands.h"
#include "tilewright/codegen/matrix_unit.h"
#include "tilewright/ir/builder.h"

namespace tilewright::codegen {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

constexpr int64_t kRows = 64;  // of a warpgroup's product

class Orienter {
 public:
  Orienter(const ir::Function& fn, const Config& config, const Target& target) {
    ir::for_each_op(fn.body(), [&](const Op& op) {
      if (op.kind != OpKind::dot || unit_of(op, config, target) != MatrixUnit::wgmma) return;
      const auto extents = fn.extents(op.result()->type.shape);
      if (is_transposed_for_wgmma(fn, op, extents[0], extents[1])) dots_.insert(&op);
    });
    ir::for_each_op(fn.body(), [&](const Op& op) {
      for (size_t i = 0; i < op.operands.size(); ++i)
        if (op.kind != OpKind::yield && !(dots_.contains(&op) && i == 2))
          read_otherwise_.insert(op.operand(i));
    });
  }

  bool operator()(ir::Rewriter& rewriter, const Op& op) {
    if (dots_.contains(&op)) return transpose_dot(rewriter, op);
    if (op.kind == OpKind::tile_loop && op.integer(AttrKey::parallel) == 0)
      return transpose_loop(rewriter, op);
    if (op.kind == OpKind::yield && loops_.contains(op.parent->parent))
      return transpose_yield(rewriter, op);
    return false;
  }

 private:
  static const Value* flip(ir::Builder& builder, const Value* x) {
    return builder.permute(x, {1, 0});
  }

  /// What stands for the transposed `value`.
  const Value* transposed(ir::Rewriter& rewriter, const Value* value) {
    if (auto known = transposed_.find(value); known != transposed_.end()) return known->second;
    const Op* def = value->def;
    if (def != nullptr && def->kind == OpKind::broadcast && def->operand(0)->type.is_scalar())
      return rewriter.builder().broadcast(rewriter(def->operand(0)),
                                          {value->type.shape[1], value->type.shape[0]}, {});
    return flip(rewriter.builder(), rewriter(value));
  }

  /// `value` is from now on `flipped`, transposed.
  void bind(ir::Rewriter& rewriter, const Value* value, const Value* flipped) {
    const_cast<Value*>(flipped)->name = value->name;
    transposed_[value] = flipped;
    rewriter.replace(value, flip(rewriter.builder(), flipped));
  }

  bool transpose_dot(ir::Rewriter& rewriter, const Op& op) {
    ir::Builder& builder = rewriter.builder();
    const Value* a = flip(builder, rewriter(op.operand(1)));
    const Value* b = flip(builder, rewriter(op.operand(0)));
    const Op* dot =
        builder.create(OpKind::dot, {a, b, transposed(rewriter, op.operand(2))}, op.attributes);
    bind(rewriter, op.result(), dot->result());
    return true;
  }

  /// The carried values of a loop that only transposed dots and the loop itself use.
  std::vector<bool> carried_transposed(const ir::LoopView& loop) const {
    std::vector<bool> chosen;
    for (size_t i = 0; i < loop.carried.size(); ++i) {
      const Value* next = loop.body->yields().at(i);
      chosen.push_back(next->def != nullptr && dots_.contains(next->def) &&
                       !read_otherwise_.contains(loop.carried[i]) &&
                       !read_otherwise_.contains(next));
    }
    return chosen;
  }

  bool transpose_loop(ir::Rewriter& rewriter, const Op& op) {
    const ir::LoopView loop(op);
    const std::vector<bool> chosen = carried_transposed(loop);
    if (std::find(chosen.begin(), chosen.end(), true) == chosen.end()) return false;
    loops_[&op] = chosen;
    ir::Builder& builder = rewriter.builder();
    std::vector<const Value*> inits;
    for (size_t i = 0; i < chosen.size(); ++i)
      inits.push_back(chosen[i] ? transposed(rewriter, loop.inits[i]) : rewriter(loop.inits[i]));
    Op* copy = builder.tile_loop(op.integers(AttrKey::axes), false, rewriter(loop.begins),
                                 rewriter(loop.limits), inits);
    const ir::LoopView made(*copy);
    {
      ir::Builder::Scope scope(builder, ir::Builder::region_of(copy, 0));
      for (size_t i = 0; i < loop.slices.size(); ++i) {
        const_cast<Value*>(made.slices[i])->name = loop.slices[i]->name;
        rewriter.replace(loop.slices[i], made.slices[i]);
      }
      for (size_t i = 0; i < chosen.size(); ++i) {
        const_cast<Value*>(made.carried[i])->name = loop.carried[i]->name;
        if (chosen[i])
          bind(rewriter, loop.carried[i], made.carried[i]);
        else
          rewriter.replace(loop.carried[i], made.carried[i]);
      }
      rewriter.clone_ops(*loop.body);
    }
    builder.loc = op.loc;
    for (size_t i = 0; i < chosen.size(); ++i) {
      if (chosen[i])
        bind(rewriter, op.results[i], copy->results[i]);
      else
        rewriter.replace(op.results[i], copy->results[i]);
    }
    return true;
  }

  bool transpose_yield(ir::Rewriter& rewriter, const Op& op) {
    const std::vector<bool>& chosen = loops_.at(op.parent->parent);
    std::vector<const Value*> values;
    for (size_t i = 0; i < chosen.size(); ++i)
      values.push_back(chosen[i] ? transposed(rewriter, op.operand(i)) : rewriter(op.operand(i)));
    rewriter.builder().yield(values);
    return true;
  }

  std::unordered_set<const Op*> dots_;
  std::unordered_set<const Value*> read_otherwise_;  // not only as accumulators
  std::unordered_map<const Op*, std::vector<bool>> loops_;
  std::unordered_map<const Value*, const Value*> transposed_;
};

}  // namespace

bool is_transposed_for_wgmma(const ir::Function& fn, const Op& dot, int64_t m, int64_t n) {
  if (n % kRows != 0 || m % 8 != 0) return false;
  return m % kRows != 0 ||
         (!wgmma_reads_as_stored(fn, dot, 1) && wgmma_reads_as_stored(fn, dot, 0));
}

ir::Function orient_dots(const ir::Function& fn, const Config& config, const Target& target) {
  Orienter orienter(fn, config, target);
  return ir::Rewriter::run(fn, std::ref(orienter));
}

}  // namespace tilewright::codegen
