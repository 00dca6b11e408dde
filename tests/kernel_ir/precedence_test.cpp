// Printed expressions mean what the tree says: they are read back by C++'s precedence rules.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <random>

#include "tilewright/codegen/kernel_ir.h"
#include "tilewright/codegen/kernel_ir_fold.h"
#include "tilewright/codegen/print_cuda_expr.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

/// Evaluates C++ integer expressions of names a..d, as a compiler would group them.
class Calculator {
 public:
  Calculator(std::string text, const int64_t* values) : text_(std::move(text)), values_(values) {}

  int64_t run() {
    const int64_t value = conditional();
    skip();
    EXPECT_EQ(at_, text_.size()) << text_;
    return value;
  }

 private:
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  bool take(const std::string& token) {
    skip();
    if (text_.compare(at_, token.size(), token) != 0) return false;
    at_ += token.size();
    return true;
  }

  int64_t conditional() {
    const int64_t condition = binary(0);
    if (!take("?")) return condition;
    const int64_t x = conditional();
    EXPECT_TRUE(take(":")) << text_;
    const int64_t y = conditional();
    return condition != 0 ? x : y;
  }

  int64_t binary(size_t level) {
    static const std::vector<std::vector<std::string>> levels = {{"||"},
                                                                 {"&&"},
                                                                 {"|"},
                                                                 {"^"},
                                                                 {"&"},
                                                                 {"==", "!="},
                                                                 {"<=", ">=", "<", ">"},
                                                                 {"<<", ">>"},
                                                                 {"+", "-"},
                                                                 {"*", "/", "%"}};
    if (level == levels.size()) return unary();
    int64_t x = binary(level + 1);
    for (;;) {
      const std::string op = operator_here();
      if (std::ranges::find(levels[level], op) == levels[level].end()) return x;
      at_ += op.size();
      const int64_t y = binary(level + 1);
      const std::optional<int64_t> value = fold::compute(op, x, y);
      // Anything, but the same for both readings.
      x = value ? *value : 12345 + x;
    }
  }

  /// The longest operator at the position; empty when there is none.
  std::string operator_here() {
    skip();
    for (const char* op : {"||", "&&", "==", "!=", "<=", ">=", "<<", ">>"})
      if (text_.compare(at_, 2, op) == 0) return op;
    return at_ < text_.size() && std::string("|^&<>+-*/%").find(text_[at_]) != std::string::npos
               ? std::string(1, text_[at_])
               : "";
  }

  int64_t unary() {
    if (take("--")) ADD_FAILURE() << "a decrement: " << text_;
    if (take("-")) return -unary();
    if (take("~")) return ~unary();
    if (take("!")) return unary() == 0;
    if (take("(long long)")) return unary();
    return primary();
  }

  int64_t primary() {
    if (take("(")) {
      const int64_t value = conditional();
      EXPECT_TRUE(take(")")) << text_;
      return value;
    }
    skip();
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (c >= 'a' && c <= 'd') {
      ++at_;
      return values_[c - 'a'];
    }
    size_t digits = 0;
    EXPECT_TRUE(std::isdigit(static_cast<unsigned char>(c))) << text_ << " at " << at_;
    const int64_t value = std::stoll(text_.substr(at_), &digits);
    at_ += digits;
    return value;
  }

  std::string text_;
  const int64_t* values_;
  size_t at_ = 0;
};

/// As the tree says, with the calculator's stand-in where an operator has no value.
int64_t value_of(const Expr& x, const int64_t* values) {
  const auto arg = [&](size_t i) { return value_of(*x.args[i], values); };
  if (x.kind == Expr::Kind::integer) return x.value;
  if (x.kind == Expr::Kind::name) return values[x.text[0] - 'a'];
  if (x.kind == Expr::Kind::cast) return arg(0);
  if (x.kind == Expr::Kind::unary)
    return x.text == "-" ? -arg(0) : x.text == "~" ? ~arg(0) : arg(0) == 0;
  if (x.kind == Expr::Kind::conditional) return arg(0) != 0 ? arg(1) : arg(2);
  const int64_t left = arg(0), right = arg(1);
  const std::optional<int64_t> value = fold::compute(x.text, left, right);
  return value ? *value : 12345 + left;
}

