#include <algorithm>

#include "tilewright/codegen/axis_scope.h"
#include "tilewright/codegen/function_exprs.h"
#include "tilewright/codegen/lowering.h"
#include "tilewright/codegen/prelude.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::Value;

bool is_slice(const Value* index) { return index->type.kind == ir::Type::Kind::slice; }

bool guards(const Op& access, int dim) {
  const auto& guard = access.integers(AttrKey::guard);
  return std::find(guard.begin(), guard.end(), dim) != guard.end();
}

ExprRef and_also(const ExprRef& x, const ExprRef& y) {
  if (!x) return y;
  return y ? x && y : x;
}

/// The run of elements of a tile at `index` as a small array that a wide store can read.
ExprRef gather_run(Lowering& lowering, const Value* value, const RegIndex& index, int axis,
                   int vector) {
  const std::string run = lowering.names.unique("run");
  lowering.emit(array(cuda_type(value->type.dtype), run, {vector}));
  const std::string& p = lowering.vector_loop[0];
  std::vector<Stmt> body = lowering.collect([&] {
    RegIndex at = index;
    if (axis >= 0) at[axis] = at[axis] + name(p);
    lowering.emit(assign(element(run, {name(p)}), element_value(lowering, value, at)));
  });
  lowering.emit(loop(p, integer(0), integer(vector), integer(1), true, std::move(body)));
  return address(element(run, {integer(0)}));
}

/// "tw::load<4>", or its form with the hint for caches that the access has.
std::string access_helper(const Op& op, const char* what, int vector) {
  const ir::Attr* evict = op.find(AttrKey::evict);
  const std::string hint = evict == nullptr ? "" : "_evict_" + std::get<std::string>(*evict);
  return fmt::format("tw::{}{}<{}>", what, hint, vector);
}

void wide_load(Lowering& lowering, const Op& op, const std::string& tile, const AccessFacts& facts,
               const Layout& layout, const AccessPoint& point, const ExprRef& guard, int vector) {
  const Value* value = op.result();
  const ExprRef from = address(tensor_element(lowering, op, facts, point));
  const int axis = facts.contiguous_axis;
  const bool direct = vector == 1 || run_is_contiguous(layout, axis);
  std::string run;
  if (!direct) {
    run = lowering.names.unique("run");
    lowering.emit(array(cuda_type(value->type.dtype), run, {vector}, guard != nullptr));
  }
  const ExprRef to =
      address(direct ? register_element(tile, layout, point.index) : element(run, {integer(0)}));
  Stmt load = call_stmt(call(access_helper(op, "load", vector), {to, from}));
  lowering.emit(guard ? branch(guard, {load}) : load);
  if (!direct) scatter_run(lowering, run, tile, layout, point.index, axis, vector);
}

/// The position that an index tile holds for an element.
ExprRef tile_position(Lowering& lowering, const ir::AccessView& access, int dim,
                      const AccessPoint& point) {
  const Value* tile = access.indices[dim];
  const Layout& layout = lowering.layout(tile);
  RegIndex index;
  for (int axis : access.axes_of(dim)) {
    const int own = static_cast<int>(index.size());
    index.push_back(layout.registers(own) > 1 ? point.index.at(axis) : integer(0));
  }
  return element_value(lowering, tile, index);
}

/// Whether the position of an index tile is one of the tensor's, as far as that is not known.
ExprRef tile_guard(Lowering& lowering, const Op& op, int dim, const AccessPoint& point) {
  const ir::AccessView access(op);
  const ExprRef size = dimension_size(lowering, access.tensor, dim);
  const ExprRef position = tile_position(lowering, access, dim, point);
  const ir::Range range = lowering.facts.range(access.indices[dim]);
  ExprRef guard;
  if (range.min < 0) guard = binary(">=", position, integer(0));
  if (size->kind != Expr::Kind::integer || range.max >= size->value)
    guard = and_also(guard, position < size);
  return guard;
}

/// Whether the lane of an index tile exists: is below the limits of the loops whose axes it has.
ExprRef lane_guard(Lowering& lowering, const Op& op, int dim, const AccessPoint& point) {
  const ir::AccessView access(op);
  const ir::Shape& shape = access.indices[dim]->type.shape;
  const std::vector<int> axes = access.axes_of(dim);
  ExprRef guard;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Value* slice = shape[i].is_block() ? slice_in_scope(op, shape[i].axis) : nullptr;
    if (slice == nullptr) continue;
    if (lowering.config.cluster == 1 && lowering.facts.slice_is_full(slice)) continue;
    const ExprRef position = scalar_value(lowering, slice) + point.at.at(axes[i]);
    guard = and_also(guard, position < lowering.limits.at(slice));
  }
  return guard;
}

/// The value that a slice ends at.
const Value* limit_value(const Value* slice) {
  return slice->def != nullptr ? slice->def->operand(1)
                               : ir::LoopView(*slice->owner->parent).limits.at(slice->index);
}

}  // namespace

