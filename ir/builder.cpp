#include "tilewright/ir/builder.h"

#include <algorithm>
#include <array>

#include "tilewright/ir/combine.h"
#include "tilewright/ir/error.h"

namespace tilewright::ir {
namespace {

void expect(bool ok, const Op& op, const char* what) {
  if (!ok) throw InternalError(fmt::format("operation {}: {}", info(op.kind).name, what));
}

std::optional<Type> infer_slice_value(const Op& op) {
  expect(op.operand(0)->type.kind == Type::Kind::slice, op, "operand must be a slice");
  if (op.kind == OpKind::slice_index) return Type::value(DType::i64, op.operand(0)->type.shape);
  return Type::scalar(DType::i64);
}

Shape shape_of_access(const Op& op, const AccessView& access) {
  expect(access.tensor->type.kind == Type::Kind::tensor, op, "operand must be a tensor");
  expect(static_cast<int>(access.indices.size()) == access.tensor->type.rank, op,
         "needs one index per dimension");
  Shape shape;
  const Value* tile = nullptr;
  for (const Value* index : access.indices) {
    if (index->type.kind == Type::Kind::slice) {
      shape.push_back(index->type.shape[0]);
      continue;
    }
    expect(index->type.is_value() && index->type.dtype == DType::i64, op,
           "an index is a slice, an i64 scalar or an i64 tile");
    if (!index->type.is_tile()) continue;
    if (tile == nullptr)
      shape.insert(shape.end(), index->type.shape.begin(), index->type.shape.end());
    else
      expect(index->type.shape == tile->type.shape, op, "index tiles differ in shape");
    if (tile == nullptr) tile = index;
  }
  return shape;
}

std::optional<Type> infer_memory(const Op& op) {
  const AccessView access(op);
  const Shape shape = shape_of_access(op, access);
  if (access.mask != nullptr)
    expect(access.mask->type == Type::value(DType::boolean, shape), op,
           "the mask is a bool tile of the indices' shape");
  if (op.kind == OpKind::load) return Type::value(access.tensor->type.dtype, shape);
  expect(access.value->type.shape == shape, op, "the value's shape is not the indices'");
  expect(access.value->type.dtype == access.tensor->type.dtype, op, "dtypes differ");
  if (access.expected != nullptr)
    expect(access.expected->type == access.value->type, op, "value and expected value differ");
  if (is_atomic(op.kind)) return access.value->type;
  return std::nullopt;
}

std::optional<Type> infer_elementwise(const Op& op) {
  const Type& x = op.operand(0)->type;
  expect(x.is_value(), op, "operand must be a tile or a scalar");
  for (const Value* operand : op.operands)
    expect(operand->type.shape == x.shape, op, "operands' shapes differ");
  if (op.kind == OpKind::select) {
    expect(x.dtype == DType::boolean, op, "condition must be bool");
    expect(op.operand(1)->type == op.operand(2)->type, op, "operands' types differ");
    return op.operand(1)->type;
  }
  for (const Value* operand : op.operands)
    expect(operand->type.dtype == x.dtype, op, "operands' dtypes differ");
  if (op.kind == OpKind::fma) return x;
  expect(accepts(op.fn(), x.dtype), op, "the function does not take this dtype");
  if (op.kind == OpKind::compare) return Type::value(DType::boolean, x.shape);
  return x;
}

std::optional<Type> infer_random(const Op& op) {
  const Type& x = op.operand(0)->type;
  expect(x.is_value() && x.dtype == DType::i64, op, "operands must be i64");
  for (const Value* operand : op.operands) expect(operand->type == x, op, "operands' types differ");
  return Type::value(DType::i32, x.shape);
}

std::optional<Type> infer_broadcast(const Op& op) {
  const Type& x = op.operand(0)->type;
  const Shape& shape = op.shape(AttrKey::shape);
  const auto& dims = op.integers(AttrKey::dims);
  expect(x.is_value() && dims.size() == x.shape.size(), op, "dims must name every dimension");
  for (size_t i = 0; i < dims.size(); ++i) {
    expect(dims[i] >= 0 && dims[i] < static_cast<int64_t>(shape.size()), op, "dims out of range");
    expect(i == 0 || dims[i - 1] < dims[i], op, "dims must increase");
    expect(x.shape[i] == shape[dims[i]] || x.shape[i] == Dim::constant(1), op,
           "a dimension is neither 1 nor the result's");
  }
  return Type::value(x.dtype, shape);
}

std::optional<Type> infer_permute(const Op& op) {
  const Type& x = op.operand(0)->type;
  const auto& dims = op.integers(AttrKey::dims);
  expect(dims.size() == x.shape.size(), op, "dims must be a permutation");
  Shape shape;
  for (int64_t d : dims) shape.push_back(x.shape.at(d));
  return x.kind == Type::Kind::shared ? Type::shared(x.dtype, shape) : Type::value(x.dtype, shape);
}

std::optional<Type> infer_reduce(const Op& op) {
  const Type& x = op.operand(0)->type;
  expect(is_monoid(op.fn()), op, "the function cannot reduce");
  const auto& axes = op.integers(AttrKey::axes);
  Shape shape;
  for (size_t i = 0; i < x.shape.size(); ++i)
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) == axes.end())
      shape.push_back(x.shape[i]);
  expect(shape.size() + axes.size() == x.shape.size(), op, "axes out of range or repeated");
  return Type::value(x.dtype, shape);
}

