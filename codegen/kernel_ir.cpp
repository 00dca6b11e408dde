#include "tilewright/codegen/kernel_ir.h"

#include <cmath>

#include "tilewright/codegen/kernel_ir_fold.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

Expr node(Expr::Kind kind, std::string text, std::vector<ExprRef> args = {},
          DType dtype = DType::i32) {
  Expr expr;
  expr.kind = kind;
  expr.text = std::move(text);
  expr.args = std::move(args);
  expr.dtype = dtype;
  return expr;
}

ExprRef make(Expr expr) { return std::make_shared<const Expr>(std::move(expr)); }

Stmt statement(Stmt::Kind kind) {
  Stmt stmt;
  stmt.kind = kind;
  return stmt;
}

/// The value of `text`(x) for integers; nullopt for an operator that is none of C's.
int64_t evaluate_unary(const std::string& op, int64_t x) {
  if (op == "-") return -x;
  if (op == "!") return x == 0;
  if (op == "~") return ~x;
  throw InternalError("evaluate: unknown unary operator " + op);
}

int64_t evaluate_cast(const std::string& type, int64_t x) {
  if (type == "long long" || type == "unsigned long long") return x;
  if (type == "int") return static_cast<int32_t>(x);
  if (type == "unsigned") return static_cast<uint32_t>(x);
  throw InternalError("evaluate: a cast to " + type + " is not integer arithmetic");
}

int64_t evaluate_call(const std::string& function, int64_t x, int64_t y) {
  if (function == "min") return std::min(x, y);
  if (function == "max") return std::max(x, y);
  throw InternalError("evaluate: a call of " + function + " is not integer arithmetic");
}

}  // namespace

ExprRef integer(int64_t value, DType dtype) {
  Expr expr = node(Expr::Kind::integer, "", {}, dtype);
  expr.value = value;
  if (value != static_cast<int32_t>(value)) expr.dtype = DType::i64;
  return make(std::move(expr));
}

ExprRef real(double value, DType dtype) {
  internal_check(dtype == DType::f32 || dtype == DType::f64, "a real constant is f32 or f64");
  if (dtype == DType::f32) value = static_cast<float>(value);
  if (!std::isfinite(value)) {
    ExprRef special = call(std::isnan(value) ? "tw::nan" : "tw::infinity", {});
    if (dtype == DType::f64) special = cast("double", special);
    return value < 0 ? unary("-", special) : special;
  }
  Expr expr = node(Expr::Kind::real, "", {}, dtype);
  expr.number = value;
  return make(std::move(expr));
}

ExprRef name(std::string text) { return make(node(Expr::Kind::name, std::move(text))); }

ExprRef unary(std::string op, ExprRef x) {
  if (ExprRef folded = fold::unary(op, x)) return folded;
  const DType dtype = x->dtype;
  return make(node(Expr::Kind::unary, std::move(op), {std::move(x)}, dtype));
}

ExprRef binary(std::string op, ExprRef x, ExprRef y) {
  if (op == "&&") return std::move(x) && std::move(y);
  if (ExprRef folded = fold::binary(op, x, y)) return folded;
  return fold::raw_binary(std::move(op), std::move(x), std::move(y));
}

ExprRef operator+(ExprRef x, ExprRef y) { return binary("+", std::move(x), std::move(y)); }
ExprRef operator-(ExprRef x, ExprRef y) { return binary("-", std::move(x), std::move(y)); }
ExprRef operator*(ExprRef x, ExprRef y) { return binary("*", std::move(x), std::move(y)); }
ExprRef operator/(ExprRef x, ExprRef y) { return binary("/", std::move(x), std::move(y)); }
ExprRef operator%(ExprRef x, ExprRef y) { return binary("%", std::move(x), std::move(y)); }
ExprRef operator<(ExprRef x, ExprRef y) { return binary("<", std::move(x), std::move(y)); }

