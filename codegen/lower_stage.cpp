#include <algorithm>

#include "tilewright/codegen/fetch_matrices.h"
#include "tilewright/codegen/function_exprs.h"
#include "tilewright/codegen/lowering.h"
#include "tilewright/codegen/matrix_operand.h"
#include "tilewright/codegen/prelude.h"
#include "tilewright/codegen/stage_layouts.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::Value;

const Value* ring_of(const Op& op) { return op.operand(0)->def->operand(0); }

/// How many of a copy's `vector` elements lie within the limits: a constant, or an expression that
/// is 0 or the vector, or any number between when a vector can straddle the end.
ExprRef valid_elements(Lowering& lowering, const Op& op, const CopyPlan& plan,
                       const std::vector<ExprRef>& at) {
  const int dim = plan.facts.contiguous_dim;
  const bool partial = plan.vector > plan.facts.whole_vector;
  const ExprRef inside = access_guard(lowering, op, at, partial ? dim : -1);
  ExprRef count = integer(plan.vector);
  if (partial) {
    const ExprRef left = tensor_limit(lowering, op, dim) - tensor_position(lowering, op, dim, at);
    count = index_extremum(lowering, "min", index_extremum(lowering, "max", left, integer(0)),
                           integer(plan.vector));
  }
  if (!inside) return partial ? count : nullptr;
  return conditional(inside, count, integer(0));
}

/// Runs `body` for every group of elements this thread copies.
void for_copied(Lowering& lowering, const Op& op, const CopyPlan& plan,
                const std::function<void(const RegIndex&, const std::vector<ExprRef>&)>& body) {
  const ir::Shape& shape = op.operand(0)->type.shape;
  const int axis = plan.vector > 1 ? plan.facts.contiguous_axis : -1;
  lowering.emit_if(replica_guard(lowering, plan.layout), [&] {
    for_registers(lowering, plan.layout, axis, plan.vector, [&](const RegIndex& index) {
      const auto at = coordinates(lowering, plan.layout, shape, index, axis, plan.vector);
      lowering.emit_if(overhang_guard(plan.layout, lowering.fn.extents(shape), at),
                       [&] { body(index, at); });
    });
  });
}

ExprRef slot_element(Lowering& lowering, const Op& op, const std::vector<ExprRef>& at, int vector) {
  const Value* ring = ring_of(op);
  const RingBuffer& buffer = lowering.rings.at(ring);
  return shared_element(buffer.name, lowering.in.shared.at(ring), buffer.fill_stage, at, vector);
}

void async_copy(Lowering& lowering, const Op& op, const CopyPlan& plan) {
  const AccessFacts& facts = plan.facts;
  const std::string helper = fmt::format("tw::copy_async<{}>", plan.vector);
  for_copied(lowering, op, plan, [&](const RegIndex&, const std::vector<ExprRef>& at) {
    std::vector<ExprRef> args = {address(slot_element(lowering, op, at, plan.vector)),
                                 address(tensor_element(lowering, op, facts, at))};
    if (ExprRef valid = valid_elements(lowering, op, plan, at)) args.push_back(valid);
    lowering.emit(call_stmt(call(helper, std::move(args))));
  });
}

/// Distributed tile -> shared memory, `vector` elements at a time along `axis`.
void write_shared(Lowering& lowering, const Value* value, const Layout& layout,
                  const SharedLayout& shared_layout, const std::string& buffer,
                  const ExprRef& stage, int axis, int vector) {
  const auto extents = lowering.extents(value);
  auto write = [&](const RegIndex& index) {
    const auto at = coordinates(lowering, layout, value->type.shape, index, axis, vector);
    const ExprRef to = shared_element(buffer, shared_layout, stage, at, vector);
    lowering.emit_if(overhang_guard(layout, extents, at), [&] {
      if (vector == 1)
        lowering.emit(assign(to, element_value(lowering, value, index)));
      else
        lowering.emit(
            call_stmt(call(fmt::format("tw::store<{}>", vector),
                           {address(to), run_pointer(lowering, value, index, axis, vector)})));
    });
  };
  lowering.emit_if(replica_guard(lowering, layout),
                   [&] { for_registers(lowering, layout, axis, vector, write); });
}

