#include "tilewright/codegen/ptx_function.h"

#include <fmt/format.h>

#include "tilewright/codegen/prelude.h"
#include "tilewright/ir/hash.h"
#include "tilewright/ir/print_format.h"

namespace tilewright::codegen {
namespace {

/// The letter that tells the compiler which register holds a value.
char constraint_of(DType dtype) {
  if (dtype == DType::f32) return 'f';
  if (dtype == DType::f64) return 'd';
  if (size_of(dtype) == 2) return 'h';
  return size_of(dtype) == 8 ? 'l' : 'r';
}

bool has_bits(DType dtype) { return is_half(dtype); }

/// Values of 8 bits travel in registers of 32.
bool is_widened(DType dtype) { return size_of(dtype) == 1; }

/// The name of a type without its namespace, inside of which the function is.
std::string type_inside(DType dtype) {
  const std::string type = cuda_type(dtype);
  return type.starts_with("tw::") ? type.substr(4) : type;
}

}  // namespace

PtxFunction ptx_function(const ir::Op& op) {
  PtxFunction function;
  function.ptx = std::get<std::string>(*op.find(ir::AttrKey::ptx));
  if (const ir::Attr* twin = op.find(ir::AttrKey::twin))
    function.twin = std::get<std::string>(*twin);
  function.result = op.result()->type.dtype;
  std::string identity =
      fmt::format("{}\n{}\n{}", function.ptx, function.twin, to_string(function.result));
  for (const ir::Value* operand : op.operands) {
    function.operands.push_back(operand->type.dtype);
    identity += fmt::format(" {}", to_string(operand->type.dtype));
  }
  function.name = "ptx_" + ir::hex8(ir::hash_text(identity));
  function.loc = op.loc;
  return function;
}

std::string ptx_function_text(const PtxFunction& function) {
  std::string parameters, inputs;
  for (size_t i = 0; i < function.operands.size(); ++i) {
    const DType dtype = function.operands[i];
    const char* separator = i > 0 ? ", " : "";
    parameters += fmt::format("{}{} x{}", separator, type_inside(dtype), i);
    inputs += fmt::format("{}\"{}\"({}x{}{})", separator, constraint_of(dtype),
                          is_widened(dtype) ? "(int)" : "", i, has_bits(dtype) ? ".bits" : "");
  }
  const std::string type = type_inside(function.result);
  const std::string made = is_widened(function.result) ? "int" : type;
  std::string text = fmt::format("// {}PTX of the kernel itself\n", ir::print_prefix(function.loc));
  text += fmt::format("__device__ __forceinline__ {} {}({}) {{\n", type, function.name, parameters);
  text += fmt::format("  {} result;\n  asm({}\n      : \"={}\"(result{}) : {});\n", made,
                      c_literal(function.ptx), constraint_of(function.result),
                      has_bits(function.result) ? ".bits" : "", inputs);
  return text + fmt::format("  return {}result;\n}}\n", made == type ? "" : "(" + type + ")");
}

std::string c_literal(std::string_view text) {
  std::string result = "\"";
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' || c == '\\')
      result += {'\\', c};
    else if (c == '\n')
      result += "\\n";
    else if (static_cast<unsigned char>(c) < 0x20)
      result += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    else
      result += c;
    if (text.substr(0, i + 1).ends_with("tw:") && text.substr(i + 1).starts_with(':'))
      result += "\" \"";
  }
  return result + "\"";
}

}  // namespace tilewright::codegen
