#include "tilewright/codegen/roll_rows.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "tilewright/codegen/known_value.h"
#include "tilewright/codegen/passes.h"
#include "tilewright/codegen/roll_plan.h"
#include "tilewright/ir/builder.h"
#include "tilewright/ir/dce.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using ir::AttrKey;
using ir::Dim;
using ir::Fn;
using ir::Op;
using ir::OpKind;
using ir::Value;

/// Whether every element of `value` past the end of the slices it was loaded by is 0.
bool zero_past_end(const Value* value) {
  if (value->def == nullptr) return false;
  if (value->def->kind == OpKind::cast || value->def->kind == OpKind::permute)
    return zero_past_end(value->def->operand(0));
  return value->def->kind == OpKind::load && !ir::AccessView(*value->def).gathers();
}

const Value* identity(ir::Builder& builder, Fn fn, DType dtype) {
  if (is_float(dtype)) return builder.constant(dtype, ir::identity_of(fn));
  return builder.constant(dtype, ir::integer_identity(fn, dtype));
}

/// What to call the tile in which a reduction is collected.
std::string partial_name(const Op& reduction) {
  switch (reduction.fn()) {
    case Fn::add:
      return "partial_sum";
    case Fn::mul:
      return "partial_product";
    case Fn::bit_and:
      return "all_so_far";
    case Fn::bit_or:
      return "any_so_far";
    default:
      return fmt::format("{}_so_far", ir::info(reduction.fn()).name);
  }
}

/// Rewrites one class of dimensions.
class Roller {
 public:
  Roller(const ir::Function& fn, const DimClasses& classes, int cls, const RollPlan& plan,
         int64_t chunk)
      : fn_(fn),
        classes_(classes),
        cls_(cls),
        plan_(plan),
        extent_(classes.at(static_cast<size_t>(cls)).extent),
        chunk_(chunk) {}

  /// Does a whole region at its first operation.
  bool operator()(ir::Rewriter& rewriter, const Op& op) {
    const auto found = plan_.regions().find(op.parent);
    if (found == plan_.regions().end()) return false;
    if (op.parent->ops.front() != &op) return true;
    emit_region(rewriter, found->second);
    return true;
  }

 private:
  void emit_region(ir::Rewriter& rewriter, const RegionPlan& plan) {
    const auto& ops = plan.region->ops;
    for (int level = 0; level <= plan.levels; ++level) {
      for (const Op* op : ops) {
        const auto found = plan.level_of.find(op);
        const bool now = found != plan.level_of.end() && found->second == level;
        if (now && op->kind != OpKind::yield) rewriter.clone(*op);
      }
      if (level < plan.levels) emit_loop(rewriter, plan.loops[static_cast<size_t>(level)]);
    }
    if (ops.back()->kind == OpKind::yield) rewriter.clone(*ops.back());
  }

  void emit_loop(ir::Rewriter& rewriter, const std::vector<const Op*>& ops) {
    ir::Builder& builder = rewriter.builder();
    std::vector<const Op*> reductions;
    for (const Op* op : ops)
      if (op->kind == OpKind::reduce && plan_.is_sink(*op)) reductions.push_back(op);
    const Op* first =
        *std::find_if(ops.begin(), ops.end(), [&](const Op* op) { return plan_.is_sink(*op); });
    builder.loc = first->loc;
    auto& axes = rewriter.target().axes;
    axes.push_back({"chunk", chunk_, true, first->loc});
    std::vector<const Value*> inits;
    for (const Op* op : reductions) {
      const Value* value = identity(builder, op->fn(), op->operand(0)->type.dtype);
      inits.push_back(builder.fill(value, narrowed(op->operand(0))));
    }
    Op* loop = builder.tile_loop({static_cast<int64_t>(axes.size()) - 1}, false, {builder.index(0)},
                                 {builder.index(extent_)}, inits);
    const ir::LoopView view(*loop);
    for (size_t i = 0; i < reductions.size(); ++i)
      const_cast<Value*>(view.carried[i])->name = partial_name(*reductions[i]);
    emit_body(rewriter, ops, view);
    for (size_t i = 0; i < reductions.size(); ++i) {
      builder.loc = reductions[i]->loc;
      rewriter.replace(reductions[i]->result(),
                       builder.reduce(reductions[i]->fn(), loop->results[i],
                                      reductions[i]->integers(AttrKey::axes)));
    }
  }

