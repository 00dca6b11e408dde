// A pipelined loop filled by bulk copies, as its producer and as its consumers run it.
#include <algorithm>
#include <utility>

#include "tilewright/codegen/bulk_copy.h"
#include "tilewright/codegen/known_value.h"
#include "tilewright/codegen/lowering.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

constexpr int kLanes = 32;

/// The steps of a loop.
struct Steps {
  ExprRef begin, limit, count;
  ExprRef from = integer(0), to;  // those that this block runs
  int64_t block = 1;
};

Steps steps_of(Lowering& lowering, const Op& op) {
  const ir::LoopView view(op);
  Steps steps;
  steps.block = lowering.fn.axes[op.integers(AttrKey::axes)[0]].block;
  steps.begin = scalar_value(lowering, view.begins[0]);
  steps.limit = scalar_value(lowering, view.limits[0]);
  steps.count = tile_count(lowering, view.begins[0], view.limits[0], steps.block);
  if (steps.count->kind != Expr::Kind::integer) {
    const std::string variable = lowering.names.unique("steps");
    lowering.emit(declare("int", variable, steps.count));
    steps.count = name(variable);
  }
  steps.to = steps.count;
  if (lowering.split && lowering.split->loop == &op) {
    const ExprRef rank = block_of_cluster(lowering), blocks = integer(lowering.split->blocks);
    const std::string from = lowering.names.unique("first_step");
    const std::string to = lowering.names.unique("end_step");
    lowering.emit(declare("int", from, rank * steps.count / blocks));
    lowering.emit(declare("int", to, (rank + integer(1)) * steps.count / blocks));
    steps.from = name(from);
    steps.to = name(to);
  }
  return steps;
}

ExprRef barrier_of(const std::string& buffer, const std::string& slot) {
  return address(shared(buffer, {name(slot)}));
}

/// A slot of a ring from panel `panel` and row `row` on.
ExprRef slot_at(const Lowering& lowering, const Value* ring, const BulkRings& rings,
                const ExprRef& panel, const ExprRef& row) {
  const SharedLayout& layout = lowering.in.shared.at(ring);
  std::vector<ExprRef> indices;
  if (rings.stages > 1) indices.push_back(name(rings.state + ".stage"));
  if (layout.has_panels()) indices.push_back(panel);
  if (!is_integer(row, 0)) {
    indices.push_back(row);
    return shared(lowering.rings.at(ring).name, std::move(indices));
  }
  return indices.empty() ? name("shared." + lowering.rings.at(ring).name)
                         : shared(lowering.rings.at(ring).name, std::move(indices));
}

/// How the blocks of a cluster share the copies of a slot that all of them read.
struct Share {
  int panels;        // copied by each block
  int64_t rows = 0;  // of a panel, copied by each block
  ExprRef first_panel, first_row;
};

Share share_of(Lowering& lowering, const Op& copy) {
  const Value* ring = copy.operand(0)->def->operand(0);
  const SharedLayout& layout = lowering.in.shared.at(ring);
  const int64_t rows = layout.extents[layout.order.front()];
  const int panels = lowering.in.bulk.at(&copy).panels;
  const int blocks = lowering.config.cluster;
  if (!is_shared_by_cluster(lowering, copy)) return {panels, rows, integer(0), integer(0)};
  const ExprRef rank = block_of_cluster(lowering);
  if (panels % blocks == 0)
    return {panels / blocks, rows, rank * integer(panels / blocks), integer(0)};
  return {panels, rows / blocks, integer(0), rank * integer(rows / blocks)};
}

void start_copy(Lowering& lowering, const Op& copy, const BulkRings& rings) {
  const BulkCopy& bulk = lowering.in.bulk.at(&copy);
  const ir::AccessView access(copy);
  const Value* ring = copy.operand(0)->def->operand(0);
  const SharedLayout& layout = lowering.in.shared.at(ring);
  const Share share = share_of(lowering, copy);
  const bool multicast = is_shared_by_cluster(lowering, copy);
  TensorMapSpec map = bulk.map;
  if (map.box.size() > 1) map.box[1] = static_cast<int>(share.rows);
  const std::string map_name = declare_map(lowering, access.tensor, map, false);
  lowering.at_source(copy);
  record_access(lowering, copy, "tma copy", map.box[0] * size_of(map.dtype), true);
  for_axis(lowering, 0, share.panels, 1, [&](const ExprRef& i) {
    const ExprRef panel = share.first_panel + i;
    std::vector<ExprRef> args = {slot_at(lowering, ring, rings, panel, share.first_row),
                                 name(map_name), barrier_of(rings.full, rings.state + ".stage")};
    if (multicast) args.push_back(integer((1 << lowering.config.cluster) - 1));
    for (size_t d = 0; d < bulk.dims.size(); ++d) {
      ExprRef at = scalar_value(lowering, access.indices[bulk.dims[d]]);
      if (d == 0) at = at + panel * integer(layout.panel);
      if (d == 1) at = at + share.first_row;
      args.push_back(at);
    }
    lowering.emit(
        call_stmt(call(multicast ? "tw::tma_load_multicast" : "tw::tma_load", std::move(args))));
  });
}

