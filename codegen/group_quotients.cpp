#include "tilewright/codegen/group_quotients.h"

#include <algorithm>
#include <utility>

#include "tilewright/codegen/kernel_ir_fold.h"

namespace tilewright::codegen {
namespace {

constexpr std::string_view kQuotient = "tw::quotient";
constexpr int64_t kWorthwhile = 4;  // iterations for which a reciprocal and a test pay

bool is_quotient(const Expr& expr) {
  return expr.kind == Expr::Kind::call && expr.text == kQuotient && expr.args.size() == 2;
}

bool has_quotient(const ExprRef& expr) {
  return expr && (is_quotient(*expr) || std::ranges::any_of(expr->args, has_quotient));
}

bool has_quotient(const std::vector<Stmt>& body) {
  return std::ranges::any_of(body, [](const Stmt& stmt) {
    return has_quotient(stmt.value) || has_quotient(stmt.target) || has_quotient(stmt.begin) ||
           has_quotient(stmt.limit) || has_quotient(stmt.step) || has_quotient(stmt.body) ||
           has_quotient(stmt.otherwise);
  });
}

/// Whether `expr` reads the variable or array.
bool reads(const ExprRef& expr, const std::string& variable) {
  if (!expr) return false;
  const bool named = expr->kind == Expr::Kind::name || expr->kind == Expr::Kind::element;
  if (named && expr->text == variable) return true;
  return std::ranges::any_of(expr->args, [&](const ExprRef& arg) { return reads(arg, variable); });
}

/// `expr` with each quotient corrected, which `smallest` is told of, or divided when it is empty.
ExprRef with_quotients(const ExprRef& expr, const std::string& smallest) {
  if (!has_quotient(expr)) return expr;
  std::vector<ExprRef> args;
  for (const ExprRef& arg : expr->args) args.push_back(with_quotients(arg, smallest));
  if (is_quotient(*expr)) {
    if (smallest.empty()) return fold::raw_binary("/", args[0], args[1]);
    args.push_back(name(smallest));
    return call(std::string(kQuotient), std::move(args));
  }
  Expr copy = *expr;
  copy.args = std::move(args);
  return std::make_shared<const Expr>(std::move(copy));
}

void divide(Stmt& stmt) {
  for (ExprRef* expr : {&stmt.target, &stmt.value, &stmt.begin, &stmt.limit, &stmt.step})
    *expr = with_quotients(*expr, "");
}

/// The divisor of the one quotient in `expr`; null when there are several or it depends on the
/// variable.
ExprRef single_divisor(const ExprRef& expr, const std::string& variable) {
  if (is_quotient(*expr)) {
    const bool depends = reads(expr->args[1], variable) || has_quotient(expr->args[0]);
    return depends || has_quotient(expr->args[1]) ? nullptr : expr->args[1];
  }
  const auto holds = [](const ExprRef& arg) { return has_quotient(arg); };
  if (std::ranges::count_if(expr->args, holds) != 1) return nullptr;
  return single_divisor(*std::ranges::find_if(expr->args, holds), variable);
}

/// The divisor of a loop that only fills an array of registers with what it computes from other
/// variables, so that it can run twice, dividing all by one; null when it is no such loop.
ExprRef divisor_of(const Stmt& loop) {
  if (loop.kind != Stmt::Kind::loop || !loop.unroll || loop.body.size() != 1) return nullptr;
  const auto known = [](const ExprRef& x) { return x && x->kind == Expr::Kind::integer; };
  if (!known(loop.begin) || !known(loop.limit) || !known(loop.step)) return nullptr;
  const Stmt& stmt = loop.body[0];
  const bool worthwhile = (loop.limit->value - loop.begin->value) / loop.step->value >= kWorthwhile;
  if (!worthwhile || stmt.kind != Stmt::Kind::assign || stmt.op != "=" ||
      stmt.target->kind != Expr::Kind::element || has_quotient(stmt.target) ||
      !has_quotient(stmt.value) || reads(stmt.value, stmt.target->text))
    return nullptr;
  return single_divisor(stmt.value, loop.name);
}

class Grouping {
 public:
  explicit Grouping(Names& names) : names_(names) {}

  void run(std::vector<Stmt>& body) {
    std::vector<Stmt> result;
    for (Stmt& stmt : body) {
      if (const ExprRef divisor = divisor_of(stmt)) {
        group(std::move(stmt), divisor, result);
        continue;
      }
      divide(stmt);
      run(stmt.body);
      run(stmt.otherwise);
      result.push_back(std::move(stmt));
    }
    body = std::move(result);
  }

 private:
  void group(Stmt loop, const ExprRef& divisor, std::vector<Stmt>& result) {
    const std::string smallest = names_.unique("smallest");
    Stmt again = loop;
    divide(again.body[0]);
    loop.body[0].value = with_quotients(loop.body[0].value, smallest);
    result.push_back(declare("float", smallest, call("tw::infinity", {}), false));
    result.push_back(std::move(loop));
    const ExprRef least = call("tw::least_quotient", {divisor});
    Stmt otherwise =
        branch(unary("!", fold::raw_binary(">=", name(smallest), least)), {std::move(again)});
    result.push_back(std::move(otherwise));
  }

  Names& names_;
};

}  // namespace

void group_quotients(Kernel& kernel, Names& names) {
  if (has_quotient(kernel.body)) Grouping(names).run(kernel.body);
}

}  // namespace tilewright::codegen
