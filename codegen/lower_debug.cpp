// Printing, assertions, and PTX of the kernel itself.
#include <fmt/format.h>

#include <algorithm>

#include "tilewright/codegen/lowering.h"
#include "tilewright/codegen/ptx_function.h"
#include "tilewright/ir/print_format.h"

namespace tilewright::codegen {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::Value;

/// How printf is told of a value, and the value as printf takes it.
struct Printed {
  const char* conversion;
  ExprRef value;
};

Printed printed(DType dtype, const ExprRef& x) {
  if (dtype == DType::boolean) return {"%s", conditional(x, name("\"true\""), name("\"false\""))};
  if (dtype == DType::i64) return {"%lld", cast("long long", x)};
  if (!is_float(dtype)) return {"%d", x};
  return {"%g", is_narrow_float(dtype) ? call("tw::to_float", {x}) : x};
}

std::string with_percents(const std::string& text) {
  std::string result;
  for (char c : text) result += c == '%' ? "%%" : std::string(1, c);
  return result;
}

/// The statements that print the line of one element; `value` gives operand i.
void emit_line(Lowering& lowering, const Op& op, const std::function<ExprRef(size_t)>& value) {
  const ir::PrintFormat format =
      ir::parse_print_format(std::get<std::string>(*op.find(AttrKey::format)));
  const ir::Attr* fatal = op.find(AttrKey::fatal);
  std::string text = with_percents(ir::print_prefix(op.loc));
  if (fatal != nullptr) text += "device_assert failed: ";
  text += with_percents(format.texts[0]);
  std::vector<ExprRef> arguments;
  for (size_t i = 0; i < format.values(); ++i) {
    const Printed shown = printed(op.operand(i + 1)->type.dtype, value(i + 1));
    arguments.push_back(shown.value);
    text += shown.conversion + with_percents(format.texts[i + 1]);
  }
  arguments.insert(arguments.begin(), name(c_literal(text + "\n")));
  lowering.emit(call_stmt(call("printf", arguments)));
  if (fatal == nullptr) return;
  lowering.emit(
      call_stmt(call("tw::assert_failed", {name(c_literal(std::get<std::string>(*fatal))),
                                           name(c_literal(op.loc.file)), integer(op.loc.line)})));
}

}  // namespace

void lower_print(Lowering& lowering, const Op& op) {
  lowering.at_source(op);
  const Value* condition = op.operand(0);
  if (condition->type.is_scalar()) {
    const ExprRef first = binary("==", name("threadIdx.x"), integer(0));
    const ExprRef holds = scalar_value(lowering, condition);
    const bool always = holds->kind == Expr::Kind::name && holds->text == "true";
    lowering.emit_if(always ? first : first && holds, [&] {
      emit_line(lowering, op, [&](size_t i) { return scalar_value(lowering, op.operand(i)); });
    });
    return;
  }
  const Layout& layout = lowering.layout(condition);
  const auto extents = lowering.extents(condition);
  lowering.emit_if(replica_guard(lowering, layout), [&] {
    for_registers(lowering, layout, -1, 1, [&](const RegIndex& index) {
      const auto at = coordinates(lowering, layout, condition->type.shape, index);
      const ExprRef inside = overhang_guard(layout, extents, at);
      const ExprRef holds = element_value(lowering, condition, index);
      lowering.emit_if(inside ? inside && holds : holds, [&] {
        emit_line(lowering, op,
                  [&](size_t i) { return element_value(lowering, op.operand(i), index); });
      });
    });
  });
}

ExprRef ptx_call(Lowering& lowering, const Op& op, std::vector<ExprRef> args) {
  PtxFunction function = ptx_function(op);
  auto& known = lowering.kernel.ptx;
  const std::string callee = "tw::" + function.name;
  if (std::ranges::none_of(known, [&](const PtxFunction& f) { return f.name == function.name; }))
    known.push_back(std::move(function));
  return call(callee, std::move(args));
}

}  // namespace tilewright::codegen
