#include "tilewright/codegen/print_cuda.h"

#include <fmt/format.h>

#include "tilewright/codegen/prelude.h"
#include "tilewright/codegen/print_cuda_shared.h"
#include "tilewright/codegen/print_cuda_wrap.h"
#include "tilewright/codegen/ptx_function.h"

namespace tilewright::codegen {
namespace {

constexpr int kHeaderHang = 9;  // the width of a key in the header: "shared   ", "traffic  "

std::string parameter(const KernelParam& param) {
  if (param.map) return "const __grid_constant__ tw::TensorMap " + param.name;
  const std::string type = cuda_type(param.dtype);
  if (!param.tensor) return type + " " + param.name;
  return fmt::format("{}{}*{} {}", param.written ? "" : "const ", type,
                     param.may_alias ? "" : " __restrict__", param.name);
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::string signature(const Kernel& kernel) {
  std::string text = kernel.name + "(";
  for (size_t i = 0; i < kernel.params.size(); ++i)
    text += (i > 0 ? "," + break_mark(1) : "") + parameter(kernel.params[i]);
  const std::string blocks = kernel.blocks_per_sm > 1 || kernel.exact_blocks_per_sm
                                 ? fmt::format(", {}", kernel.blocks_per_sm)
                                 : "";
  return fmt::format("extern \"C\" __global__ void __launch_bounds__({}{})\n", kernel.threads,
                     blocks) +
         joined(wrap(text + ") {", 0));
}

/// The helpers that the code uses, and the kernel's own functions, which use types of them.
std::string prelude(const Kernel& kernel, const std::string& code, const Target& target) {
  std::set<std::string> used = helpers_used(code);
  std::string own;
  for (const PtxFunction& function : kernel.ptx) {
    used.erase(function.name);
    used.merge(helpers_used(cuda_type(function.result)));
    for (const DType operand : function.operands) used.merge(helpers_used(cuda_type(operand)));
    own += ptx_function_text(function);
  }
  const std::string helpers = prelude_text(used, target);
  if (own.empty()) return helpers;
  return helpers + "namespace tw {\n" + own + "}  // namespace tw\n";
}

}  // namespace

std::string print_cuda(const Kernel& kernel, const Target& target, const PrintOptions& options) {
  std::string code;
  if (!kernel.buffers.empty())
    code += shared_struct_text(kernel.buffers, kernel.shared_bytes) + "\n";
  code += signature(kernel);
  if (!kernel.buffers.empty()) code += "  Shared& shared = tw::shared_memory<Shared>();\n";
  code += joined(print_statements(kernel.body, 2, options)) + "}\n";

  std::string text;
  for (const std::string& line : kernel.header) text += joined(wrap_comment(line, 0, kHeaderHang));
  if (!kernel.header.empty()) text += "\n";
  const std::string before = prelude(kernel, code, target);
  return text + before + (before.empty() ? "" : "\n") + code;
}

}  // namespace tilewright::codegen
