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

/// Whether bf16_fields or f16_fields takes the field.
bool takes_field(DType dtype, const ByteField& field) {
  if (dtype == DType::bf16 && field.width == 8) {
    const int64_t rest = field.plus + (field.is_signed ? 0 : 128);
    return rest == 0 || rest == 128;
  }
  const int64_t top = field.is_signed ? int64_t{1} << (field.width - 1) : 0;
  const int64_t less = top - field.plus;
  const int64_t most = dtype == DType::bf16 ? 128 : dtype == DType::f16 ? 1024 : -1;
  return less >= 0 && less <= most;
}

ExprRef byte_at(Lowering& lowering, const ByteField& field, const ExprRef& row, const ExprRef& k) {
  RegIndex at(2);
  at[field.axis[0]] = row;
  at[field.axis[1]] = k;
  return element_value(lowering, field.bytes, at);
}

/// Calls bf16_fields or f16_fields; the field begins `above` bits higher than in its byte.
ExprRef fields_of(DType dtype, const ByteField& field, int above, std::vector<ExprRef> args) {
  return call(fmt::format("tw::{}_fields<{}, {}, {}, {}>", to_string(dtype), field.first + above,
                          field.width, field.is_signed, field.plus),
              std::move(args));
}

/// The words of the elements from (row, k) on, of two rows and two words along k. Where the bytes
/// of two rows are neighbours, those of two steps of k are one word.
void assign_fields(Lowering& lowering, DType dtype, const ByteField& field,
                   const std::string& words, const ExprRef& row, const ExprRef& k) {
  const bool pairs = lowering.layout(field.bytes).vector(field.axis[0]) == 2;
  for (int half = 0; half < 2; ++half) {
    std::string both;
    if (pairs) {
      std::vector<ExprRef> bytes;
      for (int e = 0; e < 4; ++e)
        bytes.push_back(
            byte_at(lowering, field, row + integer(e % 2), k + integer(2 * half + e / 2)));
      both = lowering.names.unique(name_of(field.bytes, "bytes") + "_word");
      lowering.emit(declare("unsigned", both, call("tw::word", std::move(bytes))));
    }
    for (int r = 0; r < 2; ++r) {
      std::vector<ExprRef> args;
      if (pairs)
        args = {name(both)};
      else
        for (int e = 0; e < 2; ++e)
          args.push_back(byte_at(lowering, field, row + integer(r), k + integer(2 * half + e)));
      lowering.emit(assign(element(words, {integer(2 * half + r)}),
                           fields_of(dtype, field, pairs ? 8 * r : 0, std::move(args))));
    }
  }
}

}  // namespace

std::string operand_words(Lowering& lowering, const Value* operand, const ExprRef& row,
                          const ExprRef& k) {
  const DType dtype = operand->type.dtype;
  const int per_word = 4 / size_of(dtype);
  const std::string words = lowering.names.unique(name_of(operand, "operand") + "_words");
  lowering.emit(array("unsigned", words, {4}));
  std::optional<ByteField> field = converted_field(lowering, operand);
  if (field && takes_field(dtype, *field)) {
    assign_fields(lowering, dtype, *field, words, row, k);
    return words;
  }
  for (int i = 0; i < 4; ++i) {
    const RegIndex first = {row + integer(i % 2), k + integer(i / 2 * per_word)};
    std::vector<ExprRef> elements;
    for (int e = 0; e < per_word; ++e)
      elements.push_back(element_value(lowering, operand, {first[0], first[1] + integer(e)}));
    lowering.emit(assign(element(words, {integer(i)}), word_of(std::move(elements), dtype)));
  }
  return words;
}

}  // namespace tilewright::codegen
