#include "tilewright/codegen/print_kernel_ir.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tilewright/codegen/print_cuda_expr.h"

namespace tilewright::codegen {
namespace {

std::string text_of(const ExprRef& x) { return x ? expr_text(*x) : "_"; }

std::string extents_text(const std::vector<int64_t>& extents) {
  return fmt::format("[{}]", fmt::join(extents, ","));
}

std::string param_text(const KernelParam& param) {
  if (param.map)
    return fmt::format(
        "param {}: map of {} {} strides {} box [{}] swizzle {} from {}{}", param.name,
        to_string(param.map->dtype), extents_text(param.map->sizes),
        extents_text(param.map->strides), fmt::join(param.map->box, ","), param.map->swizzle,
        param.source,
        param.map->dynamic < 0
            ? ""
            : fmt::format(" sized {} in {}", param.map->size_source, param.map->dynamic));
  if (!param.tensor)
    return fmt::format("param {}: {} from {}", param.name, to_string(param.dtype), param.source);
  return fmt::format("param {}: {}* from {}{}{}", param.name, to_string(param.dtype), param.source,
                     param.written ? " written" : "", param.may_alias ? " may_alias" : "");
}

std::string buffer_text(const SharedBuffer& buffer) {
  const std::string place = buffer.offset < 0 ? "_" : fmt::format("{}", buffer.offset);
  return fmt::format("shared {}: {}{} at {} align {}", buffer.name, to_string(buffer.dtype),
                     extents_text(buffer.extents), place, buffer.alignment);
}

/// The statement's own line, without its bodies and comment.
std::string head(const Stmt& stmt) {
  switch (stmt.kind) {
    case Stmt::Kind::declare:
      return fmt::format("{} {}: {} = {}", stmt.is_const ? "let" : "var", stmt.name, stmt.type,
                         text_of(stmt.value));
    case Stmt::Kind::array:
      return fmt::format("array {}: {}{}{}", stmt.name, stmt.type, extents_text(stmt.extents),
                         stmt.zero ? " zero" : "");
    case Stmt::Kind::assign:
      return fmt::format("{} {} {}", text_of(stmt.target), stmt.op, text_of(stmt.value));
    case Stmt::Kind::call:
      return text_of(stmt.value);
    case Stmt::Kind::loop:
      if (stmt.value) return "while " + text_of(stmt.value);
      return fmt::format("for {} in {} .. {} step {}{}", stmt.name, text_of(stmt.begin),
                         text_of(stmt.limit), text_of(stmt.step), stmt.unroll ? " unroll" : "");
    case Stmt::Kind::branch:
      return "if " + text_of(stmt.value);
    case Stmt::Kind::lambda:
      return fmt::format("lambda {}({})", stmt.name, fmt::join(stmt.params, ", "));
    case Stmt::Kind::barrier:
      return "barrier";
    case Stmt::Kind::order:
      return fmt::format("order {} {}", stmt.op, fmt::join(stmt.params, " "));
    case Stmt::Kind::source:
      return fmt::format("source {}:{}", stmt.loc.file, stmt.loc.line);
    case Stmt::Kind::comment:
      return "comment";
  }
  return "unknown";
}

void append(std::string& text, const std::vector<Stmt>& stmts, int indent) {
  for (const Stmt& stmt : stmts) {
    text += std::string(indent, ' ') + head(stmt);
    if (!stmt.comment.empty()) text += "  // " + stmt.comment;
    text += "\n";
    append(text, stmt.body, indent + 2);
    if (stmt.otherwise.empty()) continue;
    text += std::string(indent, ' ') + "else\n";
    append(text, stmt.otherwise, indent + 2);
  }
}

}  // namespace

std::string print_kernel_ir(const Kernel& kernel) {
  std::string text =
      fmt::format("kernel {} grid {} threads {} blocks_per_sm {} shared_bytes {}\n", kernel.name,
                  text_of(kernel.grid), kernel.threads, kernel.blocks_per_sm, kernel.shared_bytes);
  for (const KernelParam& param : kernel.params) text += "  " + param_text(param) + "\n";
  for (const SharedBuffer& buffer : kernel.buffers) {
    text += "  " + buffer_text(buffer);
    text += buffer.comment.empty() ? "\n" : "  // " + buffer.comment + "\n";
  }
  append(text, kernel.body, 2);
  return text;
}

}  // namespace tilewright::codegen