/// The width at which a tile in registers can meet a shared buffer along its contiguous axis.
int shared_vector(const Lowering& lowering, const Value* value, const Layout& layout, int axis) {
  return fetch_vector(layout, lowering.extents(value), axis, value->type.dtype);
}

/// Shared memory -> distributed tile, declared here; elements past the tile's extents are 0.
void read_shared(Lowering& lowering, const Value* to, const SharedLayout& shared_layout,
                 const std::string& buffer, const ExprRef& stage) {
  const Layout& layout = lowering.layout(to);
  const int fast = shared_layout.order.back();
  const std::string tile = declare_tile(lowering, to);
  const int vector = shared_vector(lowering, to, layout, fast);
  // Wide loads go to registers that are neighbours.
  const bool direct = run_is_contiguous(layout, fast);
  const int axis = vector > 1 ? fast : -1;
  const auto extents = lowering.extents(to);
  for_registers(lowering, layout, axis, vector, [&](const RegIndex& index) {
    const auto at = coordinates(lowering, layout, to->type.shape, index, axis, vector);
    const ExprRef guard = overhang_guard(layout, extents, at);
    const ExprRef from = shared_element(buffer, shared_layout, stage, at, vector);
    const ExprRef element_to = register_element(tile, layout, index);
    if (vector == 1) {
      const ExprRef zero = constant_expr(int64_t{0}, to->type.dtype);
      lowering.emit(assign(element_to, guard ? conditional(guard, from, zero) : from));
      return;
    }
    const std::string load = fmt::format("tw::load<{}>", vector);
    if (direct) {
      Stmt stmt = call_stmt(call(load, {address(element_to), address(from)}));
      lowering.emit(guard ? branch(guard, {stmt}) : stmt);
      return;
    }
    const std::string run = lowering.names.unique("run");
    lowering.emit(array(cuda_type(to->type.dtype), run, {vector}, guard != nullptr));
    Stmt stmt = call_stmt(call(load, {address(element(run, {integer(0)})), address(from)}));
    lowering.emit(guard ? branch(guard, {stmt}) : stmt);
    scatter_run(lowering, run, tile, layout, index, fast, vector);
  });
}

SharedLayout scratch_layout(const Lowering& lowering, const Value* value, const Layout& from,
                            const Layout& to) {
  const auto extents = lowering.extents(value);
  int fast = static_cast<int>(extents.size()) - 1;
  for (int axis = 0; axis < to.rank; ++axis)
    if (to.vector(axis) > 1) fast = axis;
  std::vector<int> order;
  for (int axis = 0; axis < to.rank; ++axis)
    if (axis != fast) order.push_back(axis);
  order.push_back(fast);
  const int bytes = size_of(value->type.dtype);
  const int write = widest_in_run(value->type.dtype, from.vector(fast));
  const int read = widest_in_run(value->type.dtype, to.vector(fast));
  return choose_shared_layout(extents, order, bytes, std::max(write, read),
                              {{warp_accesses(from, extents, fast, write, bytes), 1},
                               {warp_accesses(to, extents, fast, read, bytes), 1}});
}

/// Axes of a copy's registers, the contiguous one last: what one access moves must be neighbours.
std::vector<int64_t> register_order(const CopyPlan& plan) {
  std::vector<int64_t> order;
  for (int axis = 0; axis < plan.layout.rank; ++axis)
    if (axis != plan.facts.contiguous_axis) order.push_back(axis);
  if (plan.facts.contiguous_axis >= 0) order.push_back(plan.facts.contiguous_axis);
  return order;
}

Layout registers_of(const CopyPlan& plan) { return permute(plan.layout, register_order(plan)); }

ExprRef copy_register(const RegisterCopy& copy, const CopyPlan& plan, const RegIndex& index) {
  RegIndex ordered;
  for (int64_t axis : register_order(plan)) ordered.push_back(index[axis]);
  return register_element(copy.registers, registers_of(plan), ordered);
}

}  // namespace

std::vector<std::string> ring_names(const Lowering& lowering,
                                    const std::vector<const Value*>& rings) {
  std::vector<std::string> names;
  for (const Value* ring : rings) names.push_back(lowering.rings.at(ring).name);
  return names;
}