ExprRef operator&&(ExprRef x, ExprRef y) {
  if (!x) return y;
  if (!y || same(x, y)) return x;
  if (x->kind == Expr::Kind::integer) return x->value != 0 ? y : x;
  if (y->kind == Expr::Kind::integer) return y->value != 0 ? x : y;
  return fold::raw_binary("&&", std::move(x), std::move(y));
}

ExprRef conditional(ExprRef condition, ExprRef x, ExprRef y) {
  if (!condition || same(x, y)) return x;
  if (condition->kind == Expr::Kind::integer) return condition->value != 0 ? x : y;
  const DType dtype = y->dtype == DType::i64 ? DType::i64 : x->dtype;
  return make(
      node(Expr::Kind::conditional, "", {std::move(condition), std::move(x), std::move(y)}, dtype));
}

ExprRef call(std::string function, std::vector<ExprRef> args) {
  return make(node(Expr::Kind::call, std::move(function), std::move(args)));
}

ExprRef cast(std::string type, ExprRef x) {
  if (x->kind == Expr::Kind::integer) {
    if (type == "int" && x->value == static_cast<int32_t>(x->value)) return integer(x->value);
    if (type == "long long") return integer(x->value, DType::i64);
  }
  if (x->kind == Expr::Kind::cast && x->text == type) return x;
  const DType dtype = type == "long long" ? DType::i64
                      : type == "float"   ? DType::f32
                      : type == "double"  ? DType::f64
                                          : DType::i32;
  return make(node(Expr::Kind::cast, std::move(type), {std::move(x)}, dtype));
}

ExprRef element(std::string array, std::vector<ExprRef> indices) {
  return make(node(Expr::Kind::element, std::move(array), std::move(indices)));
}

ExprRef shared(std::string buffer, std::vector<ExprRef> indices) {
  return make(node(Expr::Kind::shared, std::move(buffer), std::move(indices)));
}

ExprRef global(std::string tensor, ExprRef offset) {
  return make(node(Expr::Kind::global, std::move(tensor), {std::move(offset)}));
}

ExprRef address(ExprRef x) { return make(node(Expr::Kind::address, "", {std::move(x)})); }

ExprRef member(ExprRef x, std::string field) {
  return make(node(Expr::Kind::member, std::move(field), {std::move(x)}));
}

bool is_integer(const ExprRef& x, int64_t value) {
  return x && x->kind == Expr::Kind::integer && x->value == value;
}

bool same(const ExprRef& x, const ExprRef& y) {
  if (x == y) return true;
  if (!x || !y || x->kind != y->kind || x->text != y->text || x->args.size() != y->args.size())
    return false;
  if (x->kind == Expr::Kind::integer) return x->value == y->value && x->dtype == y->dtype;
  if (x->kind == Expr::Kind::real)
    return x->number == y->number && std::signbit(x->number) == std::signbit(y->number) &&
           x->dtype == y->dtype;
  for (size_t i = 0; i < x->args.size(); ++i)
    if (!same(x->args[i], y->args[i])) return false;
  return true;
}

int64_t evaluate(const Expr& x, const std::function<int64_t(const std::string&)>& lookup) {
  const auto arg = [&](size_t i) { return evaluate(*x.args.at(i), lookup); };
  switch (x.kind) {
    case Expr::Kind::integer:
      return x.value;
    case Expr::Kind::name:
      return lookup(x.text);
    case Expr::Kind::unary:
      return evaluate_unary(x.text, arg(0));
    case Expr::Kind::binary: {
      // Short circuits, since the second operand may divide by what the first one tests.
      if (x.text == "&&") return arg(0) != 0 && arg(1) != 0;
      if (x.text == "||") return arg(0) != 0 || arg(1) != 0;
      const std::optional<int64_t> value = fold::compute(x.text, arg(0), arg(1));
      if (!value) throw InternalError("evaluate: " + x.text + " has no value for its operands");
      return *value;
    }
    case Expr::Kind::conditional:
      return arg(0) != 0 ? arg(1) : arg(2);
    case Expr::Kind::cast:
      return evaluate_cast(x.text, arg(0));
    case Expr::Kind::call:
      internal_check(x.args.size() == 2, "evaluate: only min and max of two can be called");
      return evaluate_call(x.text, arg(0), arg(1));
    default:
      throw InternalError("evaluate: the expression is not integer arithmetic over scalars");
  }
}

