// ops.def and attributes.def taken apart: what the printer, the parser and the verifier go by.
#pragma once

#include <string_view>
#include <vector>

#include "tilewright/ir/node.h"

namespace tilewright::ir {

/// The type column of attributes.def.
enum class AttrType : uint8_t { number, integer, shape, fn, integers, text };

AttrType type_of(AttrKey key);
/// Whether the text form gives the attribute bare after the operation's name ("binary add"), and
/// not in braces: functions and numbers.
bool stands_after_name(AttrKey key);
/// Whether `attr` holds the alternative that `type` asks for.
bool holds(AttrType type, const Attr& attr);

struct OperandSpec {
  std::string_view name;
  bool variadic = false;  ///< takes any number
};

struct AttributeSpec {
  AttrKey key;
  bool optional = false;
};

/// One operation of ops.def.
struct OpSpec {
  std::vector<OperandSpec> operands;
  std::vector<AttributeSpec> attributes;

  int variadic_operands() const;
  const AttributeSpec* find(AttrKey key) const;
};

const OpSpec& spec_of(OpKind kind);

/// Whether each element of the result is computed from the operands' elements at its own place.
bool is_elementwise(OpKind kind);

/// The operands of `op`, each with the entry of ops.def it belongs to. Several variadic entries
/// share the operands thus: all but the last take one per tile axis (attribute `axes`), the last
/// takes the rest. Empty when the operands do not fit.
struct NamedOperand {
  const OperandSpec* spec;
  const Value* value;
};
std::vector<NamedOperand> named_operands(const Op& op);

}  // namespace tilewright::ir
