// Operands that products take from registers, as the words that instructions want.
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

}  // namespace

std::string operand_words(Lowering& lowering, const Value* operand, const ExprRef& row,
                          const ExprRef& k) {
  const DType dtype = operand->type.dtype;
  const int per_word = 4 / size_of(dtype);
  const std::string words = lowering.names.unique(name_of(operand, "operand") + "_words");
  lowering.emit(array("unsigned", words, {4}));
  for (int i = 0; i < 4; ++i) {
    std::vector<ExprRef> elements;
    for (int e = 0; e < per_word; ++e)
      elements.push_back(element_value(lowering, operand,
                                       {row + integer(i % 2), k + integer(i / 2 * per_word + e)}));
    lowering.emit(assign(element(words, {integer(i)}), word_of(std::move(elements), dtype)));
  }
  return words;
}

}  // namespace tilewright::codegen