  void emit_body(ir::Rewriter& rewriter, const std::vector<const Op*>& ops,
                 const ir::LoopView& loop) {
    ir::Builder& builder = rewriter.builder();
    ir::Builder::Scope scope(builder, const_cast<ir::Region*>(loop.body));
    parts_.clear();
    inside_ = nullptr;
    begin_ = builder.slice_begin(loop.slices[0]);
    positions_ = builder.slice(begin_, builder.index(extent_), Dim::constant(chunk_));
    std::vector<const Value*> next;
    for (const Op* op : ops) {
      builder.loc = op->loc;
      if (op->kind == OpKind::reduce && plan_.is_sink(*op))
        next.push_back(accumulate(builder, *op, loop.carried[next.size()]));
      else
        emit_part(rewriter, *op);
    }
    builder.yield(next);
  }

  const Value* accumulate(ir::Builder& builder, const Op& op, const Value* so_far) {
    const Value* source = op.operand(0);
    const Value* x = parts_.at(source);
    if (extent_ % chunk_ != 0 && !(op.fn() == Fn::add && zero_past_end(source)))
      x = builder.select(inside(builder, source), x,
                         builder.fill(identity(builder, op.fn(), x->type.dtype), x->type.shape));
    return builder.binary(op.fn(), so_far, x);
  }

  /// Which positions of the chunk are within the dimension, in the shape of `wide`'s part.
  const Value* inside(ir::Builder& builder, const Value* wide) {
    if (inside_ == nullptr) {
      const Value* end = builder.fill(builder.index(extent_), {Dim::constant(chunk_)});
      inside_ = builder.compare(Fn::lt, builder.slice_index(positions_), end);
    }
    int64_t dim = 0;
    while (classes_.of(wide, static_cast<size_t>(dim)) != cls_) ++dim;
    return builder.broadcast(inside_, narrowed(wide), {dim});
  }

  ir::Shape narrowed(const Value* wide) const { return narrowed(wide, wide->type.shape); }
  ir::Shape narrowed(const Value* wide, ir::Shape shape) const {
    for (size_t i = 0; i < shape.size(); ++i)
      if (classes_.of(wide, i) == cls_) shape[i] = Dim::constant(chunk_);
    return shape;
  }

  const Value* operand(ir::Rewriter& rewriter, const Value* value) const {
    const auto found = parts_.find(value);
    return found == parts_.end() ? rewriter(value) : found->second;
  }

  /// The operation on a chunk.
  void emit_part(ir::Rewriter& rewriter, const Op& op) {
    ir::Builder& builder = rewriter.builder();
    if (op.kind == OpKind::slice) {
      parts_[op.result()] = part_of_slice(rewriter, op);
      return;
    }
    if (op.kind == OpKind::iota) {
      parts_[op.result()] = builder.slice_index(positions_);
      return;
    }
    std::vector<const Value*> operands;
    for (const Value* value : op.operands) operands.push_back(operand(rewriter, value));
    auto attributes = op.attributes;
    for (auto& [key, value] : attributes)
      if (key == AttrKey::shape) value = narrowed(op.result(), std::get<ir::Shape>(value));
    std::optional<ir::Type> type;
    if (!op.results.empty()) {
      type = op.result()->type;
      type->shape = narrowed(op.result(), type->shape);
    }
    if (ir::writes_tensor(op.kind)) mask_scatter(builder, op, operands, attributes);
    const Op* part = builder.create(op.kind, std::move(operands), std::move(attributes),
                                    type ? &*type : nullptr);
    if (op.results.empty()) return;
    parts_[op.result()] = part->result();
    const_cast<Value*>(part->result())->name = op.result()->name;
  }

