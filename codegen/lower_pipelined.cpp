#include <algorithm>
#include <utility>

#include "tilewright/codegen/lowering.h"
#include "tilewright/codegen/pipeline.h"
#include "tilewright/codegen/prelude.h"
#include "tilewright/codegen/stage_layouts.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

/// The parts of a pipelined loop that its pieces of code need.
struct PipelinedLoop {
  Lowering& lowering;
  const Op& op;
  ir::LoopView view;
  int64_t block = 1;
  int ahead = 1, stages = 2;
  ExprRef begin, limit, steps;
  std::string step;               // the loop variable
  std::vector<const Op*> copies;  // of the fill region
  std::vector<const Value*> fill_rings;
  bool async = false;                   // any copy by cp.async
  std::vector<RegisterCopy> registers;  // when none is

  PipelinedLoop(Lowering& l, const Op& o) : lowering(l), op(o), view(o) {}

  ExprRef position(const ExprRef& at) const { return begin + at * integer(block); }
  bool always(int64_t n) const { return steps->kind == Expr::Kind::integer && steps->value >= n; }
};

PipelinedLoop inspect(Lowering& lowering, const Op& op) {
  PipelinedLoop loop(lowering, op);
  loop.block = lowering.fn.axes[op.integers(AttrKey::axes)[0]].block;
  loop.ahead = static_cast<int>(op.integer(AttrKey::ahead));
  loop.stages = loop.ahead + 1;
  loop.begin = scalar_value(lowering, loop.view.begins[0]);
  loop.limit = scalar_value(lowering, loop.view.limits[0]);
  loop.steps = tile_count(lowering, loop.view.begins[0], loop.view.limits[0], loop.block);
  if (loop.steps->kind != Expr::Kind::integer) {
    const std::string steps = lowering.names.unique("steps");
    lowering.emit(declare("int", steps, loop.steps));
    loop.steps = name(steps);
  }
  loop.step = lowering.names.unique("step");
  for (const Op* inner : loop.view.fill->ops) {
    if (inner->kind != OpKind::copy) continue;
    loop.copies.push_back(inner);
    loop.fill_rings.push_back(inner->operand(0)->def->operand(0));
    const CopyPlan& plan = lowering.in.copies.at(inner);
    loop.async |= is_async(plan, inner->operand(0)->type.dtype, lowering.config);
  }
  return loop;
}

/// Binds the fill region's slice to step `at`, whose slot is `stage`.
void enter_fill(PipelinedLoop& loop, const ExprRef& position, const ExprRef& stage) {
  Lowering& lowering = loop.lowering;
  const Value* slice = loop.view.fill->args.at(0);
  lowering.scalars[slice] = position;
  lowering.limits[slice] = loop.limit;
  lowering.ids[slice] = (position - loop.begin) / integer(loop.block);
  for (const Value* ring : loop.fill_rings) lowering.rings.at(ring).fill_stage = stage;
}

/// Lowers the fill region: its index arithmetic as usual, its copies by `lower_one_copy`.
void lower_fill(PipelinedLoop& loop, const std::function<void(const Op&)>& lower_one_copy) {
  for (const Op* op : loop.view.fill->ops) {
    if (op->kind == OpKind::copy)
      lower_one_copy(*op);
    else if (op->effect() == ir::Effect::pure)
      lower_op(loop.lowering, *op);
  }
}

/// auto load_step = [&](int step) { .. };  `parts` emits what the body does.
std::string define_step(PipelinedLoop& loop, const std::string& hint, bool needs_stage,
                        const std::function<void()>& parts) {
  Lowering& lowering = loop.lowering;
  const std::string function = lowering.names.unique(hint);
  const std::string argument = lowering.names.unique("step_to_load");
  const Value* slice = loop.view.fill->args.at(0);
  const std::string position = lowering.names.unique("next_" + name_of(slice, "position"));
  const std::string stage = lowering.names.unique("stage_to_fill");
  std::vector<Stmt> body = lowering.collect([&] {
    lowering.emit(declare(position_type(lowering, loop.view.limits[0], loop.block), position,
                          loop.position(name(argument))));
    if (needs_stage) lowering.emit(declare("int", stage, name(argument) % integer(loop.stages)));
    enter_fill(loop, name(position), name(stage));
    parts();
  });
  lowering.emit(lambda(function, {"int " + argument}, std::move(body)));
  lowering.last_source = {};  // the body proper shows its lines again
  return function;
}

