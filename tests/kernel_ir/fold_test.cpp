// The constructors of kernel IR fold index expressions to what a person would write, without
// changing their value.
#include <gtest/gtest.h>

#include <random>

#include "tilewright/codegen/kernel_ir.h"
#include "tilewright/codegen/kernel_ir_fold.h"
#include "tilewright/codegen/print_cuda_expr.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

ExprRef n(const char* text) { return name(text); }
ExprRef c(int64_t value) { return integer(value); }
std::string text(const ExprRef& x) { return expr_text(*x); }

TEST(Fold, SumsDropZerosAndCollectConstants) {
  EXPECT_EQ(text(n("row") + c(0)), "row");
  EXPECT_EQ(text(c(0) + n("row")), "row");
  EXPECT_EQ(text(c(3) + n("row")), "row + 3");
  EXPECT_EQ(text(n("row") + c(3) + c(4)), "row + 7");
  EXPECT_EQ(text(n("row") + c(3) - c(4)), "row - 1");
  EXPECT_EQ(text(n("row") + c(3) - c(3)), "row");
  EXPECT_EQ(text(n("row") + c(3) + n("col")), "row + col + 3");
  EXPECT_EQ(text(n("row") + (n("col") + c(3))), "row + col + 3");
  EXPECT_EQ(text(n("a") + (n("b") - n("c"))), "a + b - c");
  EXPECT_EQ(text(n("row") - n("row")), "0");
  EXPECT_EQ(text(n("row") + n("col") - n("row")), "col");
  EXPECT_EQ(text(n("row") - n("col") + n("col")), "row");
  EXPECT_EQ(text((n("x") + c(3)) - (n("x") + c(1))), "2");
}

TEST(Fold, ProductsDropOnesAndCollectConstants) {
  EXPECT_EQ(text(n("row") * c(1)), "row");
  EXPECT_EQ(text(n("row") * c(0)), "0");
  EXPECT_EQ(text(n("i") * c(8)), "8 * i");
  EXPECT_EQ(text(c(64) * n("row")), "row * 64");
  EXPECT_EQ(text(n("i") * c(8) * c(4)), "32 * i");
  EXPECT_EQ(text((n("row") + c(1)) * c(4)), "(row + 1) * 4");
  EXPECT_EQ(text(n("threadIdx.x") % c(16) * c(4)), "threadIdx.x % 16 * 4");
}

TEST(Fold, QuotientsOfProducts) {
  EXPECT_EQ(text(n("row") / c(1)), "row");
  EXPECT_EQ(text(n("i") * c(8) / c(4)), "2 * i");
  EXPECT_EQ(text(n("i") * c(4) / c(8)), "i / 2");
  EXPECT_EQ(text(n("i") * c(6) / c(4)), "6 * i / 4");
  EXPECT_EQ(text(n("a") * n("b") / n("b")), "a");
  EXPECT_EQ(text(n("i") / c(4) / c(8)), "i / 32");
  EXPECT_EQ(text((n("i") * c(8) + n("j")) / c(4)), "2 * i + j / 4");
  EXPECT_EQ(text((n("i") * c(4) + n("j") % c(4)) / c(4)), "i");
  EXPECT_EQ(text((n("i") * c(4) + c(3)) / c(64)), "i / 16");
  EXPECT_EQ(text(n("i") % c(8) / c(8)), "0");
  EXPECT_EQ(text((n("i") * c(4) - c(1)) / c(4)), "(4 * i - 1) / 4") << "truncates to 0 for i = 0";
}

TEST(Fold, Remainders) {
  EXPECT_EQ(text(n("row") % c(1)), "0");
  EXPECT_EQ(text(n("i") * c(8) % c(4)), "0");
  EXPECT_EQ(text(n("tid") * c(4) % c(64)), "tid % 16 * 4");
  EXPECT_EQ(text((n("i") * c(8) + n("j")) % c(4)), "j % 4");
  EXPECT_EQ(text((n("i") * c(8) + c(3)) % c(4)), "3");
  EXPECT_EQ(text(n("i") % c(32) % c(8)), "i % 8");
  EXPECT_EQ(text(n("i") % c(8) % c(32)), "i % 8");
  EXPECT_EQ(text(n("i") / c(16) * c(16) + n("i") % c(16)), "i");
  EXPECT_EQ(text((n("i") - c(8)) % c(4)), "(i - 8) % 4") << "i - 8 may be negative";
}

