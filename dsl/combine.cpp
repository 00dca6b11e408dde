#include "tilewright/dsl/combine.h"

#include <limits>

#include "tilewright/dsl/axes.h"
#include "tilewright/dsl/elementwise.h"
#include "tilewright/dsl/jagged.h"
#include "tilewright/dsl/ops.h"
#include "tilewright/dsl/trace.h"
#include "tilewright/ir/combine.h"
#include "tilewright/ir/error.h"

namespace tilewright {
namespace dsl {
namespace {

using ir::Value;
using Values = std::vector<const Value*>;

/// Closes the region also when the function throws, which is an error if the trace goes on.
class OpenFunction {
 public:
  OpenFunction(Trace& trace, ir::Region* region, Loc loc) : trace_(trace), loc_(loc) {
    trace.open_region(region, loc);
  }
  ~OpenFunction() {
    trace_.close_regions(1);
    if (!complete) trace_.note_left_early(loc_);
  }
  OpenFunction(const OpenFunction&) = delete;
  OpenFunction& operator=(const OpenFunction&) = delete;

  bool complete = false;

 private:
  Trace& trace_;
  Loc loc_;
};

void expect_elements(std::string_view what, const ir::Region& region) {
  for (const ir::Op* op : region.ops) {
    if (ir::combines_elements(*op)) continue;
    const bool tile = op->results.size() == 1 && op->result()->type.is_tile();
    raise(ErrorId::combine_body, op->loc, what,
          tile ? "a tile, " + describe(op->result()->type)
               : fmt::format("'{}'", ir::info(op->kind).name));
  }
}

/// What the function returns, of the dtypes of what it combines.
Values results_of(std::string_view what, const std::vector<Operand>& returned,
                  const ir::CombineView& view, Loc loc) {
  Values values;
  for (size_t i = 0; i < returned.size(); ++i) {
    const DType dtype = view.lefts[i]->type.dtype;
    const Value* value = materialize(returned[i], dtype, loc);
    if (value->type != ir::Type::scalar(dtype))
      raise(ErrorId::combine_result, loc, what, i, describe(value->type), to_string(dtype));
    values.push_back(value);
  }
  return values;
}

/// Runs the function as often as a loop's body, for the same reason: to find host state it changes.
void trace_function(std::string_view what, const ir::Op& op, const CombineFn& fn, Loc loc) {
  Trace& trace = Trace::current(what, loc);
  const ir::CombineView view(op);
  ir::Region* region = ir::Builder::region_of(&op, 0);
  OpenFunction open(trace, region, loc);
  for (int run = 0; run < trace.body_runs(); ++run) {
    if (run > 0) trace.restart_body();
    std::vector<Tile> left, right;
    for (const Value* value : view.lefts) left.push_back(tile_of(value, loc));
    for (const Value* value : view.rights) right.push_back(tile_of(value, loc));
    const std::vector<Operand> returned = fn(left, right);
    expect_elements(what, *region);
    trace.expect_own_writes(what, loc);
    ir::Builder& builder = trace.at(loc);  // raises when a loop in the function was left early
    builder.yield(results_of(what, returned, view, loc));
  }
  open.complete = true;
}

/// Tiles of one shape, narrow floats as f32, and an identity for each.
struct Combined {
  Values tiles, identities;
  std::vector<DType> dtypes;  ///< before they were widened
};

Combined operands_for(std::string_view what, const std::vector<Operand>& values,
                      const std::vector<Literal>& identities, Loc loc) {
  ir::Builder& builder = builder_at(what, loc);
  Combined result;
  Values given;
  for (const Operand& value : values) {
    result.dtypes.push_back(common_dtype(what, {&value}, loc));
    given.push_back(value.value());
  }
  const ir::Shape shape = common_shape(what, given, loc);
  for (size_t i = 0; i < given.size(); ++i) {
    const DType dtype = is_narrow_float(result.dtypes[i]) ? DType::f32 : result.dtypes[i];
    result.identities.push_back(constant_of(identities[i].value, dtype, identities[i].loc));
    const Value* tile = broadcast(builder.cast(given[i], dtype), shape);
    result.tiles.push_back(jagged_masked(tile, result.identities.back(), loc));
  }
  return result;
}

std::vector<Tile> tiles_of(const ir::Op& op, const Combined& operands, Loc loc,
                           const std::vector<int64_t>& restored = {}) {
  std::vector<Tile> tiles;
  tiles.reserve(op.results.size());
  ir::Builder& builder = builder_at("a reduction", loc);
  for (size_t i = 0; i < op.results.size(); ++i) {
    const Value* value = builder.cast(op.results[i], operands.dtypes[i]);
    if (!restored.empty()) value = restore_dims(builder, value, restored);
    tiles.push_back(tile_of(value, loc));
  }
  return tiles;
}

std::vector<Tile> scan(std::string_view what, const Axes& axes, const std::vector<Operand>& values,
                       const std::vector<Literal>& identities, const CombineFn& fn,
                       ScanOptions options, Loc loc) {
  const Combined operands = operands_for(what, values, identities, loc);
  const int rank = static_cast<int>(operands.tiles[0]->type.shape.size());
  const int64_t axis = position(what, axes, rank, loc);
  const ir::Op* op = ir::make_scan(builder_at(what, loc), operands.tiles, operands.identities, axis,
                                   options.reverse, options.exclusive);
  trace_function(what, *op, fn, loc);
  return tiles_of(*op, operands, loc);
}

Tile accumulated(std::string_view what, ir::Fn fn, const Operand& x, const Axes& axes,
                 ScanOptions options, Loc loc) {
  ir::Builder& builder = builder_at(what, loc);
  const DType dtype = common_dtype(what, {&x}, loc);
  const bool small = dtype == DType::boolean || (is_integer(dtype) && size_of(dtype) < 4);
  const Tile value =
      small ? tile_of(builder.cast(x.value(), DType::i32), loc) : tile_of(x.value(), loc);
  const auto number = static_cast<int64_t>(ir::identity_of(fn));
  const CombineFn combine = [&](const std::vector<Tile>& left, const std::vector<Tile>& right) {
    const Operand a(left[0], loc), b(right[0], loc);
    return std::vector<Operand>{Operand(fn == ir::Fn::add ? a + b : a * b, loc)};
  };
  return scan(what, axes, {Operand(value, loc)}, {Literal(number, loc)}, combine, options, loc)[0];
}

/// The worst value there is, for the largest element (`most`) or the smallest.
Literal worst(bool largest, DType dtype, Loc loc) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (is_float(dtype)) return Literal(largest ? -infinity : infinity, loc);
  const int64_t value = ir::integer_identity(largest ? ir::Fn::max : ir::Fn::min, dtype);
  return dtype == DType::boolean ? Literal(value != 0, loc) : Literal(value, loc);
}

/// Whether the left element wins: it is a NaN or beyond the right one, or equal and before it.
Tile left_wins(const std::vector<Tile>& left, const std::vector<Tile>& right, bool largest,
               bool floats, Loc loc) {
  const Operand x(left[0], loc), y(right[0], loc);
  Tile beyond = largest ? x > y : x < y;
  Tile equal = x == y;
  const Tile before = Operand(left[1], loc) < Operand(right[1], loc);
  if (floats) {
    const Tile x_nan = x != x, y_nan = y != y;
    beyond = beyond || (x_nan && !y_nan);
    equal = equal || (x_nan && y_nan);
  }
  return beyond || (equal && before);
}

ValuesAndIndices extremum(std::string_view what, bool largest, const Operand& x, const Axes& axes,
                          KeepDims keep, Loc loc) {
  ir::Builder& builder = builder_at(what, loc);
  const DType dtype = common_dtype(what, {&x}, loc);
  const ir::Shape shape = x.value()->type.shape;
  const int64_t axis = position(what, axes, static_cast<int>(shape.size()), loc);
  if (shape[axis] == ir::Dim::constant(0)) raise(ErrorId::reduce_nothing, loc, what);
  const Value* index = builder.cast(builder.iota(shape[axis]), DType::i32);
  const Tile indices = tile_of(builder.broadcast(index, shape, {axis}), loc);
  const CombineFn better = [&](const std::vector<Tile>& left, const std::vector<Tile>& right) {
    const Tile wins = left_wins(left, right, largest, is_float(dtype), loc);
    std::vector<Operand> result;
    for (size_t i = 0; i < 2; ++i)
      result.emplace_back(
          where(Operand(wins, loc), Operand(left[i], loc), Operand(right[i], loc), loc), loc);
    return result;
  };
  const Literal nowhere(int64_t{std::numeric_limits<int32_t>::max()}, loc);
  const std::vector<Tile> found = reduce_by(
      axes, {x, Operand(indices, loc)}, {worst(largest, dtype, loc), nowhere}, better, keep, loc);
  return {Tile(found[0], loc), cast(Operand(found[1], loc), DType::i64, loc)};
}

}  // namespace

std::vector<Tile> reduce_by(const Axes& axes, const std::vector<Operand>& values,
                            const std::vector<Literal>& identities, const CombineFn& fn,
                            KeepDims keep, Loc loc) {
  const Combined operands = operands_for("reduce", values, identities, loc);
  const int rank = static_cast<int>(operands.tiles[0]->type.shape.size());
  const auto dims = positions("reduce", &axes, rank, loc);
  if (dims.empty()) {
    std::vector<Tile> same;
    for (const Operand& value : values) same.push_back(tile_of(value.value(), loc));
    return same;
  }
  const ir::Op* op =
      ir::make_combine(builder_at("reduce", loc), operands.tiles, operands.identities, dims);
  trace_function("reduce", *op, fn, loc);
  return tiles_of(*op, operands, loc, keep == KeepDims::yes ? dims : std::vector<int64_t>{});
}

std::vector<Tile> scan_by(const Axes& axes, const std::vector<Operand>& values,
                          const std::vector<Literal>& identities, const CombineFn& fn,
                          ScanOptions options, Loc loc) {
  return scan("associative_scan", axes, values, identities, fn, options, loc);
}

}  // namespace dsl

Tile cumsum(const Operand& x, const Axes& axes, ScanOptions options, Loc loc) {
  return dsl::accumulated("cumsum", ir::Fn::add, x, axes, options, loc);
}
Tile cumprod(const Operand& x, const Axes& axes, ScanOptions options, Loc loc) {
  return dsl::accumulated("cumprod", ir::Fn::mul, x, axes, options, loc);
}

ValuesAndIndices max_with_index(const Operand& x, const Axes& axes, KeepDims keep, Loc loc) {
  return dsl::extremum("max_with_index", true, x, axes, keep, loc);
}
ValuesAndIndices min_with_index(const Operand& x, const Axes& axes, KeepDims keep, Loc loc) {
  return dsl::extremum("min_with_index", false, x, axes, keep, loc);
}
Tile argmax(const Operand& x, const Axes& axes, KeepDims keep, Loc loc) {
  return dsl::extremum("argmax", true, x, axes, keep, loc).indices;
}
Tile argmin(const Operand& x, const Axes& axes, KeepDims keep, Loc loc) {
  return dsl::extremum("argmin", false, x, axes, keep, loc).indices;
}

}  // namespace tilewright