std::optional<Type> infer_join(const Op& op) {
  const std::string fault = join_fault(op);
  expect(fault.empty(), op, fault.c_str());
  Shape shape = op.operand(0)->type.shape;
  shape.insert(shape.begin() + op.integer(AttrKey::axis),
               Dim::constant(static_cast<int64_t>(op.operands.size())));
  return Type::value(op.operand(0)->type.dtype, shape);
}

std::optional<Type> infer_pick(const Op& op) {
  const std::string fault = pick_fault(op);
  expect(fault.empty(), op, fault.c_str());
  Shape shape = op.operand(0)->type.shape;
  shape.erase(shape.begin() + op.integer(AttrKey::axis));
  return Type::value(op.operand(0)->type.dtype, shape);
}

std::optional<Type> infer_dot(const Op& op) {
  const Type &a = op.operand(0)->type, &b = op.operand(1)->type, &acc = op.operand(2)->type;
  expect(a.shape.size() == 2 && b.shape.size() == 2 && acc.shape.size() == 2, op,
         "needs 2-d tiles");
  expect(a.shape[1] == b.shape[0] && acc.shape == Shape({a.shape[0], b.shape[1]}), op,
         "shapes do not fit");
  expect(a.dtype == b.dtype || (is_f8(a.dtype) && is_f8(b.dtype)), op, "operands' dtypes differ");
  return acc;
}

std::optional<Type> infer_ring(const Op& op) {
  const Type& type = op.operand(0)->type;
  expect(type.kind == Type::Kind::ring, op, "operand must be a ring");
  return Type::shared(type.dtype, type.shape);
}

std::optional<Type> infer_fetch(const Op& op) {
  const Type& x = op.operand(0)->type;
  expect(x.kind == Type::Kind::shared, op, "operand must be a shared tile");
  return Type::value(x.dtype, x.shape);
}

}  // namespace

std::optional<Type> infer_type(const Op& op) {
  switch (op.kind) {
    case OpKind::dim:
      expect(op.operand(0)->type.kind == Type::Kind::tensor, op, "operand must be a tensor");
      return Type::scalar(DType::i64);
    case OpKind::slice:
      return Type::slice(op.shape(AttrKey::dim).at(0));
    case OpKind::slice_begin:
    case OpKind::slice_end:
    case OpKind::slice_id:
    case OpKind::slice_index:
      return infer_slice_value(op);
    case OpKind::iota:
      return Type::value(DType::i64, op.shape(AttrKey::shape));
    case OpKind::load:
    case OpKind::store:
    case OpKind::copy:
    case OpKind::atomic:
    case OpKind::atomic_exchange:
    case OpKind::atomic_cas:
      return infer_memory(op);
    case OpKind::unary:
    case OpKind::binary:
    case OpKind::compare:
    case OpKind::fma:
    case OpKind::select:
      return infer_elementwise(op);
    case OpKind::random:
      return infer_random(op);
    case OpKind::broadcast:
      return infer_broadcast(op);
    case OpKind::permute:
      return infer_permute(op);
    case OpKind::reshape:
      return Type::value(op.operand(0)->type.dtype, op.shape(AttrKey::shape));
    case OpKind::convert:
      return op.operand(0)->type;
    case OpKind::join:
      return infer_join(op);
    case OpKind::pick:
      return infer_pick(op);
    case OpKind::reduce:
      return infer_reduce(op);
    case OpKind::dot:
      return infer_dot(op);
    case OpKind::ring_acquire:
    case OpKind::ring_read:
      return infer_ring(op);
    case OpKind::fetch:
      return infer_fetch(op);
    default:
      return std::nullopt;
  }
}