ExprRef shared_element(const std::string& buffer, const SharedLayout& layout, const ExprRef& stage,
                       const std::vector<ExprRef>& at, int multiple) {
  std::vector<ExprRef> indices;
  if (stage) indices.push_back(stage);
  ExprRef row = integer(0);  // counted through all slower axes
  for (int axis : layout.order) {
    if (axis == layout.order.back()) break;
    row = row * integer(layout.extents[axis]) + at[axis];
    indices.push_back(at[axis]);
  }
  ExprRef column = at[layout.order.back()];
  if (layout.has_panels()) {
    indices.insert(indices.begin() + (stage ? 1 : 0), column / integer(layout.panel));
    column = column % integer(layout.panel);
  }
  if (layout.swizzle_unit > 0) {
    const ExprRef unit = integer(layout.swizzle_unit);
    const ExprRef pattern = row / integer(layout.swizzle_rows) % integer(layout.swizzle_period);
    const ExprRef rest = multiple % layout.swizzle_unit == 0 ? integer(0) : column % unit;
    column = binary("^", column / unit, pattern) * unit + rest;
  }
  indices.push_back(column);
  return shared(buffer, std::move(indices));
}

std::string declare_shared(Lowering& lowering, const std::string& hint, DType dtype, int stages,
                           const SharedLayout& layout, const std::string& comment) {
  SharedBuffer buffer;
  buffer.name = lowering.names.unique(hint);
  buffer.dtype = dtype;
  if (layout.swizzle_unit > 0 && layout.panel > 0)
    buffer.alignment = swizzle_alignment(layout, size_of(dtype));
  if (stages > 1) buffer.extents.push_back(stages);
  // C++ has no arrays without elements.
  for (int64_t extent : layout.declared()) buffer.extents.push_back(std::max<int64_t>(1, extent));
  buffer.comment = comment;
  lowering.kernel.buffers.push_back(buffer);
  return buffer.name;
}

void lower_ring(Lowering& lowering, const Op& op) {
  const Value* ring = op.result();
  if (lowering.rings.contains(ring)) return;  // declared before the roles part
  const SharedLayout& layout = lowering.in.shared.at(ring);
  RingBuffer buffer;
  buffer.stages = static_cast<int>(op.integer(AttrKey::stages));
  std::string comment = buffer.stages > 1 ? "[stage]" : "";
  for (int axis : layout.order)
    comment += "[" + dimension_name(lowering, ring->type.shape, axis) + "]";
  if (layout.padding > 0)
    comment += fmt::format(", {} of {} used: rows start in different banks",
                           layout.declared().back() - layout.padding, layout.declared().back());
  if (layout.has_panels()) comment.insert(buffer.stages > 1 ? 7 : 0, "[panel]");
  if (layout.swizzle_unit > 0) comment += ", swizzled";
  const std::string role = buffer.stages > 1 ? "_ring" : "_tile";
  buffer.name = declare_shared(lowering, name_of(ring, "staged") + role, ring->type.dtype,
                               buffer.stages, layout, comment);
  lowering.rings[ring] = buffer;
}

void lower_copy(Lowering& lowering, const Op& op) {
  const CopyPlan& plan = lowering.in.copies.at(&op);
  const DType dtype = op.operand(0)->type.dtype;
  lowering.at_source(op);
  if (is_async(plan, dtype, lowering.config)) {
    record_access(lowering, op, "cp_async copy", plan.vector * size_of(dtype), true);
    lowering.rings.at(ring_of(op)).async = true;
    async_copy(lowering, op, plan);
    return;
  }
  const RegisterCopy copy{&op, declare_copy_registers(lowering, op)};
  load_copy_to_registers(lowering, copy);
  store_copy_from_registers(lowering, copy);
}

std::string declare_copy_registers(Lowering& lowering, const Op& op) {
  const CopyPlan& plan = lowering.in.copies.at(&op);
  const DType dtype = op.operand(0)->type.dtype;
  record_access(lowering, op, "sync copy", plan.vector * size_of(dtype), true);
  const std::string registers =
      lowering.names.unique(ir::AccessView(op).tensor->name + "_registers");
  const auto extents = register_extents(registers_of(plan));
  lowering.emit(extents.empty() ? declare(cuda_type(dtype), registers, nullptr, false)
                                : array(cuda_type(dtype), registers, extents));
  return registers;
}

