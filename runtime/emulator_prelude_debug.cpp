#include "tilewright/runtime/emulator_prelude_debug.h"

#include <fmt/format.h>

#include "tilewright/codegen/prelude.h"

namespace tilewright::runtime {
namespace {

/// The type as which a host function sees elements.
std::string host_type(DType dtype) {
  return is_narrow_float(dtype) ? "float" : codegen::cuda_type(dtype);
}

}  // namespace

std::string_view debug_hook_members() {
  return R"(  void (*assert_failed)(const char*, const char*, unsigned);
  void (*(*host_function)(const char*))(const void* const*, void*);
)";
}

std::string_view debug_hook_calls() {
  return R"(
extern "C" int printf(const char*, ...);
TW_PLAIN void tw_emu_assert_failed(const char* message, const char* file, unsigned line) {
  tw_hooks.assert_failed(message, file, line);
}
TW_PLAIN void tw_emu_host(const char* name, const void* const* arguments, void* result) {
  tw_hooks.host_function(name)(arguments, result);
}
)";
}

std::string_view debug_twin(std::string_view helper) {
  if (helper != "assert_failed") return {};
  return "inline void assert_failed(const char* message, const char* file, unsigned line) {\n"
         "  tw_emu_assert_failed(message, file, line);\n}";
}

std::string ptx_twin(const codegen::PtxFunction& function) {
  std::string parameters, values, arguments;
  for (size_t i = 0; i < function.operands.size(); ++i) {
    const DType dtype = function.operands[i];
    const char* separator = i > 0 ? ", " : "";
    parameters += fmt::format("{}{} x{}", separator, codegen::cuda_type(dtype), i);
    values += fmt::format(
        "  const {} a{} = {};\n", host_type(dtype), i,
        is_narrow_float(dtype) ? fmt::format("to_float(x{})", i) : fmt::format("x{}", i));
    arguments += fmt::format("{}&a{}", separator, i);
  }
  const std::string made = is_narrow_float(function.result)
                               ? fmt::format("to_{}(result)", to_string(function.result))
                               : "result";
  return fmt::format(
      "inline {} {}({}) {{\n{}  const void* const arguments[] = {{{}}};\n  {} result;\n"
      "  tw_emu_host(\"{}\", arguments, &result);\n  return {};\n}}\n",
      codegen::cuda_type(function.result), function.name, parameters, values, arguments,
      host_type(function.result), function.twin, made);
}

}  // namespace tilewright::runtime