ExprRef dimension_size(const Lowering& lowering, const Value* tensor, int64_t dim) {
  const ir::Param& param = *lowering.fn.param_of(tensor);
  if (const Value* dynamic = lowering.fn.size_value(param, dim))
    return lowering.scalars.at(dynamic);
  return integer(param.spec.sizes.at(dim));
}

std::string tensor_name(const Lowering& lowering, const Value* tensor) {
  const ir::Param* param = lowering.fn.param_of(tensor);
  return lowering.kernel.params.at(param - lowering.fn.params.data()).name;
}

ExprRef tensor_position(Lowering& lowering, const Op& op, int dim, const AccessPoint& point) {
  const ir::AccessView access(op);
  const Value* index = access.indices[dim];
  if (index->type.is_tile()) return tile_position(lowering, access, dim, point);
  const ExprRef begin = scalar_value(lowering, index);
  return is_slice(index) ? begin + point.at.at(access.axes_of(dim).at(0)) : begin;
}

ExprRef tensor_limit(Lowering& lowering, const Op& op, int dim) {
  const ir::AccessView access(op);
  const ExprRef size = dimension_size(lowering, access.tensor, dim);
  const Value* index = access.indices[dim];
  if (!is_slice(index)) return size;
  const ExprRef limit = slice_limit(lowering, index);
  if (limit->kind == Expr::Kind::integer && size->kind == Expr::Kind::integer)
    return integer(std::min(limit->value, size->value));
  const ir::Param& param = *lowering.fn.param_of(access.tensor);
  if (const Value* dynamic = lowering.fn.size_value(param, dim);
      dynamic != nullptr && lowering.facts.is_less_equal(limit_value(index), dynamic))
    return limit;
  return index_extremum(lowering, "min", limit, size);
}

ExprRef access_guard(Lowering& lowering, const Op& op, const AccessPoint& point, int skip) {
  const ir::AccessView access(op);
  ExprRef guard;
  bool lanes = false;
  for (int d = 0; d < static_cast<int>(access.indices.size()); ++d) {
    if (!guards(op, d)) continue;
    if (access.indices[d]->type.is_tile()) {
      if (!lanes) guard = and_also(guard, lane_guard(lowering, op, d, point));
      lanes = true;
      guard = and_also(guard, tile_guard(lowering, op, d, point));
      continue;
    }
    const ExprRef position = tensor_position(lowering, op, d, point);
    const ir::Range first = lowering.facts.range(first_position(access.indices[d]));
    if (first.min < 0) guard = and_also(guard, binary(">=", position, integer(0)));
    if (d != skip) guard = and_also(guard, position < tensor_limit(lowering, op, d));
  }
  if (access.mask != nullptr)
    guard = and_also(guard, element_value(lowering, access.mask, point.index));
  return guard;
}

ExprRef global_offset(Lowering& lowering, const Op& op, const AccessFacts& facts,
                      const AccessPoint& point) {
  const ir::AccessView access(op);
  const TensorSpec& spec = lowering.fn.param_of(access.tensor)->spec;
  ExprRef offset = integer(0);
  for (int d = 0; d < spec.rank(); ++d) {
    if (spec.sizes[d] <= 1 || spec.strides[d] == 0) continue;
    ExprRef position = tensor_position(lowering, op, d, point);
    if (facts.wide)
      position = cast("long long", position);
    else if (access.indices[d]->type.is_tile())
      position = cast("int", position);  // valid positions are small
    offset = offset + position * integer(spec.strides[d]);
  }
  return offset;
}

ExprRef tensor_element(Lowering& lowering, const Op& op, const AccessFacts& facts,
                       const AccessPoint& point) {
  return global(tensor_name(lowering, ir::AccessView(op).tensor),
                global_offset(lowering, op, facts, point));
}

ExprRef run_pointer(Lowering& lowering, const Value* value, const RegIndex& index, int axis,
                    int vector) {
  const bool direct = lowering.arrays.contains(value) &&
                      (vector == 1 || run_is_contiguous(lowering.layout(value), axis));
  return direct ? address(element_value(lowering, value, index))
                : gather_run(lowering, value, index, axis, vector);
}

void scatter_run(Lowering& lowering, const std::string& run, const std::string& tile,
                 const Layout& layout, const RegIndex& index, int axis, int vector) {
  const std::string& p = lowering.vector_loop[0];
  RegIndex at = index;
  at[axis] = at[axis] + name(p);
  std::vector<Stmt> body = {assign(register_element(tile, layout, at), element(run, {name(p)}))};
  lowering.emit(loop(p, integer(0), integer(vector), integer(1), true, std::move(body)));
}

bool run_is_contiguous(const Layout& layout, int axis) {
  for (int later = axis + 1; later < layout.rank; ++later)
    if (layout.registers(later) > 1) return false;
  return true;
}

