#include "tilewright/dsl/promote.h"

#include <algorithm>
#include <map>

#include "tilewright/dsl/liveness.h"
#include "tilewright/dsl/names.h"
#include "tilewright/ir/builder.h"
#include "tilewright/ir/canonical.h"
#include "tilewright/ir/combine.h"
#include "tilewright/ir/error.h"

namespace tilewright::dsl {
namespace {

using Names = std::unordered_map<const ir::Value*, std::string>;

/// Names the value that each statement assigns: the last one it computes.
void name_values(const ir::Region& region, Names& names) {
  std::map<std::pair<std::string_view, int>, const ir::Value*> last;
  for (const ir::Op* op : region.ops) {
    for (const ir::Region* inner : op->regions) name_values(*inner, names);
    if (op->results.size() != 1 || !op->loc.known()) continue;
    const Loc statement = statement_of(op->loc);
    last[{statement.file, statement.line}] = op->result();
  }
  for (const auto& [statement, value] : last) {
    const std::string name = declared_name({statement.first, statement.second});
    if (name.empty()) continue;
    names[value] = name;
    // A reduction that keeps its dimensions is a view of what it computes.
    const ir::Op* def = value->def;
    if (def->kind == ir::OpKind::broadcast && def->operand(0)->type.is_tile())
      names.emplace(def->operand(0), name);
  }
}

void set_name(const ir::Value* value, const std::string& name) {
  if (value->name.empty())
    const_cast<ir::Value*>(value)->name = name;  // of the function being built
}

bool has_axis_of(const ir::Op& loop, const ir::Type& type) {
  const auto& axes = loop.integers(ir::AttrKey::axes);
  return std::any_of(type.shape.begin(), type.shape.end(), [&](const ir::Dim& dim) {
    return dim.is_block() && std::find(axes.begin(), axes.end(), dim.axis) != axes.end();
  });
}

class Promoter {
 public:
  explicit Promoter(const Recording& recording)
      : recording_(recording), flows_(flows_of(recording)), builder_(target_) {
    const ir::Function& source = recording.fn;
    target_.name = source.name;
    target_.loc = source.loc;
    target_.axes = source.axes;
    target_.tunables = source.tunables;
    target_.checks = source.checks;
    target_.results = source.results;
    for (const ir::Param& param : source.params) {
      ir::Value* value = target_.new_value(param.value->type);
      value->name = param.value->name;
      value->index = param.value->index;
      ir::Param copy = param;
      copy.value = value;
      target_.params.push_back(std::move(copy));
      values_[param.value] = value;
    }
    name_values(source.body(), names_);
  }

  ir::Function run() {
    emit_region(recording_.fn.body());
    ir::canonicalize(target_);
    return std::move(target_);
  }

 private:
  /// The value of each variable assigned so far.
  using State = std::unordered_map<int, const ir::Value*>;

  const Variable& variable(int id) const { return recording_.variables[id]; }

  std::vector<const ir::Value*> mapped(const std::vector<const ir::Value*>& values) const {
    std::vector<const ir::Value*> result;
    for (const ir::Value* value : values) result.push_back(values_.at(value));
    return result;
  }

  const ir::Value* state_of(int id, Loc loc) const {
    auto found = state_.find(id);
    if (found == state_.end()) raise(ErrorId::used_before_assignment, loc, describe(variable(id)));
    return found->second;
  }

  void emit_region(const ir::Region& region) {
    for (const Step& step : steps_of(recording_, region)) {
      if (step.op != nullptr)
        emit(*step.op);
      else if (step.event->write)
        state_[step.event->variable] = values_.at(step.event->value);
      else
        values_[step.event->value] = state_of(step.event->variable, step.event->loc);
    }
  }

  void emit(const ir::Op& op) {
    builder_.loc = op.loc;
    if (op.kind == ir::OpKind::tile_loop) return emit_loop(op);
    if (op.kind == ir::OpKind::if_else) return emit_branch(op);
    if (op.kind == ir::OpKind::while_loop) return emit_while(op);
    if (op.kind == ir::OpKind::yield) return;  // a condition, for emit_while
    if (ir::combines(op.kind) || op.results.size() > 1) return emit_several(op);
    const ir::Type* type = op.results.empty() ? nullptr : &op.result()->type;
    const ir::Op* copy = builder_.create(op.kind, mapped(op.operands), op.attributes, type);
    if (op.results.empty()) return;
    values_[op.result()] = copy->result();
    if (auto name = names_.find(op.result()); name != names_.end())
      set_name(copy->result(), name->second);
  }

  /// An operation with several results, or with a function as its region.
  void emit_several(const ir::Op& op) {
    const ir::Op* copy = builder_.create(op.kind, mapped(op.operands), op.attributes);
    for (size_t i = 0; i < op.results.size(); ++i) values_[op.results[i]] = copy->results[i];
    if (op.results.size() == 1)
      if (auto name = names_.find(op.result()); name != names_.end())
        set_name(copy->result(), name->second);
    if (op.regions.empty()) return;
    ir::Region* region = ir::Builder::region_of(copy, 0);
    for (const ir::Value* arg : op.regions[0]->args)
      values_[arg] = builder_.add_argument(region, arg->type);
    const State before = state_;
    const ir::Builder::Scope scope(builder_, region);
    emit_region(*op.regions[0]);
    builder_.yield(mapped(op.regions[0]->yields()));
    state_ = before;
  }

