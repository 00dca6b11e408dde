// Sorting of what would take too long a network: keys meet in shared memory, where each thread
// counts how many come before each of its own; that is where the element goes.
#include <limits>

#include "tilewright/codegen/function_exprs.h"
#include "tilewright/codegen/lowering.h"
#include "tilewright/codegen/prelude.h"
#include "tilewright/codegen/sort_order.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using ir::AttrKey;
using ir::Fn;
using ir::Op;
using ir::Value;

/// Runs `body` for each element that this thread holds and others do not.
void for_own_elements(
    Lowering& lowering, const Value* tile,
    const std::function<void(const RegIndex&, const std::vector<ExprRef>& at)>& body) {
  const Layout& layout = lowering.layout(tile);
  const auto extents = lowering.extents(tile);
  lowering.emit_if(replica_guard(lowering, layout), [&] {
    for_registers(lowering, layout, -1, 1, [&](const RegIndex& index) {
      const auto at = coordinates(lowering, layout, tile->type.shape, index);
      lowering.emit_if(overhang_guard(layout, extents, at), [&] { body(index, at); });
    });
  });
}

/// Counts into a new variable how many of `keys` along the axis come before the element at `at`.
ExprRef emit_rank(Lowering& lowering, const Op& op, const std::string& keys,
                  std::vector<ExprRef> at) {
  const auto axis = static_cast<size_t>(op.integer(AttrKey::axis));
  const bool descending = op.integer(AttrKey::descending) != 0;
  const DType dtype = op.operand(0)->type.dtype;
  const std::string key = lowering.names.unique("key"), rank = lowering.names.unique("rank");
  lowering.emit(declare(cuda_type(dtype), key, shared(keys, at)));
  lowering.emit(declare("int", rank, integer(0), false));
  const ExprRef mine = at[axis];
  const std::string& position = lowering.vector_loop[3];
  std::vector<Stmt> body = lowering.collect([&] {
    const std::string other = lowering.names.unique("other_key");
    at[axis] = name(position);
    lowering.emit(declare(cuda_type(dtype), other, shared(keys, at)));
    // Of equal keys, the one that stood first comes first.
    const ExprRef earlier = unary("!", comes_before(dtype, descending, name(key), name(other)));
    const ExprRef before = conditional(name(position) < mine, earlier,
                                       comes_before(dtype, descending, name(other), name(key)));
    lowering.emit(assign(name(rank), conditional(before, integer(1), integer(0)), "+="));
  });
  const int64_t extent = lowering.extents(op.operand(0))[axis];
  lowering.emit(loop(position, integer(0), integer(extent), integer(1), false, std::move(body)));
  return name(rank);
}

}  // namespace

ExprRef comes_before(DType dtype, bool descending, const ExprRef& x, const ExprRef& y) {
  const ExprRef less = fn_expr(descending ? Fn::gt : Fn::lt, dtype, {x, y});
  if (!is_float(dtype)) return less;
  const ExprRef y_nan = fn_expr(Fn::ne, dtype, {y, y}), x_is = fn_expr(Fn::eq, dtype, {x, x});
  return binary("||", less, binary("&&", y_nan, x_is));
}

ExprRef last_key(DType dtype, bool descending) {
  if (is_float(dtype)) return constant_expr(std::numeric_limits<double>::quiet_NaN(), dtype);
  return constant_expr(ir::integer_identity(descending ? Fn::max : Fn::min, dtype), dtype);
}

std::string declare_line(Lowering& lowering, const Value* tile, const char* suffix,
                         const std::vector<int64_t>& extents, const char* comment) {
  SharedBuffer buffer;
  buffer.name = lowering.names.unique(name_of(tile, "tile") + suffix);
  buffer.dtype = tile->type.dtype;
  buffer.extents = extents;
  buffer.comment = comment;
  lowering.kernel.buffers.push_back(buffer);
  return buffer.name;
}

void read_line(Lowering& lowering, const Value* result, const std::string& buffer) {
  const Layout& layout = lowering.layout(result);
  const auto extents = lowering.extents(result);
  const std::string tile = declare_tile(lowering, result);
  for_registers(lowering, layout, -1, 1, [&](const RegIndex& index) {
    const auto at = coordinates(lowering, layout, result->type.shape, index);
    ExprRef element = shared(buffer, at);
    if (ExprRef inside = overhang_guard(layout, extents, at))
      element = conditional(inside, element, constant_expr(int64_t{0}, result->type.dtype));
    lowering.emit(assign(register_element(tile, layout, index), element));
  });
}

void lower_sort(Lowering& lowering, const Op& op) {
  internal_check(op.has(AttrKey::guard) && op.integers(AttrKey::guard).empty(),
                 "a sort with an implicit mask was lowered");
  const Value* key = op.operand(0);
  const auto axis = static_cast<size_t>(op.integer(AttrKey::axis));
  if (sorts_by_network(lowering, op)) return lower_bitonic_sort(lowering, op);
  lowering.at_source(op);
  const std::string keys =
      declare_line(lowering, key, "_keys", lowering.extents(key), "to be counted");
  std::vector<std::string> sorted;
  for (const Value* result : op.results)
    sorted.push_back(
        declare_line(lowering, result, "_sorted", lowering.extents(result), "in sorted order"));
  for_own_elements(lowering, key, [&](const RegIndex& index, const std::vector<ExprRef>& at) {
    lowering.emit(assign(shared(keys, at), element_value(lowering, key, index)));
  });
  for_own_elements(lowering, key, [&](const RegIndex& index, std::vector<ExprRef> at) {
    const ExprRef own_key = shared(keys, at);
    at[axis] = emit_rank(lowering, op, keys, at);
    const bool all = !op.has(AttrKey::count);
    const ExprRef taken = all ? nullptr : at[axis] < integer(op.integer(AttrKey::count));
    lowering.emit_if(taken, [&] {
      for (size_t v = 0; v < sorted.size(); ++v)
        lowering.emit(assign(shared(sorted[v], at),
                             v == 0 ? own_key : element_value(lowering, op.operand(v), index)));
    });
  });
  for (size_t v = 0; v < sorted.size(); ++v) read_line(lowering, op.results[v], sorted[v]);
}

}  // namespace tilewright::codegen
