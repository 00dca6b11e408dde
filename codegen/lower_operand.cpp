// Operands that products take from registers, as the words that instructions want.
#include <optional>

#include "tilewright/codegen/byte_fields.h"
#include "tilewright/codegen/function_exprs.h"
#include "tilewright/codegen/lowering.h"
#include "tilewright/codegen/prelude.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using ir::Value;

/// The argument of a call of `function`; null for other expressions.
ExprRef argument_of(const ExprRef& x, const std::string& function) {
  return x->kind == Expr::Kind::call && x->text == function ? x->args.at(0) : nullptr;
}

/// Neighbours along k in one word.
ExprRef word_of(std::vector<ExprRef> elements, DType dtype) {
  // Two floats are rounded and packed by one instruction.
  if (dtype == DType::bf16 || dtype == DType::f16) {
    const std::string rounds = fmt::format("tw::to_{}", to_string(dtype));
    const ExprRef low = argument_of(elements[0], rounds), high = argument_of(elements[1], rounds);
    if (low && high) return call(fmt::format("tw::pack<{}>", cuda_type(dtype)), {low, high});
  }
  return call("tw::word", std::move(elements));
}

/// A tile of 16-bit floats converted from parts of bytes that are in registers.
std::optional<ByteField> converted_field(const Lowering& lowering, const Value* operand) {
  const Value* value = operand;
  std::vector<int> axis = {0, 1};
  while (!lowering.arrays.contains(value) && value->def->kind == ir::OpKind::permute) {
    const auto& dims = value->def->integers(ir::AttrKey::dims);
    for (int& a : axis) a = static_cast<int>(dims.at(a));
    value = value->def->operand(0);
  }
  if (lowering.arrays.contains(value) || value->def->kind != ir::OpKind::cast) return std::nullopt;
  std::optional<ByteField> field =
      byte_field(lowering.facts, value->def->operand(0), [&](const Value* x) {
        return lowering.arrays.contains(x) && x->def != nullptr &&
               x->def->kind == ir::OpKind::fetch;
      });
  if (!field) return std::nullopt;
  for (int& a : axis) a = field->axis.at(a);
  field->axis = axis;
  return field;
}

/// Whether bf16_fields or f16_fields takes the field. Whole bytes are converted as fast one by one.
bool takes_field(DType dtype, const ByteField& field) {
  if (field.width >= 8) return false;
  const int64_t top = field.is_signed ? int64_t{1} << (field.width - 1) : 0;
  const int64_t less = top - field.plus;
  const int64_t most = dtype == DType::bf16 ? 128 : dtype == DType::f16 ? 1024 : -1;
  return less >= 0 && less <= most;
}

/// The word of the elements at `index` and its neighbour along k.
ExprRef word_of_fields(Lowering& lowering, DType dtype, const ByteField& field,
                       const RegIndex& index) {
  std::vector<ExprRef> bytes;
  for (int e = 0; e < 2; ++e) {
    RegIndex at(2);
    at[field.axis[0]] = index[0];
    at[field.axis[1]] = index[1] + integer(e);
    bytes.push_back(element_value(lowering, field.bytes, at));
  }
  return call(fmt::format("tw::{}_fields<{}, {}, {}, {}>", to_string(dtype), field.first,
                          field.width, field.is_signed, field.plus),
              std::move(bytes));
}

}  // namespace

std::string operand_words(Lowering& lowering, const Value* operand, const ExprRef& row,
                          const ExprRef& k) {
  const DType dtype = operand->type.dtype;
  const int per_word = 4 / size_of(dtype);
  const std::string words = lowering.names.unique(name_of(operand, "operand") + "_words");
  lowering.emit(array("unsigned", words, {4}));
  std::optional<ByteField> field = converted_field(lowering, operand);
  if (field && !takes_field(dtype, *field)) field.reset();
  for (int i = 0; i < 4; ++i) {
    const RegIndex first = {row + integer(i % 2), k + integer(i / 2 * per_word)};
    ExprRef word;
    if (field) {
      word = word_of_fields(lowering, dtype, *field, first);
    } else {
      std::vector<ExprRef> elements;
      for (int e = 0; e < per_word; ++e)
        elements.push_back(element_value(lowering, operand, {first[0], first[1] + integer(e)}));
      word = word_of(std::move(elements), dtype);
    }
    lowering.emit(assign(element(words, {integer(i)}), word));
  }
  return words;
}

}  // namespace tilewright::codegen