/// Whether `value` depends on the position of a block within its cluster.
bool depends_on(const Value* value, const Value* slice) {
  if (value == slice) return true;
  if (value->def == nullptr) return false;
  return std::any_of(value->def->operands.begin(), value->def->operands.end(),
                     [&](const Value* x) { return depends_on(x, slice); });
}

/// Whether the blocks of a cluster run `loop` alike: as often, the same steps.
bool all_blocks_reach(const Lowering& lowering, const Op& loop) {
  for (const Op* op = &loop; op != nullptr; op = op->parent->parent)
    if (std::any_of(op->operands.begin(), op->operands.end(), [&](const Value* x) {
          return x->type.is_scalar() && depends_on(x, lowering.cluster_slice);
        }))
      return false;
  return true;
}

Stmt next_slot(const BulkRings& rings) { return call_stmt(call(rings.state + ".next", {})); }

ExprRef lane() { return name("threadIdx.x") % integer(kLanes); }

/// One lane of every warp says that the warp has read a slot; to every block that fills it.
void emit_arrival(Lowering& lowering, const BulkRings& rings, const std::string& slot,
                  ExprRef condition) {
  const int blocks = rings.shared_by_cluster ? lowering.config.cluster : 1;
  const ExprRef empty = barrier_of(rings.empty, slot);
  if (rings.fetched) lowering.emit(call_stmt(call("__syncwarp", {})));  // all lanes have read
  Stmt arrive = blocks == 1 ? call_stmt(call("tw::barrier_arrive", {empty}))
                            : call_stmt(call("tw::barrier_arrive_at", {empty, lane()}));
  ExprRef chosen = blocks == 1 ? binary("==", lane(), integer(0)) : lane() < integer(blocks);
  lowering.emit(branch(condition ? std::move(condition) && chosen : chosen, {std::move(arrive)}));
}

/// Products of the loop whose accumulator is zero before it: the first one overwrites.
void find_overwriting(Lowering& lowering, const Op& op, const Steps& steps) {
  if (steps.count->kind != Expr::Kind::integer || steps.count->value < 1) return;
  const ir::LoopView view(op);
  for (size_t i = 0; i < view.carried.size(); ++i) {
    if (!is_zero_fill(view.inits[i])) continue;
    const Op* only = nullptr;
    int uses = 0;
    ir::for_each_op(*view.body, [&](const Op& inner) {
      for (const Value* operand : inner.operands)
        if (operand == view.carried[i]) {
          ++uses;
          only = &inner;
        }
    });
    if (uses == 1 && only->parent == view.body && is_asynchronous(lowering, *only) &&
        only->operand(2) == view.carried[i] && lowering.homes.contains(only->result())) {
      lowering.overwriting.insert(only);
      lowering.overwritten.insert(view.carried[i]);
    }
  }
}

/// What products are added to is there before the first of them is issued: the compiler would
/// rather set such registers late, and then lets products wait for one another.
void complete_first_values(Lowering& lowering, const ir::LoopView& view) {
  for (size_t i = 0; i < view.carried.size(); ++i) {
    const Op* next = view.body->yields().at(i)->def;
    if (next != nullptr && is_asynchronous(lowering, *next) &&
        !lowering.overwritten.contains(view.carried[i]))
      lowering.emit(call_stmt(call("tw::complete", {name(lowering.arrays.at(view.carried[i]))})));
  }
}

}  // namespace

bool is_shared_by_cluster(const Lowering& lowering, const Op& copy) {
  if (lowering.config.cluster == 1 || lowering.cluster_slice == nullptr) return false;
  if (!all_blocks_reach(lowering, *copy.parent->parent)) return false;
  const auto& indices = ir::AccessView(copy).indices;
  if (std::any_of(indices.begin(), indices.end(),
                  [&](const Value* index) { return depends_on(index, lowering.cluster_slice); }))
    return false;
  const SharedLayout& layout = lowering.in.shared.at(copy.operand(0)->def->operand(0));
  const int blocks = lowering.config.cluster;
  return lowering.in.bulk.at(&copy).panels % blocks == 0 ||
         layout.extents[layout.order.front()] % (8 * blocks) == 0;
}

