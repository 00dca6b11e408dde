// What is known of integers and slices, and the hash.
#include "tilewright/ir/facts.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "tests/support/ir_samples.h"
#include "tilewright/ir/facts_arithmetic.h"
#include "tilewright/ir/fold.h"
#include "tilewright/ir/hash.h"
#include "tilewright/ir/parse.h"

namespace tilewright::ir {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

/// A function and the facts about it, by the names of the text.
class Known {
 public:
  explicit Known(const std::string& text) : fn_(parse(text)), facts_(fn_) {
    for (const Param& param : fn_.params) values_[param.name] = param.value;
    collect(fn_.body());
  }

  const Facts& facts() const { return facts_; }
  const Value* operator[](const std::string& name) const { return values_.at(name); }
  Range range(const std::string& name) const { return facts_.range(values_.at(name)); }
  int64_t divisor(const std::string& name) const { return facts_.divisor(values_.at(name)); }
  bool in_bounds(const std::string& slice, int64_t bound) const {
    return facts_.slice_in_bounds(values_.at(slice), bound);
  }

 private:
  void collect(const Region& region) {
    for (const Value* arg : region.args) values_[arg->name] = arg;
    for (const Op* op : region.ops) {
      for (const Value* result : op->results) values_[result->name] = result;
      for (const Region* inner : op->regions) collect(*inner);
    }
  }

