#include "tilewright/codegen/roll_plan.h"

#include <algorithm>

#include "tilewright/codegen/known_value.h"
#include "tilewright/ir/builder.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Region;
using ir::Value;

bool touches_tensor(const Op& op) {
  return ir::reads_tensor(op.kind) || ir::writes_tensor(op.kind);
}

/// Whether the operation must keep its place among others for a reason other than a tensor's
/// elements.
bool has_other_effect(const Op& op) {
  if (touches_tensor(op)) return false;
  return op.effect() == ir::Effect::write || op.effect() == ir::Effect::sync;
}

std::string at_line(Loc loc) { return loc.known() ? fmt::format(" at line {}", loc.line) : ""; }

bool same_value(const ir::Function& fn, const Value* x, const Value* y) {
  if (x == y) return true;
  const auto a = known_value(fn, x), b = known_value(fn, y);
  return a.has_value() && a == b;
}

}  // namespace

RollPlan::RollPlan(const ir::Function& fn, const DimClasses& classes, int cls,
                   const std::vector<bool>& written)
    : fn_(fn),
      classes_(classes),
      cls_(cls),
      written_(written),
      stored_(fn.params.size(), false),
      obstacle_(classes.at(static_cast<size_t>(cls)).obstacle) {
  if (!obstacle_.empty()) return;
  std::vector<const Region*> with_sinks;
  ir::for_each_op(fn.body(), [&](const Op& op) {
    order_.emplace(&op, static_cast<int>(order_.size()));
    if (ir::writes_tensor(op.kind))
      if (const ir::Param* param = fn.param_of(ir::AccessView(op).tensor))
        stored_[static_cast<size_t>(param - fn.params.data())] = true;
    if (is_sink(op) &&
        std::find(with_sinks.begin(), with_sinks.end(), op.parent) == with_sinks.end())
      with_sinks.push_back(op.parent);
  });
  for (const Region* region : with_sinks) {
    plan_region(*region);
    if (!obstacle_.empty()) return;
  }
}

bool RollPlan::makes_wide(const Op& op) const {
  return std::any_of(op.results.begin(), op.results.end(),
                     [&](const Value* result) { return is_wide(result); });
}

bool RollPlan::is_reduction(const Op& op) const {
  if (op.kind != OpKind::reduce && op.kind != OpKind::combine) return false;
  return is_wide(op.operand(0)) && !makes_wide(op);
}

bool RollPlan::is_write(const Op& op) const {
  if (!ir::writes_tensor(op.kind)) return false;
  return std::any_of(op.operands.begin(), op.operands.end(),
                     [&](const Value* operand) { return is_wide(operand); });
}

void RollPlan::plan_region(const Region& region) {
  RegionPlan& plan = regions_[&region];
  plan.region = &region;
  levels_.clear();
  std::vector<std::unordered_set<const Op*>> needed;
  for (const Op* op : region.ops) {
    if (is_sink(*op)) {
      const size_t at = static_cast<size_t>(level_of_operands(*op, plan));
      needed.resize(std::max(needed.size(), at + 1));
      needed[at].insert(op);
      for (const Value* operand : op->operands) collect(operand, needed[at]);
      for (const Value* result : op->results)
        if (is_wide(result) && ir::count_uses(fn_)[result] > 0)
          refuse(fmt::format("the {}{} gives what was there before, which is used",
                             ir::info(op->kind).name, at_line(op->loc)));
    } else if (!makes_wide(*op) || op->kind == OpKind::slice) {
      plan.level_of[op] = level(*op, plan);
    }
  }
  plan.levels = static_cast<int>(needed.size());
  for (const auto& ops : needed) {
    std::vector<const Op*> loop(ops.begin(), ops.end());
    std::sort(loop.begin(), loop.end(),
              [&](const Op* x, const Op* y) { return order_.at(x) < order_.at(y); });
    plan.loops.push_back(std::move(loop));
  }
  check_order(plan);
}

int RollPlan::level(const Op& op, const RegionPlan& plan) {
  if (const auto found = levels_.find(&op); found != levels_.end()) return found->second;
  int result = level_of_operands(op, plan);
  for (const Region* inner : op.regions)
    ir::for_each_op(*inner, [&](const Op& nested) {
      result = std::max(result, level_of_operands(nested, plan));
    });
  if (is_reduction(op)) ++result;
  return levels_[&op] = result;
}

int RollPlan::level_of_operands(const Op& op, const RegionPlan& plan) {
  int result = 0;
  for (const Value* operand : op.operands) result = std::max(result, level_of_value(operand, plan));
  return result;
}