void load_copy_to_registers(Lowering& lowering, const RegisterCopy& copy) {
  const Op& op = *copy.copy;
  const CopyPlan& plan = lowering.in.copies.at(&op);
  const DType dtype = op.operand(0)->type.dtype;
  for_copied(lowering, op, plan, [&](const RegIndex& index, const std::vector<ExprRef>& at) {
    const ExprRef guard = access_guard(lowering, op, at);
    const ExprRef to = copy_register(copy, plan, index);
    ExprRef from = tensor_element(lowering, op, plan.facts, at);
    const ExprRef zero = constant_expr(int64_t{0}, dtype);
    if (plan.vector == 1) {
      lowering.emit(assign(to, guard ? conditional(guard, from, zero) : from));
      return;
    }
    Stmt load =
        call_stmt(call(fmt::format("tw::load<{}>", plan.vector), {address(to), address(from)}));
    if (!guard) {
      lowering.emit(std::move(load));
      return;
    }
    const std::string& p = lowering.vector_loop[0];
    RegIndex each = index;
    each[plan.facts.contiguous_axis] = each[plan.facts.contiguous_axis] + name(p);
    std::vector<Stmt> clear = {loop(p, integer(0), integer(plan.vector), integer(1), true,
                                    {assign(copy_register(copy, plan, each), zero)})};
    lowering.emit(branch(guard, {std::move(load)}, std::move(clear)));
  });
}

void store_copy_from_registers(Lowering& lowering, const RegisterCopy& copy) {
  const Op& op = *copy.copy;
  const CopyPlan& plan = lowering.in.copies.at(&op);
  for_copied(lowering, op, plan, [&](const RegIndex& index, const std::vector<ExprRef>& at) {
    const ExprRef from = copy_register(copy, plan, index);
    const ExprRef to = slot_element(lowering, op, at, plan.vector);
    if (plan.vector == 1)
      lowering.emit(assign(to, from));
    else
      lowering.emit(
          call_stmt(call(fmt::format("tw::store<{}>", plan.vector), {address(to), address(from)})));
  });
}

void lower_stage(Lowering& lowering, const Op& op) {
  const Value* value = op.operand(1);
  const Value* ring = ring_of(op);
  const Layout& layout = lowering.layout(value);
  const SharedLayout& shared_layout = lowering.in.shared.at(ring);
  const int fast = shared_layout.order.back();
  const int vector = shared_vector(lowering, value, layout, fast);
  lowering.at_source(op);
  write_shared(lowering, value, layout, shared_layout, lowering.rings.at(ring).name, nullptr,
               vector > 1 ? fast : -1, vector);
}

/// The operands of a ring operation that bulk copies do not fill.
std::vector<const Value*> other_rings(const Lowering& lowering, const Op& op) {
  std::vector<const Value*> rings;
  for (const Value* ring : op.operands)
    if (lowering.rings.at(ring).bulk_loop == nullptr) rings.push_back(ring);
  return rings;
}

/// The loops whose bulk copies fill operands of a ring operation, each once.
std::vector<const Op*> bulk_loops(const Lowering& lowering, const Op& op) {
  std::vector<const Op*> loops;
  for (const Value* ring : op.operands) {
    const Op* loop = lowering.rings.at(ring).bulk_loop;
    if (loop != nullptr && std::find(loops.begin(), loops.end(), loop) == loops.end())
      loops.push_back(loop);
  }
  return loops;
}

void lower_commit(Lowering& lowering, const Op& op) {
  const bool async = std::any_of(op.operands.begin(), op.operands.end(),
                                 [&](const Value* ring) { return lowering.rings.at(ring).async; });
  if (async) lowering.emit(call_stmt(call("tw::copy_async_commit", {})));
}