Stmt declare(std::string type, std::string name, ExprRef value, bool is_const) {
  Stmt stmt = statement(Stmt::Kind::declare);
  stmt.type = std::move(type);
  stmt.name = std::move(name);
  stmt.value = std::move(value);
  stmt.is_const = is_const;
  return stmt;
}

Stmt array(std::string type, std::string name, std::vector<int64_t> extents, bool zero) {
  Stmt stmt = statement(Stmt::Kind::array);
  stmt.type = std::move(type);
  stmt.name = std::move(name);
  stmt.extents = std::move(extents);
  stmt.zero = zero;
  return stmt;
}

Stmt assign(ExprRef target, ExprRef value, std::string op) {
  Stmt stmt = statement(Stmt::Kind::assign);
  stmt.target = std::move(target);
  stmt.value = std::move(value);
  stmt.op = std::move(op);
  return stmt;
}

Stmt call_stmt(ExprRef call) {
  Stmt stmt = statement(Stmt::Kind::call);
  stmt.value = std::move(call);
  return stmt;
}

Stmt loop(std::string name, ExprRef begin, ExprRef limit, ExprRef step, bool unroll,
          std::vector<Stmt> body) {
  Stmt stmt = statement(Stmt::Kind::loop);
  stmt.name = std::move(name);
  stmt.begin = std::move(begin);
  stmt.limit = std::move(limit);
  stmt.step = std::move(step);
  stmt.unroll = unroll;
  stmt.body = std::move(body);
  return stmt;
}

Stmt repeat(ExprRef condition, std::vector<Stmt> body) {
  Stmt stmt = statement(Stmt::Kind::loop);
  stmt.value = std::move(condition);
  stmt.body = std::move(body);
  stmt.uniform = true;
  return stmt;
}

Stmt branch(ExprRef condition, std::vector<Stmt> body, std::vector<Stmt> otherwise) {
  Stmt stmt = statement(Stmt::Kind::branch);
  stmt.value = std::move(condition);
  stmt.body = std::move(body);
  stmt.otherwise = std::move(otherwise);
  return stmt;
}

Stmt lambda(std::string name, std::vector<std::string> params, std::vector<Stmt> body) {
  Stmt stmt = statement(Stmt::Kind::lambda);
  stmt.name = std::move(name);
  stmt.params = std::move(params);
  stmt.body = std::move(body);
  return stmt;
}

Stmt barrier(std::string why, ExprRef call) {
  Stmt stmt = statement(Stmt::Kind::barrier);
  stmt.value = std::move(call);
  stmt.comment = std::move(why);
  return stmt;
}

Stmt order(std::string op, std::vector<std::string> buffers) {
  Stmt stmt = statement(Stmt::Kind::order);
  stmt.op = std::move(op);
  stmt.params = std::move(buffers);
  return stmt;
}

Stmt source_line(Loc loc) {
  Stmt stmt = statement(Stmt::Kind::source);
  stmt.loc = loc;
  return stmt;
}

Stmt comment(std::string text) {
  Stmt stmt = statement(Stmt::Kind::comment);
  stmt.comment = std::move(text);
  return stmt;
}

int SharedBuffer::element_bytes() const { return type.empty() ? size_of(dtype) : type_bytes; }

int64_t SharedBuffer::bytes() const {
  int64_t total = element_bytes();
  for (const int64_t extent : extents) total *= extent;
  return total;
}

}  // namespace tilewright::codegen