Op* Builder::create(OpKind kind, std::vector<const Value*> operands,
                    std::vector<std::pair<AttrKey, Attr>> attributes, const Type* type) {
  Op* op = fn_.new_op(kind, loc);
  op->operands = std::move(operands);
  op->attributes = std::move(attributes);
  op->parent = region_;
  for (int i = 0; i < info(kind).regions; ++i) {
    Region* region = fn_.new_region();
    region->parent = op;
    op->regions.push_back(region);
  }
  for (const Type& result : infer_results(*op).value_or(std::vector<Type>())) {
    Value* value = fn_.new_value(result);
    value->def = op;
    value->index = static_cast<int>(op->results.size());
    op->results.push_back(value);
  }
  std::optional<Type> inferred = infer_type(*op);
  if (type != nullptr && op->results.empty()) {
    internal_check(!inferred || *inferred == *type, "a given type is not the inferred one");
    inferred = *type;
  }
  if (inferred) {
    Value* value = fn_.new_value(*inferred);
    value->def = op;
    op->results.push_back(value);
  }
  region_->ops.push_back(op);
  return op;
}

const Value* Builder::add_argument(Region* region, Type type, std::string name) {
  Value* value = fn_.new_value(std::move(type));
  value->owner = region;
  value->index = static_cast<int>(region->args.size());
  value->name = std::move(name);
  region->args.push_back(value);
  return value;
}

const Value* Builder::constant(DType dtype, int64_t value) {
  if (is_float(dtype)) return constant(dtype, static_cast<double>(value));
  const Type type = Type::scalar(dtype);
  return create(OpKind::constant, {}, {{AttrKey::value, value}}, &type)->result();
}

const Value* Builder::constant(DType dtype, double value) {
  internal_check(is_float(dtype), "a float constant of an integer dtype");
  const Type type = Type::scalar(dtype);
  return create(OpKind::constant, {}, {{AttrKey::value, value}}, &type)->result();
}

const Value* Builder::dim(const Value* tensor, int axis) {
  return create(OpKind::dim, {tensor}, {{AttrKey::axis, int64_t{axis}}})->result();
}

const Value* Builder::slice(const Value* begin, const Value* limit, Dim dim) {
  return create(OpKind::slice, {begin, limit}, {{AttrKey::dim, Shape{dim}}})->result();
}

const Value* Builder::slice_begin(const Value* slice) {
  return create(OpKind::slice_begin, {slice})->result();
}

const Value* Builder::slice_end(const Value* slice) {
  return create(OpKind::slice_end, {slice})->result();
}

const Value* Builder::slice_id(const Value* slice) {
  return create(OpKind::slice_id, {slice})->result();
}

const Value* Builder::slice_index(const Value* slice) {
  return create(OpKind::slice_index, {slice})->result();
}

const Value* Builder::iota(Dim dim) {
  return create(OpKind::iota, {}, {{AttrKey::shape, Shape{dim}}})->result();
}

const Value* Builder::unary(Fn fn, const Value* x) {
  return create(OpKind::unary, {x}, {{AttrKey::fn, fn}})->result();
}

const Value* Builder::binary(Fn fn, const Value* x, const Value* y) {
  return create(OpKind::binary, {x, y}, {{AttrKey::fn, fn}})->result();
}

const Value* Builder::compare(Fn fn, const Value* x, const Value* y) {
  return create(OpKind::compare, {x, y}, {{AttrKey::fn, fn}})->result();
}