void record_access(Lowering& lowering, const Op& op, std::string kind, int bytes, bool staged) {
  OperandAccess access{tensor_name(lowering, ir::AccessView(op).tensor), std::move(kind), bytes,
                       staged, op.loc};
  for (const OperandAccess& known : lowering.accesses)
    if (known.tensor == access.tensor && known.kind == access.kind && known.bytes == access.bytes)
      return;
  lowering.accesses.push_back(std::move(access));
}

namespace {

void load_scalar(Lowering& lowering, const Op& op, const AccessFacts& facts) {
  const Value* value = op.result();
  const std::string variable =
      lowering.names.unique(name_of(value, op.operand(0)->name + "_value"));
  ExprRef element = tensor_element(lowering, op, facts, {});
  if (ExprRef guard = access_guard(lowering, op, {}))
    element = conditional(guard, element, constant_expr(int64_t{0}, value->type.dtype));
  lowering.emit(declare(cuda_type(value->type.dtype), variable, element));
  lowering.scalars[value] = name(variable);
  record_access(lowering, op, "load", size_of(value->type.dtype), false);
}

}  // namespace

void lower_load(Lowering& lowering, const Op& op) {
  const Value* value = op.result();
  const AccessFacts facts = analyze_access(lowering.fn, lowering.facts, op, lowering.config.vector);
  lowering.at_source(op);
  if (value->type.is_scalar()) {
    load_scalar(lowering, op, facts);
    return;
  }
  const Layout& layout = lowering.layout(value);
  const int vector = access_vector(facts, layout);
  const int axis = vector > 1 ? facts.contiguous_axis : -1;
  const bool called = vector > 1 || op.has(AttrKey::evict);
  record_access(lowering, op, "load", vector * size_of(value->type.dtype), false);
  const auto extents = lowering.extents(value);
  const bool guarded = !op.integers(AttrKey::guard).empty() || layout.overhangs(extents) ||
                       ir::AccessView(op).mask != nullptr;
  if (value->name.empty()) const_cast<Value*>(value)->name = op.operand(0)->name + "_tile";
  const std::string tile = declare_tile(lowering, value, guarded && called);
  for_registers(lowering, layout, axis, vector, [&](const RegIndex& index) {
    const AccessPoint point{coordinates(lowering, layout, value->type.shape, index, axis, vector),
                            index};
    const ExprRef guard =
        and_also(overhang_guard(layout, extents, point.at), access_guard(lowering, op, point));
    if (called) {
      wide_load(lowering, op, tile, facts, layout, point, guard, vector);
      return;
    }
    ExprRef element = tensor_element(lowering, op, facts, point);
    if (guard) element = conditional(guard, element, constant_expr(int64_t{0}, value->type.dtype));
    lowering.emit(assign(register_element(tile, layout, index), element));
  });
}

void lower_store(Lowering& lowering, const Op& op) {
  if (auto bulk = lowering.in.bulk_stores.find(&op); bulk != lowering.in.bulk_stores.end())
    return lower_bulk_store(lowering, op, bulk->second);
  const ir::AccessView access(op);
  const Value* value = access.value;
  const AccessFacts facts = analyze_access(lowering.fn, lowering.facts, op, lowering.config.vector);
  lowering.at_source(op);
  if (value->type.is_scalar()) {
    record_access(lowering, op, "store", size_of(value->type.dtype), false);
    Stmt store = assign(tensor_element(lowering, op, facts, {}), scalar_value(lowering, value));
    const ExprRef first = binary("==", name("threadIdx.x"), integer(0));
    lowering.emit(branch(and_also(first, access_guard(lowering, op, {})), {std::move(store)}));
    return;
  }
  const Layout& layout = lowering.layout(value);
  const int vector = access_vector(facts, layout);
  const int axis = vector > 1 ? facts.contiguous_axis : -1;
  record_access(lowering, op, "store", vector * size_of(value->type.dtype), false);
  const auto extents = lowering.extents(value);
  auto store_run = [&](const RegIndex& index, const ExprRef& to) {
    if (vector == 1 && !op.has(AttrKey::evict)) {
      lowering.emit(assign(to, element_value(lowering, value, index)));
      return;
    }
    lowering.emit(
        call_stmt(call(access_helper(op, "store", vector),
                       {address(to), run_pointer(lowering, value, index, axis, vector)})));
  };
  lowering.emit_if(replica_guard(lowering, layout), [&] {
    for_registers(lowering, layout, axis, vector, [&](const RegIndex& index) {
      const AccessPoint point{coordinates(lowering, layout, value->type.shape, index, axis, vector),
                              index};
      const ExprRef guard = and_also(
          split_guard(lowering, value, point.at),
          and_also(overhang_guard(layout, extents, point.at), access_guard(lowering, op, point)));
      lowering.emit_if(guard,
                       [&] { store_run(index, tensor_element(lowering, op, facts, point)); });
    });
  });
}

}  // namespace tilewright::codegen
