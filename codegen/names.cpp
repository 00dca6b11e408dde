#include "tilewright/codegen/names.h"

#include <fmt/format.h>

#include <cctype>

namespace tilewright::codegen {
namespace {

constexpr std::string_view kReserved[] = {
    // C++
    "alignas", "alignof", "and", "asm", "auto", "bool", "break", "case", "catch", "char", "class",
    "const", "constexpr", "continue", "default", "delete", "do", "double", "else", "enum", "extern",
    "false", "float", "for", "goto", "if", "inline", "int", "long", "mutable", "namespace", "new",
    "not", "operator", "or", "private", "protected", "public", "register", "return", "short",
    "signed", "sizeof", "static", "struct", "switch", "template", "this", "throw", "true", "try",
    "typedef", "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "while",
    // CUDA and the printed kernel's own
    "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "tw", "Shared", "shared", "min",
    "max", "tile", "main", "printf",
    // built-in functions of doubles
    "acos", "asin", "atan", "atan2", "ceil", "cos", "cosh", "erf", "exp", "exp2", "expm1", "fabs",
    "floor", "fma", "fmod", "log", "log10", "log1p", "log2", "pow", "rint", "rsqrt", "sin", "sinh",
    "sqrt", "tan", "tanh", "trunc"};

}  // namespace

Names::Names() {
  for (std::string_view word : kReserved) taken_.emplace(word);
}

std::string Names::unique(std::string_view wanted) {
  std::string base;
  for (char c : wanted) base += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (base.empty() || std::isdigit(static_cast<unsigned char>(base[0]))) base = "v" + base;
  std::string name = base;
  for (int i = 2; !taken_.insert(name).second; ++i) name = fmt::format("{}_{}", base, i);
  return name;
}

std::string singular(std::string_view name) {
  if (name.size() > 1 && name.back() == 's' && name[name.size() - 2] != 's') name.remove_suffix(1);
  return std::string(name);
}

}  // namespace tilewright::codegen