void lower_bulk_fill(Lowering& lowering, const Op& op) {
  const ir::LoopView view(op);
  const BulkRings& rings = lowering.bulk.at(&op);
  lowering.at_source(op);
  const Steps steps = steps_of(lowering, op);
  const std::string step = lowering.names.unique("step");
  const Value* slice = view.fill->args.at(0);
  std::vector<Stmt> body = lowering.collect([&] {
    const std::string position = lowering.names.unique(name_of(slice, "position"));
    lowering.emit(declare(position_type(lowering, view.limits[0], steps.block), position,
                          steps.begin + name(step) * integer(steps.block)));
    // The body's own slice is for the loops inside it.
    for (const Value* each : {slice, view.slices[0]}) {
      lowering.scalars[each] = name(position);
      lowering.limits[each] = steps.limit;
      lowering.ids[each] = name(step);
    }
    const std::string slot = rings.state + ".stage";
    lowering.emit(call_stmt(call(
        "tw::barrier_wait",
        {barrier_of(rings.empty, slot), binary("^", name(rings.state + ".phase"), integer(1))})));
    lowering.emit(call_stmt(
        call("tw::barrier_expect", {barrier_of(rings.full, slot), integer(rings.bytes)})));
    for (const Op* inner : view.fill->ops) {
      if (inner->kind == OpKind::copy)
        start_copy(lowering, *inner, rings);
      else if (inner->effect() == ir::Effect::pure)
        lower_op(lowering, *inner);
    }
    lowering.emit(next_slot(rings));
    if (holds_bulk_loop(lowering.in, *view.body)) lower_producer_region(lowering, *view.body);
  });
  lowering.emit(loop(step, steps.from, steps.to, integer(1), false, std::move(body)));
}

void lower_bulk_wait(Lowering& lowering, const BulkRings& rings) {
  Stmt wait = call_stmt(call("tw::barrier_wait", {barrier_of(rings.full, rings.state + ".stage"),
                                                  name(rings.state + ".phase")}));
  wait.comment = "this step's tiles are there";
  lowering.emit(std::move(wait));
}

void lower_bulk_release(Lowering& lowering, const BulkRings& rings) {
  if (rings.defer) {
    if (lowering.late_store && &lowering.bulk.at(lowering.late_store->loop) == &rings)
      run_late_store(lowering, binary("==", lowering.step, lowering.first_step));
    Stmt wait = call_stmt(call(fmt::format("tw::wgmma_wait<{}>", lowering.in_flight.size()), {}));
    wait.comment = "the step before has been multiplied";
    lowering.emit(std::move(wait));
    emit_arrival(lowering, rings, rings.state + ".previous()",
                 binary(">", lowering.step, lowering.first_step));
  } else {
    settle(lowering);
    emit_arrival(lowering, rings, rings.state + ".stage", nullptr);
  }
  lowering.emit(next_slot(rings));
}

void lower_bulk_loop(Lowering& lowering, const Op& op) {
  const ir::LoopView view(op);
  BulkRings& rings = lowering.bulk.at(&op);
  settle(lowering);
  const Steps steps = steps_of(lowering, op);
  find_overwriting(lowering, op, steps);
  declare_carried(lowering, view.carried, view.inits);
  lowering.at_source(op);
  rings.defer = products_can_overlap(lowering, op);
  if (rings.defer) complete_first_values(lowering, view);
  const std::string step = lowering.names.unique("step");
  for (auto& [ring, buffer] : lowering.rings)
    if (buffer.bulk_loop == &op)
      buffer.read_stage = rings.stages > 1 ? name(rings.state + ".stage") : nullptr;
  const ExprRef outer = std::exchange(lowering.step, name(step));
  const ExprRef outer_first = std::exchange(lowering.first_step, steps.from);
  std::vector<Stmt> body = lowering.collect([&] {
    const Value* slice = view.slices[0];
    lowering.scalars[slice] = steps.begin + name(step) * integer(steps.block);
    lowering.limits[slice] = steps.limit;
    lowering.ids[slice] = name(step);
    lower_region(lowering, *view.body);
    yield_carried(lowering, view.carried, view.body->yields());
  });
  lowering.step = outer;
  lowering.first_step = outer_first;
  await_turn(lowering);
  Stmt stmt = loop(step, steps.from, steps.to, integer(1), false, std::move(body));
  stmt.uniform = true;
  lowering.emit(std::move(stmt));
  end_turn(lowering);
  bind_results(lowering, op, view.carried);
  if (rings.defer) {
    settle(lowering);
    const bool some = steps.count->kind == Expr::Kind::integer;
    if (!some || steps.count->value > 0)
      emit_arrival(lowering, rings, rings.state + ".previous()",
                   some ? nullptr : binary(">", steps.count, integer(0)));
  }
  if (lowering.split && lowering.split->loop == &op) lower_split_sum(lowering, op.results);
}

}  // namespace tilewright::codegen