const Value* Builder::fma(const Value* x, const Value* y, const Value* z) {
  return create(OpKind::fma, {x, y, z})->result();
}

const Value* Builder::select(const Value* condition, const Value* x, const Value* y) {
  return create(OpKind::select, {condition, x, y})->result();
}

const Value* Builder::cast(const Value* x, DType dtype) {
  if (x->type.dtype == dtype) return x;
  const Type type = Type::value(dtype, x->type.shape);
  return create(OpKind::cast, {x}, {}, &type)->result();
}

const Value* Builder::broadcast(const Value* x, Shape shape, std::vector<int64_t> dims) {
  if (x->type.shape == shape) return x;
  return create(OpKind::broadcast, {x},
                {{AttrKey::shape, std::move(shape)}, {AttrKey::dims, std::move(dims)}})
      ->result();
}

const Value* Builder::permute(const Value* x, std::vector<int64_t> dims) {
  return create(OpKind::permute, {x}, {{AttrKey::dims, std::move(dims)}})->result();
}

const Value* Builder::reshape(const Value* x, Shape shape) {
  return create(OpKind::reshape, {x}, {{AttrKey::shape, std::move(shape)}})->result();
}

const Value* Builder::join(const std::vector<const Value*>& x, int64_t axis) {
  return create(OpKind::join, x, {{AttrKey::axis, axis}})->result();
}

const Value* Builder::pick(const Value* x, int64_t axis, int64_t position) {
  return create(OpKind::pick, {x}, {{AttrKey::axis, axis}, {AttrKey::position, position}})
      ->result();
}

const Value* Builder::convert(const Value* x) { return create(OpKind::convert, {x})->result(); }

const Value* Builder::reduce(Fn fn, const Value* x, std::vector<int64_t> axes) {
  return create(OpKind::reduce, {x}, {{AttrKey::fn, fn}, {AttrKey::axes, std::move(axes)}})
      ->result();
}

const Value* Builder::dot(const Value* a, const Value* b, const Value* acc,
                          DotPrecision precision) {
  std::vector<std::pair<AttrKey, Attr>> attributes;
  if (precision != DotPrecision::ieee)
    attributes.push_back({AttrKey::precision, std::string(to_string(precision))});
  return create(OpKind::dot, {a, b, acc}, std::move(attributes))->result();
}

Op* Builder::tile_loop(std::vector<int64_t> axes, bool parallel, std::vector<const Value*> begins,
                       std::vector<const Value*> limits, std::vector<const Value*> inits) {
  std::vector<const Value*> operands = std::move(begins);
  operands.insert(operands.end(), limits.begin(), limits.end());
  operands.insert(operands.end(), inits.begin(), inits.end());
  Op* op = create(OpKind::tile_loop, std::move(operands),
                  {{AttrKey::axes, axes}, {AttrKey::parallel, int64_t{parallel}}});
  Region* body = region_of(op, 0);
  for (int64_t axis : axes)
    add_argument(body, Type::slice(Dim::block(static_cast<int>(axis))), fn_.axes.at(axis).name);
  for (const Value* init : inits) {
    add_argument(body, init->type, init->name);
    Value* result = fn_.new_value(init->type);
    result->def = op;
    result->index = static_cast<int>(op->results.size());
    result->name = init->name;
    op->results.push_back(result);
  }
  return op;
}

Op* Builder::if_else(const Value* condition, std::vector<Type> results) {
  Op* op = create(OpKind::if_else, {condition});
  for (Type& type : results) {
    Value* result = fn_.new_value(std::move(type));
    result->def = op;
    result->index = static_cast<int>(op->results.size());
    op->results.push_back(result);
  }
  return op;
}

Op* Builder::while_loop(const Value* condition, std::vector<const Value*> inits) {
  std::vector<const Value*> operands{condition};
  operands.insert(operands.end(), inits.begin(), inits.end());
  Op* op = create(OpKind::while_loop, std::move(operands));
  for (const Value* init : inits) {
    add_argument(region_of(op, 0), init->type, init->name);
    Value* result = fn_.new_value(init->type);
    result->def = op;
    result->index = static_cast<int>(op->results.size());
    result->name = init->name;
    op->results.push_back(result);
  }
  return op;
}

