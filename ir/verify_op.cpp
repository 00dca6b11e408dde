#include "tilewright/ir/verify_op.h"

#include <algorithm>

#include "tilewright/ir/builder.h"
#include "tilewright/ir/error.h"
#include "tilewright/ir/opspec.h"

namespace tilewright::ir {
namespace {

using Kind = Type::Kind;

bool increasing(const std::vector<int64_t>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::greater_equal<>()) == values.end();
}

/// Whether `values` are distinct, in order, and in [0, count).
bool are_positions(const std::vector<int64_t>& values, size_t count) {
  return increasing(values) &&
         (values.empty() || (values.front() >= 0 && values.back() < static_cast<int64_t>(count)));
}

std::string shape_fault(const Function& fn, const Shape& shape) {
  for (const Dim& dim : shape) {
    if (dim.axis >= static_cast<int>(fn.axes.size()))
      return fmt::format("{} names no axis of the function", to_string(dim));
    if (!dim.is_block() && dim.extent < 0) return "a dimension is negative";
  }
  return "";
}

std::string attributes_fault(const Function& fn, const Op& op) {
  const OpSpec& spec = spec_of(op.kind);
  auto expected = spec.attributes.begin();
  for (const auto& [key, value] : op.attributes) {
    if (spec.find(key) == nullptr) return fmt::format("has no attribute {}", to_string(key));
    for (; expected != spec.attributes.end() && expected->key != key; ++expected)
      if (!expected->optional) break;
    if (expected == spec.attributes.end() || expected->key != key)
      return fmt::format("attribute {} is repeated, out of order, or follows a missing one",
                         to_string(key));
    ++expected;
    if (!holds(type_of(key), value))
      return fmt::format("attribute {} is of the wrong type", to_string(key));
    if (type_of(key) == AttrType::shape) {
      if (std::string fault = shape_fault(fn, std::get<Shape>(value)); !fault.empty()) return fault;
    }
  }
  for (; expected != spec.attributes.end(); ++expected)
    if (!expected->optional) return fmt::format("needs attribute {}", to_string(expected->key));
  return "";
}

bool is_value(const Type& type) { return type.is_value(); }
bool is_value_or_shared(const Type& type) { return type.is_value() || type.kind == Kind::shared; }
bool is_tensor(const Type& type) { return type.kind == Kind::tensor; }
bool is_slice(const Type& type) { return type.kind == Kind::slice; }
bool is_ring(const Type& type) { return type.kind == Kind::ring; }
bool is_shared(const Type& type) { return type.kind == Kind::shared; }
bool is_position(const Type& type) { return type == Type::scalar(DType::i64); }
bool is_index(const Type& type) { return is_slice(type) || is_position(type); }
bool is_condition(const Type& type) { return type.is_value() && type.dtype == DType::boolean; }

/// What an operand may be, by its name in ops.def; those not listed are values.
struct OperandRule {
  std::string_view name;
  bool (*accepts)(const Type&);
  std::string_view expected;
};

constexpr OperandRule kOperandRules[] = {
    {"tensor", is_tensor, "a tensor"},
    {"slice", is_slice, "a slice"},
    {"ring", is_ring, "a ring"},
    {"slot", is_shared, "a slot of a ring"},
    {"shared", is_shared, "a shared tile"},
    {"index", is_index, "a slice or an i64 scalar"},
    {"begin", is_position, "an i64 scalar"},
    {"limit", is_position, "an i64 scalar"},
    {"condition", is_condition, "a bool"},
    {"a", is_value_or_shared, "a tile"},
    {"b", is_value_or_shared, "a tile"},
};

constexpr OperandRule kValueRule = {"", is_value, "a tile or a scalar"};
// What is transposed or converted on the way to a dot is a view of shared memory once place has put
// it there.
constexpr OperandRule kReadRule = {"", is_value_or_shared, "a tile"};

const OperandRule& rule_for(OpKind kind, std::string_view operand) {
  for (const OperandRule& rule : kOperandRules)
    if (rule.name == operand) return rule;
  const bool views = kind == OpKind::permute || kind == OpKind::convert || kind == OpKind::cast;
  return views ? kReadRule : kValueRule;
}

std::string operands_fault(const Op& op) {
  for (const Value* operand : op.operands)
    if (operand == nullptr) return "an operand is missing";
  const auto named = named_operands(op);
  if (named.size() != op.operands.size() || (named.empty() && !spec_of(op.kind).operands.empty() &&
                                             !spec_of(op.kind).operands.front().variadic))
    return fmt::format("takes the operands '{}', has {}", info(op.kind).operands,
                       op.operands.size());
  for (const auto& [spec, value] : named) {
    const OperandRule& rule = rule_for(op.kind, spec->name);
    if (!rule.accepts(value->type))
      return fmt::format("operand {} must be {}, is {}", spec->name, rule.expected,
                         to_string(value->type));
  }
  return "";
}

std::string check_dim(const Function&, const Op& op) {
  const int64_t axis = op.integer(AttrKey::axis);
  return axis >= 0 && axis < op.operand(0)->type.rank ? "" : "axis is not one of the tensor's";
}

std::string check_slice(const Function&, const Op& op) {
  return op.shape(AttrKey::dim).size() == 1 ? "" : "dim must be one dimension";
}

std::string check_iota(const Function&, const Op& op) {
  return op.shape(AttrKey::shape).size() == 1 ? "" : "shape must be one dimension";
}

std::string check_access(const Function&, const Op& op) {
  if (!op.has(AttrKey::guard)) return "";
  const AccessView access(op);
  const auto& guard = op.integers(AttrKey::guard);
  if (!are_positions(guard, access.indices.size()))
    return "guard must name index positions, in order";
  return "";
}

std::string check_function(const Function&, const Op& op) {
  const FnKind kind = info(op.fn()).kind;
  const OpKind takes = kind == FnKind::unary    ? OpKind::unary
                       : kind == FnKind::binary ? OpKind::binary
                                                : OpKind::compare;
  return op.kind == takes ? "" : fmt::format("{} is no such function", info(op.fn()).name);
}

std::string check_fma(const Function&, const Op& op) {
  return is_float(op.operand(0)->type.dtype) ? "" : "takes floating-point operands";
}

std::string check_permute(const Function&, const Op& op) {
  std::vector<int64_t> dims = op.integers(AttrKey::dims);
  std::sort(dims.begin(), dims.end());
  const size_t rank = op.operand(0)->type.shape.size();
  return dims.size() == rank && are_positions(dims, rank) ? "" : "dims must be a permutation";
}

/// The number of elements of a shape of constants; -1 when it has block dimensions or overflows.
int64_t elements(const Shape& shape) {
  int64_t count = 1;
  for (const Dim& dim : shape)
    if (dim.is_block() || __builtin_mul_overflow(count, dim.extent, &count)) return -1;
  return count;
}

std::string check_reshape(const Function&, const Op& op) {
  const int64_t from = elements(op.operand(0)->type.shape);
  const int64_t to = elements(op.shape(AttrKey::shape));
  return from >= 0 && from == to ? "" : "needs constant shapes of equally many elements";
}

std::string check_reduce(const Function&, const Op& op) {
  const Type& x = op.operand(0)->type;
  if (!is_monoid(op.fn())) return fmt::format("{} cannot reduce", info(op.fn()).name);
  if (!accepts(op.fn(), x.dtype)) return "the function does not take this dtype";
  const auto& axes = op.integers(AttrKey::axes);
  if (!are_positions(axes, x.shape.size())) return "axes must name dimensions, in order";
  if (!op.has(AttrKey::guard)) return "";
  const auto& guard = op.integers(AttrKey::guard);
  const bool within =
      increasing(guard) && std::includes(axes.begin(), axes.end(), guard.begin(), guard.end());
  return within ? "" : "guard must name reduced axes, in order";
}

std::string check_dot(const Function&, const Op& op) {
  const DType in = op.operand(0)->type.dtype, acc = op.operand(2)->type.dtype;
  if (in == DType::boolean || acc == DType::boolean) return "takes numbers";
  if (is_float(in) != is_float(acc)) return "operands and accumulator mix integers and floats";
  if (op.has(AttrKey::guard) && !op.integers(AttrKey::guard).empty())
    return "guard must be [] when present";
  if (!op.has(AttrKey::precision)) return "";
  const auto precision = find_precision(std::get<std::string>(*op.find(AttrKey::precision)));
  if (!precision || *precision == DotPrecision::ieee)
    return "precision must be tf32, tf32x3 or two_level when present";
  return takes_precision(*precision, in, op.operand(1)->type.dtype)
             ? ""
             : "precision does not fit the operands' dtype";
}

std::string check_loop(const Function& fn, const Op& op) {
  std::vector<int64_t> axes = op.integers(AttrKey::axes);
  std::sort(axes.begin(), axes.end());
  if (axes.empty() || !are_positions(axes, fn.axes.size()))
    return "axes must be distinct axes of the function";
  const int64_t parallel = op.integer(AttrKey::parallel);
  if (parallel != 0 && parallel != 1) return "parallel must be 0 or 1";
  if (parallel == 1 && op.operands.size() > 2 * axes.size())
    return "a parallel loop carries no values";
  if (op.integer_or(AttrKey::group, 1) < 1) return "group must be positive";
  return op.integer_or(AttrKey::ahead, 0) >= 0 ? "" : "ahead must not be negative";
}

std::string check_if(const Function&, const Op& op) {
  return op.operand(0)->type.is_scalar() ? "" : "condition must be a scalar";
}

std::string check_ring(const Function&, const Op& op) {
  return op.integer(AttrKey::stages) >= 1 ? "" : "stages must be positive";
}

std::string check_stage(const Function&, const Op& op) {
  const Type &slot = op.operand(0)->type, &value = op.operand(1)->type;
  return slot.dtype == value.dtype && slot.shape == value.shape ? "" : "slot and value differ";
}

std::string check_wait(const Function&, const Op& op) {
  return op.integer(AttrKey::pending) >= 0 ? "" : "pending must not be negative";
}

struct OpCheck {
  OpKind kind;
  std::string (*check)(const Function&, const Op&);
};

constexpr OpCheck kOpChecks[] = {
    {OpKind::unary, check_function},   {OpKind::binary, check_function},
    {OpKind::compare, check_function}, {OpKind::dim, check_dim},
    {OpKind::slice, check_slice},      {OpKind::iota, check_iota},
    {OpKind::load, check_access},      {OpKind::store, check_access},
    {OpKind::copy, check_access},      {OpKind::fma, check_fma},
    {OpKind::permute, check_permute},  {OpKind::reshape, check_reshape},
    {OpKind::reduce, check_reduce},    {OpKind::dot, check_dot},
    {OpKind::tile_loop, check_loop},   {OpKind::if_else, check_if},
    {OpKind::ring, check_ring},        {OpKind::stage, check_stage},
    {OpKind::ring_wait, check_wait},
};

/// Runs infer_type for its complaint.
std::string inference_fault(const Op& op) {
  try {
    infer_type(op);
    return "";
  } catch (const InternalError& error) {
    // The complaint starts with the operation, which the caller names too.
    const std::string prefix = fmt::format("operation {}: ", info(op.kind).name);
    const std::string& message = error.message();
    return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
  }
}

/// The result's type where infer_type leaves it to the operation's maker; what is wrong with it.
std::string given_type_fault(const Op& op, const Type& type) {
  if (op.kind == OpKind::constant) {
    const bool is_real = std::holds_alternative<double>(*op.find(AttrKey::value));
    if (!type.is_scalar()) return "is a scalar";
    return is_real == is_float(type.dtype) ? "" : "value and dtype do not agree";
  }
  if (op.kind == OpKind::cast) {
    const Type& from = op.operand(0)->type;
    return type.kind == from.kind && type.shape == from.shape ? "" : "changes the shape";
  }
  if (type == Type::ring(type.dtype, op.shape(AttrKey::shape),
                         static_cast<int>(op.integer(AttrKey::stages))))
    return "";
  return "the type does not repeat shape and stages";
}

bool gives_its_type(OpKind kind) {
  return kind == OpKind::constant || kind == OpKind::cast || kind == OpKind::ring;
}

}  // namespace

