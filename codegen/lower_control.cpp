#include <algorithm>
#include <limits>
#include <map>

#include "tilewright/codegen/bulk_copy.h"
#include "tilewright/codegen/function_exprs.h"
#include "tilewright/codegen/known_value.h"
#include "tilewright/codegen/lowering.h"
#include "tilewright/codegen/pipeline.h"
#include "tilewright/codegen/prelude.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

std::string axis_name(const Lowering& lowering, int64_t axis) {
  const std::string& name = lowering.fn.axes.at(axis).name;
  return name.empty() ? fmt::format("tile_{}", axis) : name;
}

namespace {

/// Copies `from` into the array or variable of a carried value.
void assign_carried(Lowering& lowering, const Value* carried, const Value* from) {
  if (!carried->type.is_tile()) {
    const ExprRef value = scalar_value(lowering, from);
    const ExprRef& variable = lowering.scalars.at(carried);
    if (value->kind != Expr::Kind::name || value->text != variable->text)
      lowering.emit(assign(variable, value));
    return;
  }
  const std::string& array = lowering.arrays.at(carried);
  if (auto held = lowering.arrays.find(from);
      held != lowering.arrays.end() && held->second == array)
    return;
  settle(lowering);
  const Layout& layout = lowering.layout(carried);
  for_registers(lowering, layout, -1, 1, [&](const RegIndex& index) {
    lowering.emit(
        assign(register_element(array, layout, index), element_value(lowering, from, index)));
  });
}

/// A copy of a tile's array, taken before it is overwritten.
std::string save_array(Lowering& lowering, const Value* value) {
  const Layout& layout = lowering.layout(value);
  const std::string saved = lowering.names.unique("old_" + lowering.arrays.at(value));
  const auto extents = register_extents(layout);
  const std::string type = cuda_type(value->type.dtype);
  lowering.emit(extents.empty() ? declare(type, saved, nullptr, false)
                                : array(type, saved, extents));
  for_registers(lowering, layout, -1, 1, [&](const RegIndex& index) {
    lowering.emit(
        assign(register_element(saved, layout, index), element_value(lowering, value, index)));
  });
  return saved;
}

}  // namespace

void declare_carried(Lowering& lowering, const std::vector<const Value*>& carried,
                     const std::vector<const Value*>& inits) {
  for (size_t i = 0; i < carried.size(); ++i) {
    if (carried[i]->type.is_tile()) {
      const bool zero = is_zero_fill(inits[i]);
      if (inits[i]->def != nullptr) lowering.at_source(*inits[i]->def);
      if (carried[i]->name.empty())
        const_cast<Value*>(carried[i])->name = name_of(inits[i], "carried");
      declare_tile(lowering, carried[i], zero && !lowering.overwritten.contains(carried[i]));
      if (!zero) assign_carried(lowering, carried[i], inits[i]);
    } else {
      const std::string variable = lowering.names.unique(name_of(carried[i], "carried"));
      lowering.emit(declare(cuda_type(carried[i]->type.dtype), variable,
                            scalar_value(lowering, inits[i]), false));
      lowering.scalars[carried[i]] = name(variable);
    }
  }
}

void yield_carried(Lowering& lowering, const std::vector<const Value*>& carried,
                   const std::vector<const Value*>& next) {
  std::vector<std::string> saved(next.size());
  for (size_t i = 0; i < next.size(); ++i) {
    // A view of what is about to change: a transposed tile, a scalar spread over a tile.
    if (is_inlined(lowering, next[i]) && !lowering.arrays.contains(next[i]) &&
        is_view_of(lowering, next[i], carried))
      materialize(lowering, next[i]);
    if (next[i] == carried[i] ||
        std::find(carried.begin(), carried.end(), next[i]) == carried.end())
      continue;
    if (next[i]->type.is_tile()) {
      saved[i] = save_array(lowering, next[i]);
      continue;
    }
    saved[i] = lowering.names.unique("old_" + scalar_value(lowering, next[i])->text);
    lowering.emit(
        declare(cuda_type(next[i]->type.dtype), saved[i], scalar_value(lowering, next[i])));
  }
  for (size_t i = 0; i < carried.size(); ++i) {
    if (saved[i].empty()) {
      assign_carried(lowering, carried[i], next[i]);
    } else if (!carried[i]->type.is_tile()) {
      lowering.emit(assign(lowering.scalars.at(carried[i]), name(saved[i])));
    } else {
      const Layout& layout = lowering.layout(carried[i]);
      for_registers(lowering, layout, -1, 1, [&](const RegIndex& index) {
        lowering.emit(assign(register_element(lowering.arrays.at(carried[i]), layout, index),
                             register_element(saved[i], layout, index)));
      });
    }
  }
}

