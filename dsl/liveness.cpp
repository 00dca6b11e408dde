#include "tilewright/dsl/liveness.h"

#include <algorithm>
#include <optional>

#include "tilewright/ir/builder.h"
#include "tilewright/ir/combine.h"

namespace tilewright::dsl {
namespace {

using Variables = std::set<int>;

void insert(Variables& into, const Variables& from) { into.insert(from.begin(), from.end()); }

std::vector<int> intersection(const Variables& a, const Variables& b) {
  std::vector<int> result;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
  return result;
}

/// Backward data flow over the tree of regions.
class Liveness {
 public:
  explicit Liveness(const Recording& recording) : recording_(recording) {}

  /// What is read in `region` or after it, before being assigned, given what is live at its end.
  Variables before(const ir::Region& region, Variables live) {
    const std::vector<Step> steps = steps_of(recording_, region);
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
      if (step->event != nullptr && step->event->write)
        live.erase(step->event->variable);
      else if (step->event != nullptr)
        live.insert(step->event->variable);
      else if (step->op->kind == ir::OpKind::tile_loop || step->op->kind == ir::OpKind::while_loop)
        live = before_loop(*step->op, live);
      else if (step->op->kind == ir::OpKind::if_else)
        live = before_branch(*step->op, live);
      else if (ir::combines(step->op->kind))
        insert(live, before(*step->op->regions[0], {}));
    }
    // A variable declared here is a new one each time.
    std::erase_if(live, [&](int v) { return recording_.variables[v].region == &region; });
    return live;
  }

  Flows flows;

 private:
  Variables before_loop(const ir::Op& loop, const Variables& after) {
    const ir::Region& body = *loop.regions[0];
    Variables at_start;
    for (bool changed = true; changed;) {
      Variables at_end = after;
      insert(at_end, at_start);
      Variables again = before(body, at_end);
      insert(again, at_start);
      changed = again != at_start;
      at_start = std::move(again);
    }
    Variables reads = after;
    insert(reads, at_start);
    flows[&loop] = {intersection(written(body), reads), after};
    return runs_at_least_once(loop) ? at_start : reads;
  }

  Variables before_branch(const ir::Op& branch, const Variables& after) {
    Variables live, assigned;
    for (const ir::Region* region : branch.regions) {
      insert(live, before(*region, after));
      insert(assigned, written(*region));
    }
    flows[&branch] = {intersection(assigned, after), after};
    return live;
  }

  Variables written(const ir::Region& region) {
    Variables result;
    for (const Step& step : steps_of(recording_, region)) {
      if (step.event != nullptr && step.event->write) result.insert(step.event->variable);
      if (step.op != nullptr)
        for (const ir::Region* inner : step.op->regions) insert(result, written(*inner));
    }
    return result;
  }

  const Recording& recording_;
};

std::optional<int64_t> constant_of(const ir::Value* value) {
  if (value->def == nullptr || value->def->kind != ir::OpKind::constant) return std::nullopt;
  return value->def->integer(ir::AttrKey::value);
}

}  // namespace

Flows flows_of(const Recording& recording) {
  Liveness liveness(recording);
  liveness.before(recording.fn.body(), {});
  return std::move(liveness.flows);
}

bool runs_at_least_once(const ir::Op& loop) {
  if (loop.kind == ir::OpKind::while_loop) return false;
  const ir::LoopView view(loop);
  for (size_t i = 0; i < view.begins.size(); ++i) {
    const auto begin = constant_of(view.begins[i]), limit = constant_of(view.limits[i]);
    if (!begin || !limit || *begin >= *limit) return false;
  }
  return true;
}

}  // namespace tilewright::dsl