  const Value* part_of_slice(ir::Rewriter& rewriter, const Op& slice) {
    ir::Builder& builder = rewriter.builder();
    const auto begin = known_value(fn_, slice.operand(0)),
               limit = known_value(fn_, slice.operand(1));
    if (begin == 0 && limit == extent_) return positions_;
    const Value* first = rewriter(slice.operand(0));
    const Value* last = rewriter(slice.operand(1));
    // The last chunk must not reach past the slice's own end.
    if (extent_ % chunk_ != 0 && !(begin && limit && *limit <= *begin + extent_))
      last = builder.binary(Fn::min, last, builder.binary(Fn::add, first, builder.index(extent_)));
    return builder.slice(builder.binary(Fn::add, first, begin_), last, Dim::constant(chunk_));
  }

  /// Where index tiles say where elements go, nothing else keeps those past the end from memory.
  void mask_scatter(ir::Builder& builder, const Op& op, std::vector<const Value*>& operands,
                    std::vector<std::pair<AttrKey, ir::Attr>>& attributes) {
    const ir::AccessView access(op);
    if (extent_ % chunk_ == 0 || !access.gathers()) return;
    const Value* mask = inside(builder, access.value);
    if (access.mask != nullptr) {
      operands.back() = builder.binary(Fn::bit_and, operands.back(), mask);
      return;
    }
    operands.push_back(mask);
    attributes.emplace_back(AttrKey::masked, int64_t{1});
  }

  const ir::Function& fn_;
  const DimClasses& classes_;
  const int cls_;
  const RollPlan& plan_;
  const int64_t extent_, chunk_;
  // Of the loop being made: what stands for wide values, where the chunk begins, its positions,
  // which of them are within the dimension.
  std::unordered_map<const Value*, const Value*> parts_;
  const Value* begin_ = nullptr;
  const Value* positions_ = nullptr;
  const Value* inside_ = nullptr;
};

/// The function with the first dimension walked in chunks that can be; nothing when none can.
std::optional<ir::Function> roll_one(const ir::Function& fn, int64_t chunk,
                                     const std::vector<bool>& written) {
  const DimClasses classes(fn);
  for (size_t cls = 0; cls < classes.count(); ++cls) {
    if (classes.at(cls).extent <= chunk) continue;
    const RollPlan plan(fn, classes, static_cast<int>(cls), written);
    if (!plan.obstacle().empty() || plan.regions().empty()) continue;
    Roller roller(fn, classes, static_cast<int>(cls), plan, chunk);
    return ir::eliminate_dead_code(ir::Rewriter::run(fn, std::ref(roller)));
  }
  return std::nullopt;
}

}  // namespace

ir::Function roll_rows(const ir::Function& fn, const Config& config,
                       const std::vector<bool>& written) {
  ir::Function result = ir::Rewriter::run(fn, [](ir::Rewriter&, const Op&) { return false; });
  if (config.reduction_loop == 0) return result;
  while (auto rolled = roll_one(result, config.reduction_loop, written))
    result = std::move(*rolled);
  return result;
}

void check_aliased_rows(const ir::Function& fn, const Config& config,
                        const std::vector<bool>& written) {
  if (config.reduction_loop == 0) return;
  const std::vector<WideAxis> alone = wide_axes(fn, config.reduction_loop, written_params(fn));
  const std::vector<WideAxis> aliased = wide_axes(fn, config.reduction_loop, written);
  for (size_t i = 0; i < aliased.size(); ++i)
    if (alone[i].obstacle.empty() && !aliased[i].obstacle.empty())
      raise(
          ErrorId::config_unsupported, aliased[i].loc, "reduction_loop", config.reduction_loop,
          fmt::format("tensors of this launch are the same memory, and of a row of {} elements {}",
                      aliased[i].extent, aliased[i].obstacle),
          "0, or tensors that do not overlap");
}

}  // namespace tilewright::codegen
