#include "tilewright/codegen/kernel_ir_fold.h"

#include <limits>
#include <map>

#include "tilewright/ir/error.h"

namespace tilewright::codegen::fold {
namespace {

using Kind = Expr::Kind;
using Value = std::optional<int64_t>;

Value constant(const ExprRef& x) {
  return x->kind == Kind::integer ? Value(x->value) : std::nullopt;
}

DType common_dtype(const Expr& x, const Expr& y) {
  return x.dtype == DType::i64 || y.dtype == DType::i64 ? DType::i64 : x.dtype;
}

bool is_binary(const ExprRef& x, const char* op) {
  return x->kind == Kind::binary && x->text == op;
}

bool is_index_operator(const std::string& op) {
  return op == "+" || op == "-" || op == "*" || op == "/" || op == "%";
}

/// base * factor or base + offset, the constant apart.
struct Split {
  ExprRef base;
  int64_t constant;
};

/// x as base * factor, factor 1 when it is not a product with a constant.
Split factor_of(const ExprRef& x) {
  if (is_binary(x, "*")) {
    if (const Value c = constant(x->args[1])) return {x->args[0], *c};
    if (const Value c = constant(x->args[0])) return {x->args[1], *c};
  }
  return {x, 1};
}

/// x as base + offset, offset 0 when it is not a sum with a constant.
Split offset_of(const ExprRef& x) {
  if (is_binary(x, "+") || is_binary(x, "-"))
    if (const Value c = constant(x->args[1]))
      if (*c != std::numeric_limits<int64_t>::min()) return {x->args[0], x->text == "+" ? *c : -*c};
  return {x, 0};
}

/// An i64 result stays one when its only i64 operand is folded away.
ExprRef widen(const ExprRef& x, DType dtype) {
  return dtype == DType::i64 && x->dtype != DType::i64 ? cast("long long", x) : x;
}

/// The constant operand of `base`, which makes the operation a 64-bit one where it must be.
ExprRef operand(const ExprRef& base, int64_t value, DType dtype) {
  return integer(value, base->dtype == DType::i64 ? DType::i32 : dtype);
}

/// base + offset, as a difference when the offset is negative; null when there is no offset.
ExprRef add_constant(const ExprRef& base, Value offset, DType dtype) {
  if (!offset) return nullptr;
  if (*offset == 0) return base;
  if (constant(base)) return base + integer(*offset, dtype);
  if (*offset < 0 && *offset != std::numeric_limits<int64_t>::min())
    return raw_binary("-", base, operand(base, -*offset, dtype));
  return raw_binary("+", base, operand(base, *offset, dtype));
}

/// base * factor. A variable of a letter or two has the factor in front (4 * i), anything longer
/// behind it (row * 992, threadIdx.x % 16 * 4).
ExprRef multiply_constant(const ExprRef& base, int64_t factor, DType dtype) {
  if (factor == 0) return integer(0, dtype);
  if (factor == 1) return base;
  const bool plain = base->kind == Kind::name && base->text.size() <= 2;
  const ExprRef constant = operand(base, factor, dtype);
  return plain ? raw_binary("*", constant, base) : raw_binary("*", base, constant);
}

/// Whether p + q is x / c * c + x % c, which is x; x then.
ExprRef quotient_and_rest(const ExprRef& p, const ExprRef& q) {
  const Split product = factor_of(p);
  if (!is_binary(q, "%") || !is_binary(product.base, "/")) return nullptr;
  const ExprRef &rest_of = q->args[0], &quotient_of = product.base->args[0];
  const bool match = is_integer(q->args[1], product.constant) &&
                     is_integer(product.base->args[1], product.constant) &&
                     same(rest_of, quotient_of);
  return match ? rest_of : nullptr;
}

ExprRef fold_add(const ExprRef& x, const ExprRef& y) {
  const DType dtype = common_dtype(*x, *y);
  const Value cx = constant(x), cy = constant(y);
  const Split a = offset_of(x), b = offset_of(y);
  if (cx) return add_constant(b.base, compute("+", *cx, b.constant), dtype);
  if (cy) return add_constant(a.base, compute("+", a.constant, *cy), dtype);
  // Constants go last, where the next sum finds them.
  if (a.constant != 0 || b.constant != 0)
    return add_constant(widen(a.base, dtype) + b.base, compute("+", a.constant, b.constant), dtype);
  if (ExprRef whole = quotient_and_rest(x, y)) return whole;
  if (ExprRef whole = quotient_and_rest(y, x)) return whole;
  if (is_binary(x, "-") && same(x->args[1], y)) return x->args[0];  // (a - b) + b
  if (is_binary(y, "-") && same(y->args[1], x)) return y->args[0];
  if (is_binary(y, "+")) return x + y->args[0] + y->args[1];  // no parentheses
  if (is_binary(y, "-")) return x + y->args[0] - y->args[1];
  return nullptr;
}

ExprRef fold_subtract(const ExprRef& x, const ExprRef& y) {
  const DType dtype = common_dtype(*x, *y);
  const Split a = offset_of(x), b = offset_of(y);
  if (const Value cy = constant(y))
    return add_constant(a.base, compute("-", a.constant, *cy), dtype);
  if (same(x, y)) return integer(0);
  if (is_binary(x, "+")) {
    if (same(x->args[1], y)) return x->args[0];
    if (same(x->args[0], y)) return x->args[1];
  }
  if (a.constant != 0 || b.constant != 0)
    return add_constant(widen(a.base, dtype) - b.base, compute("-", a.constant, b.constant), dtype);
  return nullptr;
}

ExprRef fold_multiply(const ExprRef& x, const ExprRef& y) {
  const Split a = factor_of(x), b = factor_of(y);
  const Value cx = constant(x), cy = constant(y);
  const Value factor = cx   ? compute("*", *cx, b.constant)
                       : cy ? compute("*", *cy, a.constant)
                            : std::nullopt;
  if (!factor) return nullptr;
  return multiply_constant(cx ? b.base : a.base, *factor, common_dtype(*x, *y));
}

/// The rules for (p + q) / c and (p + q) % c where p is a multiple of a number related to c.
ExprRef fold_divided_sum(const ExprRef& sum, int64_t c, bool quotient) {
  for (int side = 0; side < 2; ++side) {
    const ExprRef &p = sum->args[side], &q = sum->args[1 - side];
    if (!is_nonnegative(*p) || !is_nonnegative(*q)) continue;
    const int64_t factor = constant(p) ? *constant(p) : factor_of(p).constant;
    if (factor > 0 && factor % c == 0)
      return quotient ? p / integer(c) + q / integer(c) : q % integer(c);
    // (4 b + j) / 64 with j < 4 is b / 16: the rest never carries.
    const Value bound = upper_bound(*q);
    if (quotient && factor > 1 && c % factor == 0 && bound && *bound < factor)
      return p / integer(c);
  }
  return nullptr;
}

ExprRef fold_divide(const ExprRef& x, const ExprRef& y) {
  if (is_binary(x, "*")) {
    if (same(x->args[1], y)) return x->args[0];
    if (same(x->args[0], y)) return x->args[1];
  }
  const Value divisor = constant(y);
  if (!divisor || *divisor <= 0) return nullptr;
  const int64_t c = *divisor;
  if (c == 1) return x;
  if (is_integer(x, 0)) return x;
  const Split a = factor_of(x);
  if (a.constant > 1 && a.constant % c == 0)
    return multiply_constant(a.base, a.constant / c, x->dtype);
  if (a.constant > 1 && c % a.constant == 0) return a.base / integer(c / a.constant);
  if (is_binary(x, "/"))
    if (const Value inner = constant(x->args[1]); inner && *inner > 0)
      if (const Value product = compute("*", *inner, c)) return x->args[0] / integer(*product);
  if (is_binary(x, "+"))
    if (ExprRef folded = fold_divided_sum(x, c, true)) return folded;
  if (const Value bound = upper_bound(*x); bound && *bound < c && is_nonnegative(*x))
    return integer(0);
  return nullptr;
}

ExprRef fold_remainder(const ExprRef& x, const ExprRef& y) {
  if (is_binary(x, "*") && (same(x->args[0], y) || same(x->args[1], y))) return integer(0);
  const Value divisor = constant(y);
  if (!divisor || *divisor <= 0) return nullptr;
  const int64_t c = *divisor;
  if (c == 1 || is_integer(x, 0)) return integer(0);
  const Split a = factor_of(x);
  if (a.constant > 1 && a.constant % c == 0) return integer(0);
  if (a.constant > 1 && c % a.constant == 0)
    return multiply_constant(a.base % integer(c / a.constant), a.constant, x->dtype);
  if (is_binary(x, "%"))
    if (const Value inner = constant(x->args[1]); inner && *inner > 0 && *inner % c == 0)
      return x->args[0] % integer(c);
  if (is_binary(x, "+"))
    if (ExprRef folded = fold_divided_sum(x, c, false)) return folded;
  if (const Value bound = upper_bound(*x); bound && *bound < c && is_nonnegative(*x)) return x;
  return nullptr;
}

ExprRef fold_less(const ExprRef& x, const ExprRef& y) {
  const Value limit = constant(y), bound = upper_bound(*x);
  if (limit && bound && *bound < *limit) return integer(1);
  if (same(x, y)) return integer(0);
  return nullptr;
}

ExprRef fold_or(const ExprRef& x, const ExprRef& y) {
  if (const Value c = constant(x)) return *c != 0 ? integer(1) : y;
  if (const Value c = constant(y)) return *c != 0 ? integer(1) : x;
  return nullptr;
}

using Rule = ExprRef (*)(const ExprRef&, const ExprRef&);

const std::map<std::string, Rule>& rules() {
  static const std::map<std::string, Rule> table = {
      {"+", fold_add},       {"-", fold_subtract}, {"*", fold_multiply}, {"/", fold_divide},
      {"%", fold_remainder}, {"<", fold_less},     {"||", fold_or}};
  return table;
}

}  // namespace

std::optional<int64_t> compute(const std::string& op, int64_t x, int64_t y) {
  using Function = Value (*)(int64_t, int64_t);
  static const std::map<std::string, Function> table = {
      {"+",
       [](int64_t a, int64_t b) {
         int64_t r;
         return __builtin_add_overflow(a, b, &r) ? std::nullopt : Value(r);
       }},
      {"-",
       [](int64_t a, int64_t b) {
         int64_t r;
         return __builtin_sub_overflow(a, b, &r) ? std::nullopt : Value(r);
       }},
      {"*",
       [](int64_t a, int64_t b) {
         int64_t r;
         return __builtin_mul_overflow(a, b, &r) ? std::nullopt : Value(r);
       }},
      {"/", [](int64_t a, int64_t b) { return b == 0 || b == -1 ? std::nullopt : Value(a / b); }},
      {"%", [](int64_t a, int64_t b) { return b == 0 || b == -1 ? std::nullopt : Value(a % b); }},
      {"<", [](int64_t a, int64_t b) { return Value(a < b); }},
      {"<=", [](int64_t a, int64_t b) { return Value(a <= b); }},
      {">", [](int64_t a, int64_t b) { return Value(a > b); }},
      {">=", [](int64_t a, int64_t b) { return Value(a >= b); }},
      {"==", [](int64_t a, int64_t b) { return Value(a == b); }},
      {"!=", [](int64_t a, int64_t b) { return Value(a != b); }},
      {"&", [](int64_t a, int64_t b) { return Value(a & b); }},
      {"|", [](int64_t a, int64_t b) { return Value(a | b); }},
      {"^", [](int64_t a, int64_t b) { return Value(a ^ b); }},
      {"<<",
       [](int64_t a, int64_t b) {
         if (b < 0 || b > 31 || a < 0 || a >> (62 - b) != 0) return Value{};
         return Value(a << b);
       }},
      {">>", [](int64_t a, int64_t b) { return b < 0 || b > 31 ? Value{} : Value(a >> b); }},
      {"&&", [](int64_t a, int64_t b) { return Value(a != 0 && b != 0); }},
      {"||", [](int64_t a, int64_t b) { return Value(a != 0 || b != 0); }}};
  const auto found = table.find(op);
  return found == table.end() ? std::nullopt : found->second(x, y);
}

ExprRef raw_binary(std::string op, ExprRef x, ExprRef y) {
  auto expr = std::make_shared<Expr>();
  expr->kind = Kind::binary;
  expr->dtype = common_dtype(*x, *y);
  expr->text = std::move(op);
  expr->args = {std::move(x), std::move(y)};
  return expr;
}

ExprRef unary(const std::string& op, const ExprRef& x) {
  if (op == "-" && x->kind == Kind::unary && x->text == "-") return x->args[0];
  const Value c = constant(x);
  if (!c) return nullptr;
  if (op == "-" && *c != std::numeric_limits<int64_t>::min()) return integer(-*c, x->dtype);
  if (op == "!") return integer(*c == 0);
  if (op == "~") return integer(~*c, x->dtype);
  return nullptr;
}

ExprRef binary(const std::string& op, const ExprRef& x, const ExprRef& y) {
  internal_check(x != nullptr, "the left operand of a binary expression is missing");
  internal_check(y != nullptr, "the right operand of a binary expression is missing");
  if (constant(x) && constant(y)) {
    const Value value = compute(op, *constant(x), *constant(y));
    if (!value) return nullptr;
    return integer(*value, is_index_operator(op) ? common_dtype(*x, *y) : DType::i32);
  }
  const auto rule = rules().find(op);
  if (rule == rules().end()) return nullptr;
  const ExprRef folded = rule->second(x, y);
  if (!folded || !is_index_operator(op)) return folded;
  return widen(folded, common_dtype(*x, *y));
}

bool is_nonnegative(const Expr& x) {
  const auto all = [&] {
    for (const ExprRef& arg : x.args)
      if (!is_nonnegative(*arg)) return false;
    return true;
  };
  switch (x.kind) {
    case Kind::integer:
      return x.value >= 0;
    case Kind::name:
    case Kind::member:
      return true;
    case Kind::binary:
      if (x.text == "-") return false;
      if (x.text == "&") return is_nonnegative(*x.args[0]) || is_nonnegative(*x.args[1]);
      return all();
    case Kind::conditional:
      return is_nonnegative(*x.args[1]) && is_nonnegative(*x.args[2]);
    case Kind::cast:
      return all();
    case Kind::call:
      return (x.text == "min" || x.text == "max") && all();
    default:
      return false;
  }
}

std::optional<int64_t> upper_bound(const Expr& x) {
  const auto bound = [&](size_t i) { return upper_bound(*x.args[i]); };
  if (x.kind == Kind::integer) return x.value;
  if (x.kind != Kind::binary) return std::nullopt;
  const Value right = bound(1);
  if (x.text == "%" && constant(x.args[1]) && *right > 0) {
    const Value left = bound(0);
    return left ? std::min(*left, *right - 1) : *right - 1;
  }
  const Value left = bound(0);
  if (x.text == "+" && left && right) return compute("+", *left, *right);
  if (x.text == "-" && left && is_nonnegative(*x.args[1])) return left;
  if (x.text == "*" && left && right && is_nonnegative(x)) return compute("*", *left, *right);
  if (x.text == "/" && left && is_nonnegative(x) && constant(x.args[1]) && *right > 0)
    return *left / *right;
  return std::nullopt;
}

}  // namespace tilewright::codegen::fold