int RollPlan::level_of_value(const Value* value, const RegionPlan& plan) {
  // What belongs to regions further out is there before this one begins; what belongs to regions
  // further in is counted with the operation they are part of.
  if (value->def == nullptr || value->def->parent != plan.region) return 0;
  return level(*value->def, plan);
}

void RollPlan::collect(const Value* value, std::unordered_set<const Op*>& into) const {
  if (!is_wide(value) || value->def == nullptr || !into.insert(value->def).second) return;
  for (const Value* operand : value->def->operands) collect(operand, into);
}

void RollPlan::check_order(const RegionPlan& plan) {
  std::map<const Op*, Access> accesses;
  const auto note = [&](const Op& op, int step) {
    if (!touches_tensor(op) && !has_other_effect(op)) return;
    Access& access = accesses[&op];
    access.op = &op;
    access.order = order_.at(&op);
    access.steps.push_back(step);
  };
  for (const auto& [op, at] : plan.level_of) {
    note(*op, 2 * at);
    for (const Region* inner : op->regions)
      ir::for_each_op(*inner, [&, at = at](const Op& nested) { note(nested, 2 * at); });
  }
  for (size_t at = 0; at < plan.loops.size(); ++at)
    for (const Op* op : plan.loops[at]) {
      note(*op, 2 * static_cast<int>(at) + 1);
      const ir::Param* param =
          op->kind == OpKind::load ? fn_.param_of(ir::AccessView(*op).tensor) : nullptr;
      if (param != nullptr && op->parent != plan.region &&
          written_[static_cast<size_t>(param - fn_.params.data())])
        refuse(fmt::format("it would be read again at a later place, and the kernel writes '{}'",
                           param->name));
    }
  for (const auto& [x, first] : accesses)
    for (const auto& [y, second] : accesses) {
      if (first.order >= second.order || !conflict(*x, *y)) continue;
      for (int a : first.steps)
        for (int b : second.steps)
          if (a > b || (a == b && a % 2 == 1 && !at_same_place(*x, *y)))
            refuse(fmt::format("the {}{} would change places with the {}{}", ir::info(x->kind).name,
                               at_line(x->loc), ir::info(y->kind).name, at_line(y->loc)));
    }
}

/// Whether the order of two operations matters.
bool RollPlan::conflict(const Op& x, const Op& y) const {
  if (has_other_effect(x) || has_other_effect(y)) return true;
  if (!ir::writes_tensor(x.kind) && !ir::writes_tensor(y.kind)) return false;
  return may_be_one(ir::AccessView(x).tensor, ir::AccessView(y).tensor);
}

bool RollPlan::may_be_one(const Value* x, const Value* y) const {
  if (x == y) return true;
  const ir::Param *a = fn_.param_of(x), *b = fn_.param_of(y);
  if (a == nullptr || b == nullptr) return true;
  const auto i = static_cast<size_t>(a - fn_.params.data()),
             j = static_cast<size_t>(b - fn_.params.data());
  // A tensor that counts as written though nothing is stored to it may be the memory of any that
  // is; two that are stored to are never one.
  return written_[i] && written_[j] && stored_[i] != stored_[j];
}

/// Whether two accesses in one iteration of a loop over chunks touch elements of that chunk alone,
/// each at the place of the other.
bool RollPlan::at_same_place(const Op& x, const Op& y) const {
  if (has_other_effect(x) || has_other_effect(y)) return false;
  const ir::AccessView a(x), b(y);
  const ir::Param *p = fn_.param_of(a.tensor), *q = fn_.param_of(b.tensor);
  if (p == nullptr || q == nullptr || a.indices.size() != b.indices.size()) return false;
  if (p->spec.sizes != q->spec.sizes || p->spec.strides != q->spec.strides ||
      p->size_param != q->size_param)
    return false;
  for (size_t i = 0; i < a.indices.size(); ++i) {
    const Value *s = a.indices[i], *t = b.indices[i];
    if (s->type.is_tile() || t->type.is_tile()) return false;
    if (same_value(fn_, s, t)) continue;
    const bool slices = s->def != nullptr && t->def != nullptr && s->def->kind == OpKind::slice &&
                        t->def->kind == OpKind::slice;
    if (!slices || s->type.shape != t->type.shape ||
        !same_value(fn_, s->def->operand(0), t->def->operand(0)) ||
        !same_value(fn_, s->def->operand(1), t->def->operand(1)))
      return false;
  }
  return true;
}

}  // namespace tilewright::codegen