void bind_results(Lowering& lowering, const Op& op, const std::vector<const Value*>& carried) {
  for (size_t i = 0; i < carried.size(); ++i) {
    if (carried[i]->type.is_tile())
      lowering.arrays[op.results[i]] = lowering.arrays.at(carried[i]);
    else
      lowering.scalars[op.results[i]] = lowering.scalars.at(carried[i]);
  }
}

ExprRef tile_count(Lowering& lowering, const Value* begin, const Value* limit, int64_t block) {
  const ExprRef extent = scalar_value(lowering, limit) - scalar_value(lowering, begin);
  if (extent->kind == Expr::Kind::integer)
    return integer(extent->value <= 0 ? 0 : (extent->value + block - 1) / block);
  return index_extremum(lowering, "max", (extent + integer(block - 1)) / integer(block),
                        integer(0));
}

std::string position_type(const Lowering& lowering, const Value* limit, int64_t block) {
  return lowering.facts.range(limit).max < std::numeric_limits<int32_t>::max() - 2 * block
             ? "int"
             : "long long";
}

void lower_loop(Lowering& lowering, const Op& op) {
  if (op.integer(AttrKey::parallel) != 0) {
    lower_grid(lowering, op);
    return;
  }
  if (is_bulk_loop(lowering.in, op)) {
    lower_bulk_loop(lowering, op);
    return;
  }
  if (op.has(AttrKey::ahead) && !op.regions[1]->ops.empty()) {
    lower_pipelined_loop(lowering, op);
    return;
  }
  const ir::LoopView view(op);
  declare_carried(lowering, view.carried, view.inits);
  lower_plain_loop(lowering, op, [&] {
    lower_region(lowering, *view.body);
    settle(lowering);
    yield_carried(lowering, view.carried, view.body->yields());
  });
  bind_results(lowering, op, view.carried);
}

namespace {

/// Whether different iterations have different positions at an index of an access in the loop.
bool moves_with(const Op& loop, const Value* slice, const Value* index, int64_t block) {
  if (index == slice) return true;
  if (index->def == nullptr) return false;
  const Value* begin = index;
  if (index->def->kind == OpKind::slice) {
    const ir::Dim dim = index->type.shape[0];
    if (dim.is_block() || dim.extent > block) return false;
    begin = index->def->operand(0);
  }
  const auto is_begin = [&](const Value* x) {
    return x->def != nullptr && x->def->kind == OpKind::slice_begin && x->def->operand(0) == slice;
  };
  const auto is_fixed = [&](const Value* x) {
    if (x->def == nullptr) return x->owner != loop.regions[0];
    return x->def->kind == OpKind::constant || x->def->parent != loop.regions[0];
  };
  if (is_begin(begin)) return true;
  if (begin->def == nullptr || begin->def->kind != OpKind::binary ||
      begin->def->fn() != ir::Fn::add)
    return false;
  const Value *x = begin->def->operand(0), *y = begin->def->operand(1);
  return (is_begin(x) && is_fixed(y)) || (is_begin(y) && is_fixed(x));
}

/// Tensors that the loop does nothing with but store, once an iteration, elements that no other
/// iteration stores.
std::vector<std::string> tensors_written_apart(const Lowering& lowering, const Op& loop,
                                               int64_t block) {
  std::map<std::string, std::vector<const Op*>> accesses;
  ir::for_each_op(*loop.regions[0], [&](const Op& op) {
    if (ir::reads_tensor(op.kind) || ir::writes_tensor(op.kind) || op.kind == OpKind::copy)
      accesses[tensor_name(lowering, ir::AccessView(op).tensor)].push_back(&op);
  });
  const Value* slice = ir::LoopView(loop).slices[0];
  std::vector<std::string> result;
  for (const auto& [name, ops] : accesses) {
    const Op& op = *ops.front();
    if (ops.size() != 1 || op.kind != OpKind::store || op.parent != loop.regions[0]) continue;
    const std::vector<const Value*> indices = ir::AccessView(op).indices;
    if (std::any_of(indices.begin(), indices.end(),
                    [&](const Value* index) { return moves_with(loop, slice, index, block); }))
      result.push_back(name);
  }
  return result;
}

}  // namespace