TEST(Fold, ConstantsFollowCxx) {
  EXPECT_EQ(text(c(-1) / c(512)), "0");
  EXPECT_EQ(text(c(-7) / c(3)), "-2");
  EXPECT_EQ(text(c(-7) % c(3)), "-1");
  EXPECT_EQ(text(c(1) / c(0)), "1 / 0") << "left for whoever reads it";
  EXPECT_EQ(text(c(INT64_MAX) + c(1)), "9223372036854775807LL + 1");
  EXPECT_EQ(text(binary("<<", c(1), c(5))), "32");
  EXPECT_EQ(text(binary("==", c(5), c(5))), "1");
  EXPECT_EQ(text(unary("-", c(5))), "-5");
  EXPECT_EQ(text(unary("-", unary("-", n("x")))), "x");
  EXPECT_EQ(text(unary("!", c(0))), "1");
}

TEST(Fold, ConditionsAndNullIsTrue) {
  EXPECT_EQ(text(n("i") % c(4) < c(4)), "1");
  EXPECT_EQ(text(n("i") < c(4)), "i < 4");
  EXPECT_EQ(text(ExprRef() && (n("i") < c(4))), "i < 4");
  EXPECT_EQ(text((n("i") < c(4)) && ExprRef()), "i < 4");
  EXPECT_EQ((ExprRef() && ExprRef()), nullptr);
  EXPECT_EQ(text((n("i") < c(4)) && c(1)), "i < 4");
  EXPECT_EQ(text((n("i") < c(4)) && c(0)), "0");
  EXPECT_EQ(text((n("i") < c(4)) && (n("i") < c(4))), "i < 4");
  EXPECT_EQ(text(binary("||", n("x"), c(0))), "x");
  EXPECT_EQ(text(conditional(nullptr, n("x"), n("y"))), "x");
  EXPECT_EQ(text(conditional(c(0), n("x"), n("y"))), "y");
  EXPECT_EQ(text(conditional(n("p"), n("x"), n("x"))), "x");
}