/// Calls `function` for step `at` when that step exists.
Stmt guarded_call(const PipelinedLoop& loop, const std::string& function, const ExprRef& at,
                  bool certain) {
  Stmt stmt = call_stmt(call(function, {at}));
  if (certain) return stmt;
  Stmt guarded = branch(at < loop.steps, {std::move(stmt)});
  guarded.uniform = true;
  return guarded;
}

std::vector<std::string> ring_buffers(const PipelinedLoop& loop) {
  std::vector<std::string> names;
  for (const Value* ring : loop.fill_rings) names.push_back(loop.lowering.rings.at(ring).name);
  return names;
}

Stmt commit() { return call_stmt(call("tw::copy_async_commit", {})); }

/// Fills the first `ahead` slots.
void emit_prologue(PipelinedLoop& loop, const std::vector<std::string>& functions) {
  Lowering& lowering = loop.lowering;
  // Where the loop is entered again, its last iteration may still be reading.
  lowering.emit(order("acquire", ring_buffers(loop)));
  auto fill = [&](const ExprRef& at) {
    for (const std::string& function : functions)
      lowering.emit(guarded_call(loop, function, at, loop.always(loop.ahead)));
    if (loop.async) lowering.emit(commit());
  };
  if (loop.ahead == 1) {
    fill(integer(0));
    return;
  }
  std::vector<Stmt> body = lowering.collect([&] { fill(name(loop.step)); });
  Stmt stmt = tilewright::codegen::loop(loop.step, integer(0), integer(loop.ahead), integer(1),
                                        false, std::move(body));
  stmt.uniform = true;
  lowering.emit(std::move(stmt));
}

/// The body: wait for this step's tiles, start the copies of a later one, compute.
std::vector<Stmt> emit_body(PipelinedLoop& loop, const std::string& load,
                            const std::string& store) {
  Lowering& lowering = loop.lowering;
  const ExprRef later = name(loop.step) + integer(loop.ahead);
  const Value* slice = loop.view.slices[0];
  return lowering.collect([&] {
    const std::string stage = lowering.names.unique("stage");
    lowering.emit(declare("int", stage, name(loop.step) % integer(loop.stages)));
    for (const Value* ring : loop.fill_rings) lowering.rings.at(ring).read_stage = name(stage);
    lowering.scalars[slice] = loop.position(name(loop.step));
    lowering.limits[slice] = loop.limit;
    lowering.ids[slice] = name(loop.step);
    // The body may hold another pipelined loop, which has its own.
    const auto outer_wait = std::exchange(lowering.on_wait, nullptr);
    const auto outer_release = std::exchange(lowering.on_release, nullptr);
    lowering.on_wait = [&](Lowering& inside) {
      inside.emit(order("acquire", ring_buffers(loop)));
      inside.emit(guarded_call(loop, load, later, false));
      if (loop.async) inside.emit(commit());
    };
    if (!store.empty())
      lowering.on_release = [&](Lowering& inside) {
        inside.emit(guarded_call(loop, store, later, false));
      };
    lower_region(lowering, *loop.view.body);
    internal_check(!lowering.on_wait && !lowering.on_release, "a pipelined loop without a wait");
    lowering.on_wait = outer_wait;
    lowering.on_release = outer_release;
    yield_carried(lowering, loop.view.carried, loop.view.body->yields());
  });
}

}  // namespace

void lower_pipelined_loop(Lowering& lowering, const Op& op) {
  const ir::LoopView view(op);
  declare_carried(lowering, view.carried, view.inits);
  lowering.at_source(op);
  PipelinedLoop loop = inspect(lowering, op);
  std::string load, store;
  std::vector<std::string> prologue;
  if (loop.async) {
    load = define_step(loop, "load_step", true, [&] {
      lower_fill(loop, [&](const Op& copy) { lower_copy(lowering, copy); });
    });
    prologue = {load};
  } else {
    for (const Op* copy : loop.copies)
      loop.registers.push_back({copy, declare_copy_registers(lowering, *copy)});
    load = define_step(loop, "load_step", false, [&] {
      size_t next = 0;
      lower_fill(loop,
                 [&](const Op&) { load_copy_to_registers(lowering, loop.registers.at(next++)); });
    });
    store = define_step(loop, "store_step", true, [&] {
      for (const RegisterCopy& copy : loop.registers) store_copy_from_registers(lowering, copy);
    });
    prologue = {load, store};
  }
  emit_prologue(loop, prologue);
  Stmt stmt = tilewright::codegen::loop(loop.step, integer(0), loop.steps, integer(1), false,
                                        emit_body(loop, load, store));
  stmt.uniform = true;
  lowering.emit(std::move(stmt));
  bind_results(lowering, op, loop.view.carried);
}

}  // namespace tilewright::codegen