// The loop's `params` are the tensors it writes apart: iterations need no barrier between them.
void lower_plain_loop(Lowering& lowering, const Op& op, const std::function<void()>& emit_body) {
  const ir::LoopView view(op);
  internal_check(view.slices.size() == 1, "a sequential loop over several axes was lowered");
  const int64_t axis = op.integers(AttrKey::axes).at(0);
  const int64_t block = lowering.fn.axes[axis].block;
  lowering.at_source(op);
  const Value* slice = view.slices[0];
  const std::string position = lowering.names.unique(axis_name(lowering, axis));
  const ExprRef begin = scalar_value(lowering, view.begins[0]);
  const ExprRef limit = scalar_value(lowering, view.limits[0]);
  const std::string type = position_type(lowering, view.limits[0], block);
  if (type != "int") lowering.wide_names.insert(position);
  lowering.scalars[slice] = name(position);
  lowering.limits[slice] = limit;
  lowering.ids[slice] = (name(position) - begin) / integer(block);
  std::vector<Stmt> body = lowering.collect(emit_body);
  Stmt stmt = loop(position, begin, limit, integer(block), false, std::move(body));
  stmt.type = type;
  stmt.uniform = true;
  if (!lowering.has_bulk_stores) stmt.params = tensors_written_apart(lowering, op, block);
  lowering.emit(std::move(stmt));
}

void lower_while(Lowering& lowering, const Op& op) {
  const ir::WhileView view(op);
  declare_carried(lowering, view.carried, view.inits);
  lowering.at_source(op);
  const std::string again = lowering.names.unique("again");
  lowering.emit(declare("bool", again, scalar_value(lowering, view.condition), false));
  std::vector<Stmt> body = lowering.collect([&] {
    lower_region(lowering, *view.body);
    settle(lowering);
    // Before the carried variables change, which the condition may be an expression of.
    lowering.emit(assign(name(again), scalar_value(lowering, view.again)));
    yield_carried(lowering, view.carried, view.next);
  });
  lowering.emit(repeat(name(again), std::move(body)));
  bind_results(lowering, op, view.carried);
}

void lower_if(Lowering& lowering, const Op& op) {
  const ExprRef condition = scalar_value(lowering, op.operand(0));
  lowering.at_source(op);
  std::vector<const Value*> results = op.results;
  for (const Value* result : results) {
    if (result->type.is_tile()) {
      declare_tile(lowering, result);
    } else {
      const std::string variable = lowering.names.unique(name_of(result, "chosen"));
      lowering.emit(declare(cuda_type(result->type.dtype), variable, nullptr, false));
      lowering.scalars[result] = name(variable);
    }
  }
  std::vector<Stmt> sides[2];
  for (int side = 0; side < 2; ++side)
    sides[side] = lowering.collect([&] {
      const Loc before = lowering.last_source;
      lower_region(lowering, *op.regions[side]);
      const auto& yields = op.regions[side]->yields();
      for (size_t i = 0; i < results.size(); ++i) assign_carried(lowering, results[i], yields[i]);
      lowering.last_source = before;
    });
  Stmt stmt = branch(condition, std::move(sides[0]), std::move(sides[1]));
  stmt.uniform = true;
  lowering.emit(std::move(stmt));
}

}  // namespace tilewright::codegen