std::string form_fault(const Function& fn, const Op& op) {
  if (std::string fault = attributes_fault(fn, op); !fault.empty()) return fault;
  if (std::string fault = operands_fault(op); !fault.empty()) return fault;
  for (const OpCheck& entry : kOpChecks)
    if (entry.kind == op.kind)
      if (std::string fault = entry.check(fn, op); !fault.empty()) return fault;
  return inference_fault(op);
}

std::string type_fault(const Function& fn, const Type& type) {
  const size_t rank = type.shape.size();
  if (type.kind == Kind::slice && rank != 1) return "a slice has one dimension";
  return shape_fault(fn, type.shape);
}

std::string result_fault(const Function& fn, const Op& op) {
  for (const Value* result : op.results)
    if (std::string fault = type_fault(fn, result->type); !fault.empty()) return fault;
  if (op.kind == OpKind::tile_loop) {
    const size_t inits = op.operands.size() - 2 * op.integers(AttrKey::axes).size();
    return op.results.size() == inits ? "" : "needs one result per carried value";
  }
  if (op.kind == OpKind::if_else) {
    for (const Value* result : op.results)
      if (!result->type.is_value()) return "results must be values";
    return "";
  }
  const std::optional<Type> inferred = infer_type(op);
  const size_t expected = inferred || gives_its_type(op.kind) ? 1 : 0;
  if (op.results.size() != expected)
    return fmt::format("has {} results, not {}", expected, op.results.size());
  if (inferred && op.result()->type != *inferred)
    return fmt::format("the result is {}, not {}", to_string(*inferred),
                       to_string(op.result()->type));
  return gives_its_type(op.kind) ? given_type_fault(op, op.result()->type) : "";
}

}  // namespace tilewright::ir
