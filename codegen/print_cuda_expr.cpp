#include "tilewright/codegen/print_cuda_expr.h"

#include <fmt/format.h>

#include <limits>
#include <map>

#include "tilewright/codegen/print_cuda_wrap.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using Kind = Expr::Kind;

// How tightly forms bind, as in C++; operators of one level group to the left.
constexpr int kConditional = 1, kUnary = 12, kPostfix = 13, kPrimary = 14;

const std::map<std::string, int>& binary_precedence() {
  static const std::map<std::string, int> table = {
      {"||", 2}, {"&&", 3}, {"|", 4},  {"^", 5},  {"&", 6},  {"==", 7},
      {"!=", 7}, {"<", 8},  {">", 8},  {"<=", 8}, {">=", 8}, {"<<", 9},
      {">>", 9}, {"+", 10}, {"-", 10}, {"*", 11}, {"/", 11}, {"%", 11}};
  return table;
}

int precedence_of(const std::string& op) {
  const auto found = binary_precedence().find(op);
  if (found == binary_precedence().end())
    throw InternalError("kernel IR has no binary operator " + op);
  return found->second;
}

bool is_bitwise(int precedence) { return (precedence >= 4 && precedence <= 6) || precedence == 9; }

/// Whether readers expect parentheses where the language needs none: && in ||, and any other
/// operator next to a shift or a bitwise one.
bool wants_parentheses(const std::string& outer, const Expr& operand) {
  if (operand.kind != Kind::binary || operand.text == outer) return false;
  if (outer == "||") return operand.text == "&&";
  return is_bitwise(precedence_of(outer));
}

std::string integer_text(const Expr& x) {
  const char* suffix = x.dtype == DType::i64 ? "LL" : "";
  // The magnitude of the lowest value has no literal of its own type.
  if (x.value == std::numeric_limits<int64_t>::min()) return fmt::format("(-{}LL - 1)", INT64_MAX);
  if (x.value == std::numeric_limits<int32_t>::min() && x.dtype != DType::i64)
    return fmt::format("(-{} - 1)", INT32_MAX);
  return fmt::format("{}{}", x.value, suffix);
}

/// The shortest literal that reads back as the value.
std::string real_text(const Expr& x) {
  std::string text = x.dtype == DType::f32 ? fmt::format("{}", static_cast<float>(x.number))
                                           : fmt::format("{}", x.number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return x.dtype == DType::f32 ? text + "f" : text;
}

class Printer {
 public:
  /// The text of `x`, in parentheses when it binds less tightly than `required`.
  std::string print(const Expr& x, int required, int depth) {
    const int own = precedence(x);
    return own < required ? "(" + bare(x, depth + 1) + ")" : bare(x, depth);
  }

 private:
  static int precedence(const Expr& x) {
    switch (x.kind) {
      case Kind::integer:
        return x.value < 0 && integer_text(x).front() == '-' ? kUnary : kPrimary;
      case Kind::real:
        return real_text(x).front() == '-' ? kUnary : kPrimary;
      case Kind::unary:
      case Kind::cast:
      case Kind::address:
        return kUnary;
      case Kind::binary:
        return precedence_of(x.text);
      case Kind::conditional:
        return kConditional;
      case Kind::name:
        return kPrimary;
      default:
        return kPostfix;
    }
  }

  std::string bare(const Expr& x, int depth) {
    switch (x.kind) {
      case Kind::integer:
        return integer_text(x);
      case Kind::real:
        return real_text(x);
      case Kind::name:
        return x.text;
      case Kind::unary:
        return unary(x, depth);
      case Kind::binary:
        return binary(x, depth);
      case Kind::conditional:
        return print(*x.args[0], kConditional + 1, depth + 1) + break_mark(depth) + "? " +
               print(*x.args[1], kConditional + 1, depth + 1) + break_mark(depth) + ": " +
               print(*x.args[2], kConditional, depth);
      case Kind::call:
        return x.text + "(" + list(x, ",", depth + 1) + ")";
      case Kind::cast:
        return "(" + x.text + ")" + print(*x.args[0], kUnary, depth);
      case Kind::element:
        return x.text + subscripts(x, depth);
      case Kind::shared:
        return "shared." + x.text + subscripts(x, depth);
      case Kind::global:
        return x.text + subscripts(x, depth);
      case Kind::address:
        return address(*x.args[0], depth);
      case Kind::member:
        return print(*x.args[0], kPostfix, depth) + "." + x.text;
    }
    throw InternalError("kernel IR expression of an unknown kind");
  }

  /// The address of the first element of an array's row is the row's name.
  std::string address(const Expr& x, int depth) {
    const bool array = x.kind == Kind::element || x.kind == Kind::shared || x.kind == Kind::global;
    if (!array || x.args.empty() || !is_integer(x.args.back(), 0))
      return "&" + print(x, kUnary, depth);
    Expr row = x;
    row.args.pop_back();
    return bare(row, depth);
  }

  std::string unary(const Expr& x, int depth) {
    std::string operand = print(*x.args[0], kUnary, depth);
    if (x.text == "-" && operand.front() == '-') operand = "(" + operand + ")";  // not --
    return x.text + operand;
  }

  std::string binary(const Expr& x, int depth) {
    const int level = precedence_of(x.text);
    const auto operand = [&](size_t i) {
      const Expr& arg = *x.args[i];
      // A left operand of the same level needs none: (a - b) - c is a - b - c.
      const bool chain = i == 0 && arg.kind == Kind::binary && precedence(arg) == level;
      int required = i == 0 ? level : level + 1;
      if (wants_parentheses(x.text, arg) ||
          (i == 1 && precedence(arg) == kUnary && is_negative(arg)))
        required = kPrimary;
      return print(arg, required, chain ? depth : depth + 1);
    };
    std::string left = operand(0);
    return left + " " + x.text + break_mark(depth) + operand(1);
  }

  static bool is_negative(const Expr& x) {
    return x.kind == Kind::integer || x.kind == Kind::real ||
           (x.kind == Kind::unary && x.text == "-");
  }

  std::string list(const Expr& x, const char* separator, int depth) {
    std::string text;
    for (size_t i = 0; i < x.args.size(); ++i) {
      if (i > 0) text += separator + break_mark(depth);
      text += print(*x.args[i], kConditional, depth + 1);
    }
    return text;
  }

  std::string subscripts(const Expr& x, int depth) {
    std::string text;
    for (const ExprRef& arg : x.args) text += "[" + print(*arg, kConditional, depth + 2) + "]";
    return text;
  }
};

}  // namespace

std::string expr_text(const Expr& x) { return unmarked(marked_expr_text(x)); }

std::string marked_expr_text(const Expr& x) { return Printer().print(x, kConditional, 1); }

}  // namespace tilewright::codegen