  /// What a loop carries in for a variable; zeros, never seen, if it is assigned in every
  /// iteration.
  const ir::Value* initial_value(const ir::Op& loop, int id) {
    if (auto found = state_.find(id); found != state_.end()) return found->second;
    const Variable& carried = variable(id);
    if (!runs_at_least_once(loop) && flows_.at(&loop).live_after.contains(id))
      raise(ErrorId::maybe_unassigned, loop.loc, describe(carried), "loop");
    const ir::Value* zero = builder_.constant(carried.type->dtype, int64_t{0});
    return builder_.fill(zero, carried.type->shape);
  }

  /// Where, in a region, a variable is first assigned.
  Loc assignment_of(const ir::Region& region, int id) const {
    for (const Step& step : steps_of(recording_, region)) {
      if (step.event != nullptr && step.event->write && step.event->variable == id)
        return step.event->loc;
      if (step.op == nullptr) continue;
      for (const ir::Region* inner : step.op->regions)
        if (const Loc loc = assignment_of(*inner, id); loc.known()) return loc;
    }
    return {};
  }

  void emit_loop(const ir::Op& loop) {
    const ir::LoopView view(loop);
    std::vector<int> carried = flows_.at(&loop).carried;
    // A tile of this loop's own axis that is read before it is assigned: reading it will tell.
    std::erase_if(carried, [&](int id) { return has_axis_of(loop, *variable(id).type); });
    const bool parallel = loop.integer(ir::AttrKey::parallel) != 0;
    if (parallel && !carried.empty())
      raise(ErrorId::carried_by_grid, assignment_of(*view.body, carried[0]),
            describe(variable(carried[0])));
    std::vector<const ir::Value*> inits;
    State inside = state_;
    for (int id : carried) inits.push_back(initial_value(loop, id));
    ir::Op* op = builder_.tile_loop(loop.integers(ir::AttrKey::axes), parallel, mapped(view.begins),
                                    mapped(view.limits), inits);
    const ir::LoopView target(*op);
    for (size_t i = 0; i < view.slices.size(); ++i) values_[view.slices[i]] = target.slices[i];
    for (size_t i = 0; i < carried.size(); ++i) {
      const std::string name = declared_name(variable(carried[i]).declared);
      set_name(target.carried[i], name);
      set_name(op->result(i), name);
      if (state_.contains(carried[i])) inside[carried[i]] = target.carried[i];
    }
    std::swap(state_, inside);
    {
      const ir::Builder::Scope scope(builder_, ir::Builder::region_of(op, 0));
      emit_region(*view.body);
      yield(carried, loop, "loop");
    }
    std::swap(state_, inside);
    for (size_t i = 0; i < carried.size(); ++i) state_[carried[i]] = op->result(i);
  }

  void emit_while(const ir::Op& loop) {
    const ir::Region& body = *loop.regions[0];
    const std::vector<int>& carried = flows_.at(&loop).carried;
    std::vector<const ir::Value*> inits;
    State inside = state_;
    for (int id : carried) inits.push_back(initial_value(loop, id));
    ir::Op* op = builder_.while_loop(values_.at(loop.operand(0)), inits);
    ir::Region* target = ir::Builder::region_of(op, 0);
    for (size_t i = 0; i < carried.size(); ++i) {
      const std::string name = declared_name(variable(carried[i]).declared);
      set_name(target->args[i], name);
      set_name(op->result(i), name);
      if (state_.contains(carried[i])) inside[carried[i]] = target->args[i];
    }
    std::swap(state_, inside);
    {
      const ir::Builder::Scope scope(builder_, target);
      emit_region(body);
      yield(carried, loop, "loop", values_.at(body.yields().at(0)));
    }
    std::swap(state_, inside);
    for (size_t i = 0; i < carried.size(); ++i) state_[carried[i]] = op->result(i);
  }

  void emit_branch(const ir::Op& branch) {
    const std::vector<int> merged = flows_.at(&branch).carried;
    std::vector<ir::Type> types;
    for (int id : merged) types.push_back(*variable(id).type);
    ir::Op* op = builder_.if_else(values_.at(branch.operand(0)), types);
    const State before = state_;
    for (int side = 0; side < 2; ++side) {
      state_ = before;
      const ir::Builder::Scope scope(builder_, ir::Builder::region_of(op, side));
      emit_region(*branch.regions[side]);
      yield(merged, branch, "branch");
    }
    state_ = before;
    for (size_t i = 0; i < merged.size(); ++i) {
      set_name(op->result(i), declared_name(variable(merged[i]).declared));
      state_[merged[i]] = op->result(i);
    }
  }

  void yield(const std::vector<int>& variables, const ir::Op& from, const char* what,
             const ir::Value* first = nullptr) {
    std::vector<const ir::Value*> values;
    if (first != nullptr) values.push_back(first);
    for (int id : variables) {
      auto found = state_.find(id);
      if (found == state_.end())
        raise(ErrorId::maybe_unassigned, from.loc, describe(variable(id)), what);
      values.push_back(found->second);
    }
    builder_.loc = from.loc;
    builder_.yield(std::move(values));
  }

  const Recording& recording_;
  const Flows flows_;
  ir::Function target_;
  ir::Builder builder_;
  std::unordered_map<const ir::Value*, const ir::Value*> values_;
  State state_;
  Names names_;
};

}  // namespace

ir::Function promote(const Recording& recording) { return Promoter(recording).run(); }

}  // namespace tilewright::dsl
