#include "tilewright/ir/combine.h"

#include <algorithm>

#include "tilewright/ir/error.h"

namespace tilewright::ir {
namespace {

bool is_axis(int64_t axis, const Type& type) {
  return axis >= 0 && axis < static_cast<int64_t>(type.shape.size());
}

Op* with_arguments(Builder& builder, Op* op) {
  Region* region = Builder::region_of(op, 0);
  const size_t n = op->operands.size() / 2;
  for (int side = 0; side < 2; ++side)
    for (size_t i = 0; i < n; ++i)
      builder.add_argument(region, Type::scalar(op->operand(i)->type.dtype), op->operand(i)->name);
  return op;
}

std::vector<const Value*> joined(std::vector<const Value*> a, const std::vector<const Value*>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// Tiles of one shape, then as many scalars of their dtypes.
std::string operands_fault(const Op& op) {
  const size_t n = op.operands.size() / 2;
  if (n == 0 || op.operands.size() % 2 != 0) return "takes tiles and as many identities";
  for (size_t i = 0; i < n; ++i) {
    const Type &tile = op.operand(i)->type, &identity = op.operand(n + i)->type;
    if (!tile.is_tile()) return "takes tiles";
    if (tile.shape != op.operand(0)->type.shape) return "operands' shapes differ";
    if (identity != Type::scalar(tile.dtype)) return "an identity is no scalar of its tile's dtype";
  }
  return "";
}

std::string guard_fault(const Op& op, std::vector<int64_t> axes) {
  if (!op.has(AttrKey::guard)) return "";
  for (int64_t axis : op.integers(AttrKey::guard)) {
    const auto found = std::find(axes.begin(), axes.end(), axis);
    if (found == axes.end()) return "guard must name axes of the operation, in order";
    axes.erase(axes.begin(), found + 1);
  }
  return "";
}

bool is_truth(int64_t value) { return value == 0 || value == 1; }

}  // namespace

bool combines(OpKind kind) { return kind == OpKind::combine || kind == OpKind::scan; }

CombineView::CombineView(const Op& op) : body(op.regions.at(0)) {
  const auto n = static_cast<std::ptrdiff_t>(op.operands.size() / 2);
  tiles.assign(op.operands.begin(), op.operands.begin() + n);
  identities.assign(op.operands.begin() + n, op.operands.end());
  lefts.assign(body->args.begin(), body->args.begin() + n);
  rights.assign(body->args.begin() + n, body->args.end());
}

Op* make_combine(Builder& builder, const std::vector<const Value*>& tiles,
                 const std::vector<const Value*>& identities, std::vector<int64_t> axes) {
  return with_arguments(builder, builder.create(OpKind::combine, joined(tiles, identities),
                                                {{AttrKey::axes, std::move(axes)}}));
}

Op* make_scan(Builder& builder, const std::vector<const Value*>& tiles,
              const std::vector<const Value*>& identities, int64_t axis, bool reverse,
              bool exclusive) {
  return with_arguments(builder, builder.create(OpKind::scan, joined(tiles, identities),
                                                {{AttrKey::axis, axis},
                                                 {AttrKey::reverse, int64_t{reverse}},
                                                 {AttrKey::exclusive, int64_t{exclusive}}}));
}

Op* make_sort(Builder& builder, const std::vector<const Value*>& tiles, int64_t axis,
              bool descending, int64_t count) {
  std::vector<std::pair<AttrKey, Attr>> attributes = {{AttrKey::axis, axis},
                                                      {AttrKey::descending, int64_t{descending}}};
  if (count >= 0) attributes.push_back({AttrKey::count, count});
  return builder.create(OpKind::sort, tiles, std::move(attributes));
}

std::optional<std::vector<Type>> infer_results(const Op& op) {
  if (!combines(op.kind) && op.kind != OpKind::sort) return std::nullopt;
  const std::string fault = op.kind == OpKind::combine ? combine_fault(op)
                            : op.kind == OpKind::scan  ? scan_fault(op)
                                                       : sort_fault(op);
  if (!fault.empty())
    throw InternalError(fmt::format("operation {}: {}", info(op.kind).name, fault));
  Shape shape = op.operand(0)->type.shape;
  size_t n = op.operands.size();
  if (combines(op.kind)) n /= 2;
  if (op.kind == OpKind::combine) {
    const auto& axes = op.integers(AttrKey::axes);
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) shape.erase(shape.begin() + *axis);
  } else if (op.kind == OpKind::sort && op.has(AttrKey::count)) {
    shape[op.integer(AttrKey::axis)] = Dim::constant(op.integer(AttrKey::count));
  }
  std::vector<Type> types;
  for (size_t i = 0; i < n; ++i) types.push_back(Type::value(op.operand(i)->type.dtype, shape));
  return types;
}

std::string combine_fault(const Op& op) {
  if (std::string fault = operands_fault(op); !fault.empty()) return fault;
  const auto& axes = op.integers(AttrKey::axes);
  for (size_t i = 0; i < axes.size(); ++i)
    if (!is_axis(axes[i], op.operand(0)->type) || (i > 0 && axes[i - 1] >= axes[i]))
      return "axes must name dimensions, in order";
  return axes.empty() ? "needs an axis" : guard_fault(op, axes);
}

std::string scan_fault(const Op& op) {
  if (std::string fault = operands_fault(op); !fault.empty()) return fault;
  const int64_t axis = op.integer(AttrKey::axis);
  if (!is_axis(axis, op.operand(0)->type)) return "axis must name a dimension";
  if (!is_truth(op.integer(AttrKey::reverse)) || !is_truth(op.integer(AttrKey::exclusive)))
    return "reverse and exclusive must be 0 or 1";
  return guard_fault(op, {axis});
}

std::string sort_fault(const Op& op) {
  if (op.operands.empty()) return "takes tiles";
  for (const Value* operand : op.operands)
    if (!operand->type.is_tile() || operand->type.shape != op.operand(0)->type.shape)
      return "takes tiles of one shape";
  const int64_t axis = op.integer(AttrKey::axis);
  if (!is_axis(axis, op.operand(0)->type)) return "axis must name a dimension";
  if (!is_truth(op.integer(AttrKey::descending))) return "descending must be 0 or 1";
  if (op.has(AttrKey::count)) {
    const Dim& dim = op.operand(0)->type.shape[axis];
    const int64_t count = op.integer(AttrKey::count);
    if (dim.is_block() || count < 0 || count > dim.extent)
      return "count must be at most the size of a constant dimension";
  }
  return guard_fault(op, {axis});
}

std::string join_fault(const Op& op) {
  if (op.operands.empty()) return "takes tiles";
  for (const Value* operand : op.operands)
    if (operand->type != op.operand(0)->type) return "operands' types differ";
  const int64_t axis = op.integer(AttrKey::axis);
  const auto rank = static_cast<int64_t>(op.operand(0)->type.shape.size());
  return axis >= 0 && axis <= rank ? "" : "axis must be a dimension of the result";
}

std::string pick_fault(const Op& op) {
  const int64_t axis = op.integer(AttrKey::axis), position = op.integer(AttrKey::position);
  if (!is_axis(axis, op.operand(0)->type)) return "axis must name a dimension";
  const Dim& dim = op.operand(0)->type.shape[axis];
  return !dim.is_block() && position >= 0 && position < dim.extent
             ? ""
             : "position must be one of a constant dimension";
}

bool combines_elements(const Op& op) {
  switch (op.kind) {
    case OpKind::constant:
    case OpKind::unary:
    case OpKind::binary:
    case OpKind::compare:
    case OpKind::fma:
    case OpKind::select:
    case OpKind::cast:
      return op.result()->type.is_scalar();
    default:
      return false;
  }
}

std::string combine_region_fault(const Op& op) {
  const Region& body = *op.regions[0];
  const size_t n = op.operands.size() / 2;
  const auto fits = [&](const std::vector<const Value*>& values, size_t first) {
    for (size_t i = 0; i < n; ++i)
      if (values[first + i]->type != Type::scalar(op.operand(i)->type.dtype)) return false;
    return true;
  };
  if (body.args.size() != 2 * n || !fits(body.args, 0) || !fits(body.args, n))
    return "the region's arguments are not a left and a right scalar for each tile";
  if (body.yields().size() != n || !fits(body.yields(), 0))
    return "the region does not yield a scalar for each tile";
  for (const Op* inner : body.ops)
    if (inner->kind != OpKind::yield && !combines_elements(*inner))
      return fmt::format("{} cannot stand in its region", info(inner->kind).name);
  return "";
}

bool can_reshape(const Shape& from, const Shape& to) {
  // Shapes are walked from block to block; `elements` of the constants between.
  const auto next = [](const Shape& shape, size_t& at, int64_t& elements) {
    elements = 1;
    for (; at < shape.size() && !shape[at].is_block(); ++at)
      if (__builtin_mul_overflow(elements, shape[at].extent, &elements)) elements = -1;
    return at < shape.size() ? shape[at++].axis : -1;
  };
  for (size_t i = 0, j = 0;;) {
    int64_t x = 0, y = 0;
    const int a = next(from, i, x), b = next(to, j, y);
    if (a != b || x != y || x < 0) return false;
    if (a < 0) return true;
  }
}

}  // namespace tilewright::ir