void lower_wait(Lowering& lowering, const Op& op) {
  for (const Op* loop : bulk_loops(lowering, op)) lower_bulk_wait(lowering, lowering.bulk.at(loop));
  const std::vector<const Value*> rings = other_rings(lowering, op);
  if (rings.empty()) return;
  const bool async = std::any_of(rings.begin(), rings.end(),
                                 [&](const Value* ring) { return lowering.rings.at(ring).async; });
  if (async)
    lowering.emit(
        call_stmt(call(fmt::format("tw::copy_async_wait<{}>", op.integer(AttrKey::pending)), {})));
  // Products of warpgroups read shared memory by another path than the threads that wrote it.
  const bool read_by_wgmma = std::any_of(rings.begin(), rings.end(), [&](const Value* ring) {
    return lowering.read_by_wgmma.contains(ring);
  });
  if (read_by_wgmma) lowering.emit(call_stmt(call("tw::fence_async_shared", {})));
  lowering.emit(order("wait", ring_names(lowering, rings)));
  const bool of_pipeline = std::any_of(rings.begin(), rings.end(), [&](const Value* ring) {
    return lowering.rings.at(ring).stages > 1;
  });
  if (of_pipeline && lowering.on_wait) {
    auto continuation = std::move(lowering.on_wait);
    lowering.on_wait = nullptr;
    continuation(lowering);
  }
}

void lower_acquire(Lowering& lowering, const Op& op) {
  const std::vector<const Value*> rings = other_rings(lowering, op);
  if (!rings.empty()) lowering.emit(order("acquire", ring_names(lowering, rings)));
}

void lower_release(Lowering& lowering, const Op& op) {
  for (const Op* loop : bulk_loops(lowering, op))
    lower_bulk_release(lowering, lowering.bulk.at(loop));
  const std::vector<const Value*> rings = other_rings(lowering, op);
  if (rings.empty()) return;
  settle(lowering);
  lowering.emit(order("release", ring_names(lowering, rings)));
  const bool of_pipeline = std::any_of(rings.begin(), rings.end(), [&](const Value* ring) {
    return lowering.rings.at(ring).stages > 1;
  });
  if (of_pipeline && lowering.on_release) {
    auto continuation = std::move(lowering.on_release);
    lowering.on_release = nullptr;
    continuation(lowering);
  }
}

void lower_convert(Lowering& lowering, const Op& op) {
  const Value* from = op.operand(0);
  const Value* to = op.result();
  const Layout& source = lowering.layout(from);
  const Layout& target = lowering.layout(to);
  const SharedLayout scratch = scratch_layout(lowering, from, source, target);
  const int fast = scratch.order.back();
  lowering.at_source(op);
  std::string comment;
  for (int axis : scratch.order)
    comment += "[" + dimension_name(lowering, from->type.shape, axis) + "]";
  const std::string base = name_of(from, "tile");
  const std::string buffer = declare_shared(lowering, base + "_exchange", from->type.dtype, 1,
                                            scratch, comment + ", to change who holds what");
  const int write = shared_vector(lowering, from, source, fast);
  write_shared(lowering, from, source, scratch, buffer, nullptr, write > 1 ? fast : -1, write);
  read_shared(lowering, to, scratch, buffer, nullptr);
}

void share_with_replicas(Lowering& lowering, const Value* tile) {
  const Layout& layout = lowering.layout(tile);
  const SharedLayout scratch = scratch_layout(lowering, tile, layout, layout);
  const int fast = scratch.order.back();
  const std::string buffer =
      declare_shared(lowering, lowering.arrays.at(tile) + "_exchange", tile->type.dtype, 1, scratch,
                     "for the threads that hold the same elements");
  const int write = shared_vector(lowering, tile, layout, fast);
  write_shared(lowering, tile, layout, scratch, buffer, nullptr, write > 1 ? fast : -1, write);
  read_shared(lowering, tile, scratch, buffer, nullptr);
}

void lower_fetch(Lowering& lowering, const Op& op) {
  const Value* ring = view_of(op.operand(0)).ring;
  const RingBuffer& buffer = lowering.rings.at(ring);
  if (op.result()->name.empty())
    const_cast<Value*>(op.result())->name = name_of(ring, "staged") + "_tile";
  lowering.at_source(op);
  if (fetch_matrices(lowering, op)) return;
  read_shared(lowering, op.result(), lowering.in.shared.at(ring), buffer.name, buffer.read_stage);
}

}  // namespace tilewright::codegen