TEST(Fold, SixtyFourBitsStayWide) {
  const ExprRef wide = cast("long long", n("row"));
  EXPECT_EQ(text(wide * c(8)), "(long long)row * 8");
  EXPECT_EQ(text(n("row") * integer(8, DType::i64)), "row * 8LL");
  EXPECT_EQ(text(n("row") * integer(8, DType::i64) * c(4)), "row * 32LL");
  EXPECT_EQ(text(n("row") * integer(1, DType::i64)), "(long long)row");
  EXPECT_EQ(text(n("row") + integer(3, DType::i64) + n("col")), "(long long)row + col + 3");
  EXPECT_EQ(text(integer(3'000'000'000)), "3000000000LL");
  EXPECT_EQ(text(c(INT32_MIN)), "(-2147483647 - 1)");
  EXPECT_EQ(text(integer(INT64_MIN)), "(-9223372036854775807LL - 1)");
  EXPECT_EQ(text(cast("long long", c(3))), "3LL");
  EXPECT_EQ(text(cast("int", cast("int", n("x")))), "(int)x");
}

TEST(Fold, SameIsStructural) {
  EXPECT_TRUE(same(n("a") + n("b"), n("a") + n("b")));
  EXPECT_FALSE(same(n("a") + n("b"), n("b") + n("a")));
  EXPECT_FALSE(same(c(1), integer(1, DType::i64)));
  EXPECT_FALSE(same(real(0.0), real(-0.0)));
  EXPECT_FALSE(same(real(1), real(1, DType::f64)));
  EXPECT_FALSE(same(nullptr, c(1)));
  EXPECT_TRUE(is_integer(c(3), 3));
  EXPECT_FALSE(is_integer(n("x"), 3));
  EXPECT_FALSE(is_integer(nullptr, 3));
}

/// The same index arithmetic twice: through the folding constructors and plain.
struct Pair {
  ExprRef folded, plain;
};

class RandomIndex {
 public:
  explicit RandomIndex(unsigned seed) : random_(seed) {}

  Pair make(int depth) {
    if (depth == 0 || pick(6) == 0) {
      static const char* const names[] = {"i", "row", "tid"};
      const ExprRef leaf = pick(3) == 0 ? c(pick(20)) : n(names[pick(3)]);
      return {leaf, leaf};
    }
    static const int64_t constants[] = {1, 2, 3, 4, 6, 8, 12, 16, 64};
    const Pair x = make(depth - 1);
    const ExprRef k = c(constants[pick(9)]);
    switch (pick(7)) {
      case 0:
      case 1: {
        const Pair y = make(depth - 1);
        return {x.folded + y.folded, fold::raw_binary("+", x.plain, y.plain)};
      }
      case 2:
        return {x.folded * k, fold::raw_binary("*", x.plain, k)};
      case 3:
      case 4:
        return {x.folded / k, fold::raw_binary("/", x.plain, k)};
      case 5:
        return {x.folded % k, fold::raw_binary("%", x.plain, k)};
      default: {
        // x - x % k is not negative, which a difference must be here to be divided again.
        const ExprRef rest = x.folded % k;
        return {x.folded - rest, fold::raw_binary("-", x.plain, fold::raw_binary("%", x.plain, k))};
      }
    }
  }

  int pick(int count) { return std::uniform_int_distribution(0, count - 1)(random_); }

 private:
  std::mt19937 random_;
};

TEST(Fold, KeepsTheValueOfRandomIndices) {
  RandomIndex random(1);
  for (int trial = 0; trial < 3000; ++trial) {
    const Pair pair = random.make(1 + trial % 5);
    for (int i = 0; i < 10; ++i) {
      const int64_t values[] = {random.pick(100), random.pick(1000), random.pick(128)};
      const auto lookup = [&](const std::string& name) {
        return values[name == "i" ? 0 : name == "row" ? 1 : 2];
      };
      ASSERT_EQ(evaluate(*pair.folded, lookup), evaluate(*pair.plain, lookup))
          << text(pair.plain) << "  became  " << text(pair.folded);
    }
  }
}

TEST(Evaluate, IntegerArithmeticOverScalars) {
  const auto lookup = [](const std::string& name) -> int64_t { return name == "m" ? 1000 : 7; };
  EXPECT_EQ(evaluate(*((n("m") + c(63)) / c(64)), lookup), 16);
  EXPECT_EQ(evaluate(*call("min", {n("m"), n("k")}), lookup), 7);
  EXPECT_EQ(evaluate(*conditional(n("m") < n("k"), c(1), c(2)), lookup), 2);
  EXPECT_EQ(evaluate(*unary("-", n("k")), lookup), -7);
  EXPECT_EQ(evaluate(*cast("int", n("m") * c(int64_t{1} << 32)), lookup), 0);
  EXPECT_EQ(evaluate(*(binary("!=", n("k"), c(7)) && (n("m") / (n("k") - c(7)))), lookup), 0);
}

TEST(Evaluate, RefusesTheRest) {
  const auto lookup = [](const std::string&) -> int64_t { return 0; };
  EXPECT_THROW(evaluate(*(n("m") / n("k")), lookup), InternalError);
  EXPECT_THROW(evaluate(*real(1), lookup), InternalError);
  EXPECT_THROW(evaluate(*global("a", c(0)), lookup), InternalError);
  EXPECT_THROW(evaluate(*call("expf", {n("m"), n("k")}), lookup), InternalError);
  EXPECT_THROW(evaluate(*cast("float", n("m")), lookup), InternalError);
}

TEST(SharedBuffer, BytesCountPadding) {
  EXPECT_EQ((SharedBuffer{"a", DType::f32, {2, 64, 20}}).bytes(), 10240);
  EXPECT_EQ((SharedBuffer{"flag", DType::boolean, {}}).bytes(), 1);
}

}  // namespace
}  // namespace tilewright::codegen