ExprRef random_tree(std::mt19937& random, int depth) {
  const auto pick = [&](int count) { return std::uniform_int_distribution(0, count - 1)(random); };
  if (depth == 0)
    return pick(2) == 0 ? integer(pick(21) - 10)
                        : name(std::string(1, static_cast<char>('a' + pick(4))));
  static const char* const operators[] = {"||", "&&", "|",  "^",  "&", "==", "!=", "<", ">",
                                          "<=", ">=", "<<", ">>", "+", "-",  "*",  "/", "%"};
  const ExprRef x = random_tree(random, depth - 1);
  switch (pick(8)) {
    case 0:
      return unary(pick(2) == 0 ? "-" : "~", x);
    case 1:
      return conditional(x, random_tree(random, depth - 1), random_tree(random, depth - 1));
    case 2:
      return cast("long long", x);
    default:
      return fold::raw_binary(operators[pick(18)], x, random_tree(random, depth - 1));
  }
}

TEST(Precedence, RandomTreesReadBackAsTheyAre) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 4000; ++trial) {
    const ExprRef x = random_tree(random, 1 + trial % 5);
    int64_t values[4];
    for (int64_t& value : values) value = std::uniform_int_distribution(-20, 20)(random);
    // Literals of 64 bits carry a suffix that the calculator does not read.
    std::string text = expr_text(*x);
    for (size_t at; (at = text.find("LL")) != std::string::npos;) text.erase(at, 2);
    ASSERT_EQ(Calculator(text, values).run(), value_of(*x, values)) << expr_text(*x);
  }
}

std::string text(const ExprRef& x) { return expr_text(*x); }
ExprRef n(const char* text) { return name(text); }
ExprRef raw(const char* op, ExprRef x, ExprRef y) {
  return fold::raw_binary(op, std::move(x), std::move(y));
}

TEST(Precedence, AsFewParenthesesAsNeeded) {
  EXPECT_EQ(text(raw("-", raw("-", n("a"), n("b")), n("c"))), "a - b - c");
  EXPECT_EQ(text(raw("-", n("a"), raw("-", n("b"), n("c")))), "a - (b - c)");
  EXPECT_EQ(text(raw("+", n("a"), raw("+", n("b"), n("c")))), "a + (b + c)") << "floats round";
  EXPECT_EQ(text(raw("*", raw("%", n("a"), integer(16)), integer(4))), "a % 16 * 4");
  EXPECT_EQ(text(raw("*", raw("+", n("a"), n("b")), n("c"))), "(a + b) * c");
  EXPECT_EQ(text(raw("||", raw("&&", n("a"), n("b")), n("c"))), "(a && b) || c");
  EXPECT_EQ(text(raw("<<", raw("+", n("a"), n("b")), n("c"))), "(a + b) << c");
  EXPECT_EQ(text(raw("&", raw("&", n("a"), n("b")), n("c"))), "a & b & c");
  EXPECT_EQ(text(raw("*", n("a"), unary("-", n("b")))), "a * (-b)");
  EXPECT_EQ(text(unary("-", real(-1.5))), "-(-1.5f)");
  EXPECT_EQ(text(conditional(n("a"), n("b"), conditional(n("c"), n("d"), n("a")))),
            "a ? b : c ? d : a");
  EXPECT_EQ(text(cast("int", raw("+", n("a"), n("b")))), "(int)(a + b)");
}

TEST(Precedence, ElementsAddressesAndMembers) {
  EXPECT_EQ(text(element("acc", {n("i"), n("j")})), "acc[i][j]");
  EXPECT_EQ(text(shared("ring", {n("s"), n("a") + n("b")})), "shared.ring[s][a + b]");
  EXPECT_EQ(text(address(global("x", n("a") + n("b")))), "&x[a + b]");
  EXPECT_EQ(text(address(element("acc", {n("i"), integer(0)}))), "acc[i]");
  EXPECT_EQ(text(address(global("x", integer(0)))), "x");
  EXPECT_EQ(text(member(n("tile"), "row")), "tile.row");
  EXPECT_EQ(text(address(element("value", {}))), "&value");
}

TEST(Precedence, RealLiteralsReadBackExactly) {
  EXPECT_EQ(text(real(1)), "1.0f");
  EXPECT_EQ(text(real(-0.0)), "-0.0f");
  EXPECT_EQ(text(real(0.1)), "0.1f");
  EXPECT_EQ(text(real(0.1, DType::f64)), "0.1");
  EXPECT_EQ(text(real(1e30)), "1e+30f");
  EXPECT_EQ(text(real(HUGE_VAL)), "tw::infinity()");
  EXPECT_EQ(text(real(-HUGE_VAL, DType::f64)), "-(double)tw::infinity()");
  EXPECT_EQ(text(real(NAN)), "tw::nan()");
  EXPECT_EQ(text(real(1e300)), "tw::infinity()") << "beyond f32";
  EXPECT_THROW(real(1, DType::f16), InternalError);
}

}  // namespace
}  // namespace tilewright::codegen