  Function fn_;
  Facts facts_;
  std::map<std::string, const Value*> values_;
};

std::string function(const std::string& body, const std::string& axes = "axis B0 = 64\naxis B1\n") {
  return "func @f(%a: f32[1000,1024], %n: i64, %m: i64, %byte: i8) {\n" + axes + body + "\n}";
}

TEST(Facts, ScalarArithmetic) {
  const Known known(function(R"(
  %rows = dim %a {axis=0}
  %cols = dim %a {axis=1}
  %zero = constant 0 : i64
  %c16 = constant 16 : i64
  %least = constant -9223372036854775808 : i64
  %sum = binary add %rows, %c16
  %product = binary mul %n, %c16
  %sized = binary mul %cols, %c16
  %rest = binary rem %n, %c16
  %none = binary rem %sized, %c16
  %half = binary div %cols, %c16
  %low = binary min %n, %rows
  %clamped = binary max %low, %zero
  %scaled = binary mul %clamped, %c16
  %moved = binary sub %scaled, %c16
  %negated = unary neg %scaled
  %masked = binary bit_and %n, %c16
  %widened = cast %byte : i64
  %narrow = cast %scaled : i8
  %flag = compare lt %n, %m
  %either = select %flag, %rows, %c16
  %shifted = binary shl %clamped, %c16)"));
  EXPECT_EQ(known.range("rows"), (Range{1000, 1000}));
  EXPECT_EQ(known.divisor("rows"), 1000);
  EXPECT_EQ(known.divisor("zero"), 0);
  EXPECT_EQ(known.divisor("least"), int64_t{1} << 62);
  EXPECT_EQ(known.range("sum"), (Range{1016, 1016}));
  EXPECT_EQ(known.divisor("sum"), 1016);
  EXPECT_EQ(known.range("product"), Range{});
  EXPECT_EQ(known.divisor("product"), 16);
  EXPECT_EQ(known.range("rest"), (Range{-15, 15}));
  EXPECT_EQ(known.range("none"), (Range{0, 0}));
  EXPECT_EQ(known.divisor("none"), 0);
  EXPECT_EQ(known.range("half"), (Range{64, 64}));
  EXPECT_EQ(known.range("low"), (Range{kMin, 1000}));
  EXPECT_EQ(known.range("clamped"), (Range{0, 1000}));
  EXPECT_EQ(known.range("scaled"), (Range{0, 16000}));
  EXPECT_EQ(known.range("moved"), (Range{-16, 15984}));
  EXPECT_EQ(known.divisor("moved"), 16);
  EXPECT_EQ(known.range("negated"), (Range{-16000, 0}));
  EXPECT_EQ(known.divisor("negated"), 16);
  EXPECT_EQ(known.range("masked"), (Range{0, 16}));
  EXPECT_EQ(known.range("widened"), (Range{-128, 127}));
  EXPECT_EQ(known.range("narrow"), (Range{-128, 127}));
  EXPECT_EQ(known.divisor("narrow"), 16);
  EXPECT_EQ(known.range("flag"), (Range{0, 1}));
  EXPECT_EQ(known.range("either"), (Range{16, 1000}));
  EXPECT_EQ(known.divisor("either"), 8);
  EXPECT_EQ(known.range("shifted"), (Range{0, 65536000}));
  EXPECT_EQ(known.divisor("shifted"), 65536);
  EXPECT_EQ(known.range("n"), Range{});
  EXPECT_EQ(known.divisor("n"), 1);
}

TEST(Facts, WrappingKeepsOnlyPowersOfTwo) {
  const Known known(function("%c = constant 12 : i64\n%d = binary mul %n, %c"));
  EXPECT_EQ(known.range("d"), Range{});
  EXPECT_EQ(known.divisor("d"), 4);
}

/// Over ranges of small numbers: every result lies in the range and has the divisor.
TEST(Facts, RangesAndDivisorsHoldForEveryValue) {
  constexpr Fn fns[] = {Fn::add, Fn::sub,     Fn::mul, Fn::div, Fn::rem,    Fn::min,
                        Fn::max, Fn::bit_and, Fn::shl, Fn::shr, Fn::bit_xor};
  std::mt19937 random(11);
  const auto draw = [&] {
    const int64_t edges[] = {-128, -127, 127, 126, 0, 0, 1, -1};
    return random() % 3 ? static_cast<int64_t>(random() % 41) - 20 : edges[random() % 8];
  };
  for (int trial = 0; trial < 300; ++trial) {
    Range x{draw(), draw()}, y{draw(), draw()};
    if (random() % 3 == 0) y.max = y.min;
    if (x.min > x.max) std::swap(x.min, x.max);
    if (y.min > y.max) std::swap(y.min, y.max);
    const int64_t step = 1 + static_cast<int64_t>(random() % 6);
    for (Fn fn : fns) {
      const Range range = range_of(fn, DType::i8, x, y);
      const bool may_wrap = range == full_range(DType::i8);
      const int64_t y_divisor = y.min == y.max ? std::abs(y.min) : 1;
      const int64_t divisor = divisor_of(fn, DType::i8, step, y_divisor, y, may_wrap);
      for (int64_t i = x.min; i <= x.max; ++i)
        for (int64_t j = y.min; j <= y.max; ++j) {
          const int64_t value =
              fold_binary(fn, Scalar::of(DType::i8, i), Scalar::of(DType::i8, j))->i;
          ASSERT_TRUE(range.contains(value)) << info(fn).name << " " << i << " " << j;
          if (i % step != 0) continue;
          ASSERT_TRUE(divisor == 0 ? value == 0 : value % divisor == 0)
              << info(fn).name << " " << i << " " << j << " by " << divisor;
        }
    }
  }
}

std::string loop(const std::string& begin, const std::string& limit, const std::string& body,
                 const std::string& block) {
  return function("%begin = constant " + begin + " : i64\n%limit = constant " + limit +
                      " : i64\ntile_loop (%begin) (%limit) () {axes=[0], parallel=0} "
                      "(%i: slice<B0>) {\n" +
                      body + "\n}",
                  "axis B0" + block + "\n");
}

TEST(Facts, LoopsOverConstants) {
  EXPECT_FALSE(Known(loop("0", "1000", "", " = 64")).in_bounds("i", 1000));
  EXPECT_TRUE(Known(loop("0", "1024", "", " = 64")).in_bounds("i", 1024));
  EXPECT_FALSE(Known(loop("0", "1024", "", " = 64")).in_bounds("i", 1023));
  EXPECT_FALSE(Known(loop("0", "1024", "", "")).in_bounds("i", 1024));
  EXPECT_FALSE(Known(loop("1", "1024", "", " = 64")).in_bounds("i", 1024));
  EXPECT_TRUE(Known(loop("3", "131", "", " = 64")).in_bounds("i", 1024));
  EXPECT_TRUE(Known(loop("5", "5", "", " = 64")).in_bounds("i", 5));
  EXPECT_TRUE(Known(loop("9", "5", "", " = 64")).in_bounds("i", 5));
  EXPECT_TRUE(Known(loop("0", "9", "", " = 3")).in_bounds("i", 9));
  EXPECT_FALSE(Known(loop("0", "10", "", " = 3")).in_bounds("i", 10));
  EXPECT_FALSE(
      Known(loop("-9223372036854775808", "9223372036854775807", "", " = 64")).in_bounds("i", kMax));
}

TEST(Facts, PartsOfLoopSlices) {
  const std::string parts =
      "%b = slice_begin %i\n%e = slice_end %i\n%id = slice_id %i\n"
      "%at = slice_index %i\n%lane = iota {shape=[B0]}";
  const Known known(loop("0", "1000", parts, " = 64"));
  EXPECT_EQ(known.range("b"), (Range{0, 960}));
  EXPECT_EQ(known.divisor("b"), 64);
  EXPECT_EQ(known.range("e"), (Range{64, 1000}));
  EXPECT_EQ(known.divisor("e"), 8);
  EXPECT_EQ(known.range("id"), (Range{0, 15}));
  EXPECT_EQ(known.range("at"), (Range{0, 1023}));
  EXPECT_EQ(known.range("lane"), (Range{0, 63}));
  const Known unbound(loop("0", "1000", parts, ""));
  EXPECT_EQ(unbound.range("b"), (Range{0, 999}));
  EXPECT_EQ(unbound.divisor("b"), 1);
  EXPECT_EQ(unbound.range("e"), (Range{0, 1000}));
  EXPECT_EQ(unbound.range("id"), (Range{0, 999}));
  EXPECT_EQ(unbound.range("at"), (Range{0, kMax}));
  const Known single(loop("0", "64", parts, " = 64"));
  EXPECT_EQ(single.range("b"), (Range{0, 0}));
  EXPECT_EQ(single.range("e"), (Range{64, 64}));
  EXPECT_EQ(single.range("id"), (Range{0, 0}));
}

TEST(Facts, LoopsOverRunTimeBounds) {
  const Known known(function(R"(
  %zero = constant 0 : i64
  %c128 = constant 128 : i64
  %c100 = constant 100 : i64
  %rounded = binary mul %n, %c128
  %end = binary add %m, %c128
  %odd = binary add %m, %c100
  %shorter = binary min %rounded, %c128
  tile_loop (%zero) (%rounded) () {axes=[0], parallel=0} (%i: slice<B0>) {
  }
  tile_loop (%m) (%end) () {axes=[0], parallel=0} (%j: slice<B0>) {
  }
  tile_loop (%m) (%odd) () {axes=[0], parallel=0} (%k: slice<B0>) {
  }
  tile_loop (%zero) (%n) () {axes=[0], parallel=0} (%l: slice<B0>) {
  }
  tile_loop (%zero) (%shorter) () {axes=[0], parallel=0} (%o: slice<B0>) {
  })"));
  const Facts& facts = known.facts();
  EXPECT_TRUE(facts.slice_is_full(known["i"]));
  EXPECT_TRUE(facts.slice_in_bounds(known["i"], known["rounded"]));
  EXPECT_FALSE(facts.slice_in_bounds(known["i"], known["n"]));
  EXPECT_FALSE(known.in_bounds("i", 1 << 20));
  EXPECT_TRUE(facts.slice_is_full(known["j"]));
  EXPECT_FALSE(facts.slice_is_full(known["k"]));
  EXPECT_FALSE(facts.slice_is_full(known["l"]));
  EXPECT_FALSE(facts.slice_is_full(known["n"])) << "no slice";
  EXPECT_TRUE(known.in_bounds("o", 128));
  EXPECT_TRUE(facts.slice_in_bounds(known["o"], known["rounded"]));
}

TEST(Facts, SliceOperations) {
  const Known known(function(R"(
  %zero = constant 0 : i64
  %c32 = constant 32 : i64
  %cols = dim %a {axis=1}
  %rows = dim %a {axis=0}
  %all = slice %zero, %cols {dim=[1024]}
  %more = slice %zero, %cols {dim=[1025]}
  %some = slice %n, %cols {dim=[8]}
  tile_loop (%zero) (%cols) () {axes=[0], parallel=0} (%i: slice<B0>) {
    %b = slice_begin %i
    %e = slice_end %i
    %half = binary add %b, %c32
    %inner = slice %b, %e {dim=[64]}
    %first = slice %b, %cols {dim=[32]}
    %second = slice %half, %cols {dim=[32]}
    %past = slice %half, %cols {dim=[64]}
    %short = slice %half, %rows {dim=[32]}
    %wide = slice %b, %half {dim=[32]}
    %unbound = slice %b, %e {dim=[B0]}
  })"));
  const Facts& facts = known.facts();
  EXPECT_TRUE(known.in_bounds("all", 1024));
  EXPECT_FALSE(known.in_bounds("all", 1023));
  EXPECT_FALSE(known.in_bounds("more", 1024));
  EXPECT_FALSE(known.in_bounds("some", 1024));
  EXPECT_TRUE(known.in_bounds("first", 1024));
  EXPECT_TRUE(known.in_bounds("second", 1024));
  EXPECT_FALSE(known.in_bounds("past", 1024));
  EXPECT_FALSE(known.in_bounds("short", 1000));
  EXPECT_TRUE(known.in_bounds("wide", 1024));
  EXPECT_TRUE(facts.is_less(known["b"], known["cols"]));
  EXPECT_TRUE(facts.is_less_equal(known["e"], known["cols"]));
  EXPECT_FALSE(facts.is_less(known["e"], known["cols"]));
}

TEST(Hash, IgnoresNamesAndPlaces) {
  const std::string text =
      "func @f(%x: f32[4], %out: f32[4]) {\n  axis B0 \"i\" loc(\"a.cpp\":3)\n"
      "  %one = constant 1.0 : f32 loc(\"a.cpp\":4)\n}\n";
  const auto replaced = [&](std::string_view from, std::string_view to) {
    std::string changed = text;
    for (size_t at; (at = changed.find(from)) != std::string::npos;)
      changed.replace(at, from.size(), to);
    return hash(parse(changed));
  };
  const uint64_t base = hash(parse(text));
  EXPECT_EQ(replaced("%x", "%y"), base);
  EXPECT_EQ(replaced("@f", "@g"), base);
  EXPECT_EQ(replaced("\"i\"", "\"rows\""), base);
  EXPECT_EQ(replaced("a.cpp", "b.cpp"), base);
  EXPECT_EQ(replaced("%one", "%two"), base);
  EXPECT_NE(replaced("1.0", "1.5"), base);
  EXPECT_NE(replaced("f32[4]", "f32[5]"), base);
  EXPECT_NE(replaced(" loc(\"a.cpp\":3)", " = 8"), base);
}

TEST(Hash, IsStable) {
  EXPECT_EQ(hash_text(""), 0xefd01f60ba992926u);
  EXPECT_EQ(hash_text("tile"), 0xcc7f8db1c1ead3abu);
  EXPECT_EQ(hex8(0x0123456789abcdef), "88888888");
  EXPECT_EQ(hex8(0), "00000000");
  EXPECT_NE(hash(parse(testing::kProduct)), hash(parse(testing::kPipelined)));
}

}  // namespace
}  // namespace tilewright::ir
