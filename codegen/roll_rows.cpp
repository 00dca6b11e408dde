#include "tilewright/codegen/roll_rows.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "tilewright/codegen/known_value.h"
#include "tilewright/codegen/passes.h"
#include "tilewright/codegen/roll_plan.h"
#include "tilewright/ir/builder.h"
#include "tilewright/ir/combine.h"
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
  if (reduction.kind == OpKind::combine) return "combined";
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

/// Applies the function of a combine, which is one of scalars, to tiles of one shape. `outside`
/// gives what stands for values from outside of the function.
std::vector<const Value*> apply_to_tiles(ir::Builder& builder, const Op& combine,
                                         const std::vector<const Value*>& lefts,
                                         const std::vector<const Value*>& rights,
                                         const std::function<const Value*(const Value*)>& outside) {
  const ir::CombineView view(combine);
  const ir::Shape& shape = lefts[0]->type.shape;
  std::unordered_map<const Value*, const Value*> made;
  for (size_t i = 0; i < lefts.size(); ++i) {
    made[view.lefts[i]] = lefts[i];
    made[view.rights[i]] = rights[i];
  }
  const auto tile_of = [&](const Value* value) {
    const auto found = made.find(value);
    const Value* scalar = found != made.end() ? found->second : outside(value);
    return scalar->type.is_tile() ? scalar : builder.fill(scalar, shape);
  };
  for (const Op* op : view.body->ops) {
    if (op->kind == OpKind::yield) continue;
    builder.loc = op->loc;
    const bool constant = op->kind == OpKind::constant;
    std::vector<const Value*> operands;
    for (const Value* operand : op->operands) operands.push_back(tile_of(operand));
    const DType dtype = op->result()->type.dtype;
    const ir::Type type = constant ? ir::Type::scalar(dtype) : ir::Type::value(dtype, shape);
    made[op->result()] = builder.create(op->kind, operands, op->attributes, &type)->result();
  }
  std::vector<const Value*> results;
  for (const Value* result : view.body->yields()) results.push_back(tile_of(result));
  return results;
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

  /// The wide tiles that a reduction combines.
  static std::vector<const Value*> sources_of(const Op& op) {
    if (op.kind == OpKind::reduce) return {op.operand(0)};
    return ir::CombineView(op).tiles;
  }

  const Value* identity_of(ir::Rewriter& rewriter, const Op& op, size_t i) {
    if (op.kind == OpKind::combine) return rewriter(ir::CombineView(op).identities[i]);
    return identity(rewriter.builder(), op.fn(), op.operand(0)->type.dtype);
  }

  void emit_loop(ir::Rewriter& rewriter, const std::vector<const Op*>& ops) {
    ir::Builder& builder = rewriter.builder();
    const Op* first =
        *std::find_if(ops.begin(), ops.end(), [&](const Op* op) { return plan_.is_sink(*op); });
    builder.loc = first->loc;
    auto& axes = rewriter.target().axes;
    axes.push_back({"chunk", chunk_, true, first->loc});
    std::vector<const Value*> inits;
    std::vector<std::string> names;
    for (const Op* op : ops) {
      if (!plan_.is_reduction(*op)) continue;
      const std::vector<const Value*> sources = sources_of(*op);
      for (size_t i = 0; i < sources.size(); ++i) {
        inits.push_back(builder.fill(identity_of(rewriter, *op, i), narrowed(sources[i])));
        names.push_back(partial_name(*op));
      }
    }
    Op* loop = builder.tile_loop({static_cast<int64_t>(axes.size()) - 1}, false, {builder.index(0)},
                                 {builder.index(extent_)}, inits);
    const ir::LoopView view(*loop);
    for (size_t i = 0; i < inits.size(); ++i) const_cast<Value*>(view.carried[i])->name = names[i];
    emit_body(rewriter, ops, view);
    auto carried = loop->results.begin();
    for (const Op* op : ops)
      if (plan_.is_reduction(*op)) finish(rewriter, *op, carried);
  }

  /// What remains of a reduction after the loop: across the positions of a chunk. `carried`: the
  /// loop's results, which it advances past its own.
  void finish(ir::Rewriter& rewriter, const Op& op, std::vector<const Value*>::iterator& carried) {
    ir::Builder& builder = rewriter.builder();
    builder.loc = op.loc;
    if (op.kind == OpKind::reduce) {
      rewriter.replace(op.result(),
                       builder.reduce(op.fn(), *carried++, op.integers(AttrKey::axes)));
      return;
    }
    const ir::CombineView view(op);
    std::vector<const Value*> tiles(carried, carried + static_cast<int64_t>(view.tiles.size()));
    carried += static_cast<int64_t>(view.tiles.size());
    Op* combined =
        ir::make_combine(builder, tiles, rewriter(view.identities), op.integers(AttrKey::axes));
    const ir::CombineView made(*combined);
    for (size_t i = 0; i < tiles.size(); ++i) {
      rewriter.replace(view.lefts[i], made.lefts[i]);
      rewriter.replace(view.rights[i], made.rights[i]);
    }
    {
      ir::Builder::Scope scope(builder, const_cast<ir::Region*>(made.body));
      rewriter.clone_ops(*view.body);
    }
    for (size_t i = 0; i < op.results.size(); ++i)
      rewriter.replace(op.results[i], combined->results[i]);
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
      if (plan_.is_reduction(*op))
        accumulate(rewriter, *op, loop.carried, next);
      else
        emit_part(rewriter, *op);
    }
    builder.yield(next);
  }

  /// Adds to `next` what the loop carries on of a reduction.
  void accumulate(ir::Rewriter& rewriter, const Op& op, const std::vector<const Value*>& carried,
                  std::vector<const Value*>& next) {
    ir::Builder& builder = rewriter.builder();
    const std::vector<const Value*> sources = sources_of(op);
    std::vector<const Value*> so_far, parts;
    for (size_t i = 0; i < sources.size(); ++i) {
      const Value* x = parts_.at(sources[i]);
      const bool zero =
          op.kind == OpKind::reduce && op.fn() == Fn::add && zero_past_end(sources[i]);
      if (extent_ % chunk_ != 0 && !zero)
        x = builder.select(inside(builder, sources[i]), x,
                           builder.fill(identity_of(rewriter, op, i), x->type.shape));
      so_far.push_back(carried[next.size() + i]);
      parts.push_back(x);
    }
    if (op.kind == OpKind::reduce) {
      next.push_back(builder.binary(op.fn(), so_far[0], parts[0]));
      return;
    }
    const auto outside = [&](const Value* value) { return rewriter(value); };
    for (const Value* result : apply_to_tiles(builder, op, so_far, parts, outside))
      next.push_back(result);
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
