#include "tilewright/ir/opspec.h"

#include <algorithm>

#include "tilewright/ir/error.h"

namespace tilewright::ir {
namespace {

constexpr AttrType kAttrTypes[] = {
#define TW_ATTR(name, type) AttrType::type,
#include "tilewright/ir/attributes.def"
#undef TW_ATTR
};

constexpr int kOpCount = 0
#define TW_OP(name, operands, attributes, regions, effect) +1
#include "tilewright/ir/ops.def"
#undef TW_OP
    ;

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> result;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (end > 0) result.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

/// Removes the mark from the end of `word`; whether it was there.
bool take_mark(std::string_view& word, char mark) {
  if (!word.ends_with(mark)) return false;
  word.remove_suffix(1);
  return true;
}

OpSpec make_spec(OpKind kind) {
  OpSpec spec;
  for (std::string_view word : words(info(kind).operands)) {
    const bool variadic = take_mark(word, '*');
    spec.operands.push_back({word, variadic});
  }
  for (std::string_view word : words(info(kind).attributes)) {
    const bool optional = take_mark(word, '?');
    const auto key = find_attribute(word);
    internal_check(key.has_value(), "ops.def names an attribute that attributes.def lacks");
    spec.attributes.push_back({*key, optional});
  }
  return spec;
}

}  // namespace

AttrType type_of(AttrKey key) { return kAttrTypes[static_cast<int>(key)]; }

bool stands_after_name(AttrKey key) {
  return type_of(key) == AttrType::fn || type_of(key) == AttrType::number;
}

bool holds(AttrType type, const Attr& attr) {
  switch (type) {
    case AttrType::number:
      return std::holds_alternative<int64_t>(attr) || std::holds_alternative<double>(attr);
    case AttrType::integer:
      return std::holds_alternative<int64_t>(attr);
    case AttrType::shape:
      return std::holds_alternative<Shape>(attr);
    case AttrType::fn:
      return std::holds_alternative<Fn>(attr);
    case AttrType::integers:
      return std::holds_alternative<std::vector<int64_t>>(attr);
    case AttrType::text:
      return std::holds_alternative<std::string>(attr);
  }
  return false;
}

int OpSpec::variadic_operands() const {
  return static_cast<int>(
      std::count_if(operands.begin(), operands.end(),
                    [](const OperandSpec& operand) { return operand.variadic; }));
}

const AttributeSpec* OpSpec::find(AttrKey key) const {
  for (const AttributeSpec& attribute : attributes)
    if (attribute.key == key) return &attribute;
  return nullptr;
}

bool is_elementwise(OpKind kind) {
  switch (kind) {
    case OpKind::unary:
    case OpKind::binary:
    case OpKind::fma:
    case OpKind::compare:
    case OpKind::select:
    case OpKind::cast:
    case OpKind::random:
    case OpKind::inline_ptx:
      return true;
    default:
      return false;
  }
}

const OpSpec& spec_of(OpKind kind) {
  static const std::vector<OpSpec> specs = [] {
    std::vector<OpSpec> all;
    for (int i = 0; i < kOpCount; ++i) all.push_back(make_spec(static_cast<OpKind>(i)));
    return all;
  }();
  return specs[static_cast<int>(kind)];
}

std::vector<NamedOperand> named_operands(const Op& op) {
  const OpSpec& spec = spec_of(op.kind);
  const Attr* axes = op.find(AttrKey::axes);
  const bool has_axes = axes != nullptr && holds(AttrType::integers, *axes);
  int variadic_left = spec.variadic_operands();
  size_t fixed_left = spec.operands.size() - variadic_left;
  std::vector<NamedOperand> result;
  size_t at = 0;
  for (const OperandSpec& operand : spec.operands) {
    size_t count = 1;
    if (!operand.variadic) {
      --fixed_left;
    } else if (--variadic_left > 0) {
      if (!has_axes) return {};
      count = std::get<std::vector<int64_t>>(*axes).size();
    } else {
      const size_t left = op.operands.size() - std::min(at, op.operands.size());
      if (left < fixed_left) return {};
      count = left - fixed_left;
    }
    if (at + count > op.operands.size()) return {};
    for (size_t i = 0; i < count; ++i) result.push_back({&operand, op.operands[at++]});
  }
  if (at != op.operands.size()) return {};
  return result;
}

}  // namespace tilewright::ir
