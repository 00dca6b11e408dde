#include "tilewright/ir/verify_op.h"

#include <algorithm>

#include "tilewright/ir/builder.h"
#include "tilewright/ir/combine.h"
#include "tilewright/ir/error.h"
#include "tilewright/ir/opspec.h"
#include "tilewright/ir/print_format.h"

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
/// The mask that may follow the indices is looked at with the access.
bool is_index(const Type& type) {
  return is_slice(type) || (type.is_value() && type.dtype == DType::i64) ||
         (type.is_value() && type.dtype == DType::boolean);
}
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
    {"index", is_index, "a slice, an i64 scalar or an i64 tile"},
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

bool is_one_of(const Op& op, AttrKey key, std::initializer_list<std::string_view> words) {
  const Attr* text = op.find(key);
  return text == nullptr ||
         std::find(words.begin(), words.end(), std::get<std::string>(*text)) != words.end();
}

std::string check_access(const Function&, const Op& op) {
  const AccessView access(op);
  if (op.integer_or(AttrKey::masked, 1) != 1) return "masked must be 1 when present";
  if (op.has(AttrKey::masked) && access.mask == nullptr) return "needs a mask";
  if (!is_one_of(op, AttrKey::evict, {"first", "last"})) return "evict must be first or last";
  if (!op.has(AttrKey::guard)) return "";
  const auto& guard = op.integers(AttrKey::guard);
  if (!are_positions(guard, access.indices.size()))
    return "guard must name index positions, in order";
  return "";
}

std::string check_atomic(const Function& fn, const Op& op) {
  if (std::string fault = check_access(fn, op); !fault.empty()) return fault;
  if (!is_one_of(op, AttrKey::order, {"acquire", "release", "acq_rel"}))
    return "order must be acquire, release or acq_rel when present";
  const DType dtype = AccessView(op).tensor->type.dtype;
  if (!has_atomics(dtype)) return "the dtype has no atomic operations";
  if (op.kind != OpKind::atomic) return "";
  return has_atomic(op.fn(), dtype) ? "" : "no atomic operation of this function and dtype";
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

std::string check_reshape(const Function&, const Op& op) {
  return can_reshape(op.operand(0)->type.shape, op.shape(AttrKey::shape))
             ? ""
             : "needs the same blocks, and as many elements between them";
}

std::string check_combine(const Function&, const Op& op) { return combine_fault(op); }
std::string check_scan(const Function&, const Op& op) { return scan_fault(op); }
std::string check_sort(const Function&, const Op& op) { return sort_fault(op); }
std::string check_join(const Function&, const Op& op) { return join_fault(op); }
std::string check_pick(const Function&, const Op& op) { return pick_fault(op); }

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

std::string check_while(const Function&, const Op& op) {
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

std::string check_random(const Function&, const Op& op) {
  const int64_t word = op.integer(AttrKey::word);
  return word >= 0 && word < 4 ? "" : "word must be 0 to 3";
}

/// What is wrong where operands are not of one shape.
std::string one_shape_fault(const Op& op) {
  for (const Value* operand : op.operands)
    if (operand->type.shape != op.operand(0)->type.shape) return "operands' shapes differ";
  return "";
}

std::string check_print(const Function&, const Op& op) {
  const PrintFormat format = parse_print_format(std::get<std::string>(*op.find(AttrKey::format)));
  if (!format.fault.empty()) return format.fault;
  if (format.values() + 1 != op.operands.size())
    return fmt::format("the format is of {} values, found {}", format.values(),
                       op.operands.size() - 1);
  return one_shape_fault(op);
}

std::string check_ptx(const Function&, const Op& op) {
  return op.operands.empty() ? "takes at least one value" : one_shape_fault(op);
}

struct OpCheck {
  OpKind kind;
  std::string (*check)(const Function&, const Op&);
};

constexpr OpCheck kOpChecks[] = {
    {OpKind::unary, check_function},    {OpKind::binary, check_function},
    {OpKind::compare, check_function},  {OpKind::dim, check_dim},
    {OpKind::slice, check_slice},       {OpKind::iota, check_iota},
    {OpKind::load, check_access},       {OpKind::store, check_access},
    {OpKind::copy, check_access},       {OpKind::atomic, check_atomic},
    {OpKind::atomic_cas, check_atomic}, {OpKind::atomic_exchange, check_atomic},
    {OpKind::fma, check_fma},           {OpKind::permute, check_permute},
    {OpKind::reshape, check_reshape},   {OpKind::reduce, check_reduce},
    {OpKind::combine, check_combine},   {OpKind::scan, check_scan},
    {OpKind::sort, check_sort},         {OpKind::join, check_join},
    {OpKind::pick, check_pick},         {OpKind::dot, check_dot},
    {OpKind::tile_loop, check_loop},    {OpKind::if_else, check_if},
    {OpKind::ring, check_ring},         {OpKind::stage, check_stage},
    {OpKind::ring_wait, check_wait},    {OpKind::random, check_random},
    {OpKind::print, check_print},       {OpKind::inline_ptx, check_ptx},
    {OpKind::while_loop, check_while},
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
  if (op.kind == OpKind::inline_ptx)
    return type.is_value() && type.shape == op.operand(0)->type.shape ? "" : "changes the shape";
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
  return kind == OpKind::constant || kind == OpKind::cast || kind == OpKind::ring ||
         kind == OpKind::inline_ptx;
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
  if (op.kind == OpKind::while_loop)
    return op.results.size() + 1 == op.operands.size() ? "" : "needs one result per carried value";
  if (op.kind == OpKind::if_else) {
    for (const Value* result : op.results)
      if (!result->type.is_value()) return "results must be values";
    return "";
  }
  if (const auto several = infer_results(op)) {
    if (op.results.size() != several->size())
      return fmt::format("has {} results, not {}", several->size(), op.results.size());
    for (size_t i = 0; i < several->size(); ++i)
      if (op.results[i]->type != (*several)[i])
        return fmt::format("result {} is {}, not {}", i, to_string((*several)[i]),
                           to_string(op.results[i]->type));
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