const Op* Builder::yield(std::vector<const Value*> values) {
  return create(OpKind::yield, std::move(values));
}

LoopView::LoopView(const Op& loop) : body(loop.regions.at(0)), fill(loop.regions.at(1)) {
  const size_t n = loop.integers(AttrKey::axes).size();
  const auto at = loop.operands.begin();
  begins.assign(at, at + n);
  limits.assign(at + n, at + 2 * n);
  inits.assign(at + 2 * n, loop.operands.end());
  slices.assign(body->args.begin(), body->args.begin() + n);
  carried.assign(body->args.begin() + n, body->args.end());
}

WhileView::WhileView(const Op& loop)
    : condition(loop.operand(0)),
      again(nullptr),
      inits(loop.operands.begin() + 1, loop.operands.end()),
      carried(loop.regions.at(0)->args),
      body(loop.regions.at(0)) {
  const auto& yields = body->yields();
  if (yields.empty()) return;  // being built
  again = yields.front();
  next.assign(yields.begin() + 1, yields.end());
}

Rewriter::Rewriter(const Function& source, const Rule& rule)
    : source_(source), rule_(rule), builder_(target_) {
  target_.name = source.name;
  target_.loc = source.loc;
  target_.axes = source.axes;
  target_.tunables = source.tunables;
  target_.results = source.results;
  target_.checks = source.checks;
  for (const Param& param : source.params) {
    Value* value = target_.new_value(param.value->type);
    value->name = param.value->name;
    value->index = static_cast<int>(target_.params.size());
    Param copy = param;
    copy.value = value;
    target_.params.push_back(std::move(copy));
    map_[param.value] = value;
  }
}

Function Rewriter::run(const Function& source, const Rule& rule,
                       const std::function<void(const Map&)>& finish) {
  Rewriter rewriter(source, rule);
  rewriter.clone_ops(source.body());
  if (finish) finish(rewriter.map_);
  return std::move(rewriter.target_);
}

const Value* Rewriter::operator()(const Value* value) const {
  auto found = map_.find(value);
  internal_check(found != map_.end(), "a rewrite used a value before it was made");
  return found->second;
}

std::vector<const Value*> Rewriter::operator()(const std::vector<const Value*>& values) const {
  std::vector<const Value*> result;
  for (const Value* value : values) result.push_back((*this)(value));
  return result;
}

void Rewriter::replace(const Value* value, const Value* with) {
  if (with->name.empty() && with->def != nullptr) const_cast<Value*>(with)->name = value->name;
  map_[value] = with;
}

Op* Rewriter::clone(const Op& op) {
  builder_.loc = op.loc;
  Op* copy = target_.new_op(op.kind, op.loc);
  copy->operands = (*this)(op.operands);
  copy->attributes = op.attributes;
  copy->parent = builder_.region();
  for (const Value* result : op.results) {
    Value* value = target_.new_value(result->type);
    value->def = copy;
    value->index = result->index;
    value->name = result->name;
    copy->results.push_back(value);
    map_[result] = value;
  }
  for (const Region* region : op.regions) {
    Region* to = target_.new_region();
    to->parent = copy;
    copy->regions.push_back(to);
    clone_region(*region, to);
  }
  builder_.region()->ops.push_back(copy);
  return copy;
}

void Rewriter::clone_ops(const Region& from) {
  for (const Op* op : from.ops) {
    builder_.loc = op->loc;
    if (!rule_(*this, *op)) clone(*op);
  }
}

void Rewriter::clone_region(const Region& from, Region* to) {
  for (const Value* arg : from.args) map_[arg] = builder_.add_argument(to, arg->type, arg->name);
  Builder::Scope scope(builder_, to);
  clone_ops(from);
}

std::unordered_map<const Value*, int> count_uses(const Function& fn) {
  std::unordered_map<const Value*, int> uses;
  for_each_op(fn.body(), [&](const Op& op) {
    for (const Value* operand : op.operands) ++uses[operand];
  });
  return uses;
}

}  // namespace tilewright::ir
