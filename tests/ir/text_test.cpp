// The text form: what the printer writes, that it reads back, and what the parser says to bad text.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/support/expect_error.h"
#include "tests/support/ir_samples.h"
#include "tilewright/ir/builder.h"
#include "tilewright/ir/parse.h"
#include "tilewright/ir/print.h"

namespace tilewright::ir {
namespace {

using testing::expect_error;

TEST(Text, SamplesReadBackAsTheyWereWritten) {
  for (std::string_view text :
       {testing::kProduct, testing::kPipelined, testing::kMixed, testing::kGrids})
    EXPECT_EQ(print(parse(text)), text);
}

TEST(Text, WithoutNamesEverythingIsNumberedAndReadsBack) {
  for (std::string_view text :
       {testing::kProduct, testing::kPipelined, testing::kMixed, testing::kGrids}) {
    const std::string bare = print(parse(text), {.names = false});
    EXPECT_EQ(bare.find("acc"), std::string::npos);
    EXPECT_EQ(bare.find('@' + std::string("product")), std::string::npos);
    EXPECT_EQ(print(parse(bare)), bare);
    EXPECT_EQ(print(parse(bare), {.names = false}), bare);
  }
}

TEST(Text, LocationsAreKept) {
  const std::string text =
      "func @f(%x: f32[4]) loc(\"a \\\"b\\\".cpp\":3) {\n"
      "  axis B0 \"i\" = 2 loc(\"k.cpp\":4)\n"
      "  %0 = constant 0 : i64 loc(\"k.cpp\":5)\n"
      "  tile_loop (%0) (%0) () {axes=[0], parallel=0} loc(\"k.cpp\":6) (%i: slice<B0>) {\n"
      "    %1 = slice_begin %i : i64 loc(\"\\x01\":7)\n"
      "  }\n"
      "}\n";
  EXPECT_EQ(print(parse(text), {.locations = true}), text);
  EXPECT_EQ(print(parse(text)).find("loc"), std::string::npos);
}

TEST(Text, NamesAreMadeUniqueAndPlain) {
  Function fn;
  fn.name = "f";
  Builder b(fn);
  for (const char* name : {"acc", "acc", "a.1", "", "1st", "acc", "a b", "ä"})
    const_cast<Value*>(b.index(7))->name = name;
  const std::string text = print(fn);
  for (const char* name : {"%acc =", "%acc.1 =", "%a_1 =", "%0 =", "%_1st =", "%acc.2 =", "%a_b ="})
    EXPECT_NE(text.find(name), std::string::npos) << text;
  const Function again = parse(text);
  EXPECT_EQ(print(again), text);
  EXPECT_EQ(again.body().ops[5]->result()->name, "acc");
  EXPECT_EQ(again.body().ops[3]->result()->name, "");
}

TEST(Text, FloatConstantsKeepTheirValue) {
  EXPECT_EQ(float_text(0.0), "0.0");
  EXPECT_EQ(float_text(-0.0), "-0.0");
  EXPECT_EQ(float_text(0.1), "0.1");
  EXPECT_EQ(float_text(1e300), "1e+300");
  std::mt19937_64 random(1);
  Function fn;
  Builder b(fn);
  std::vector<double> values = {5e-324, 1e-310, 1.7976931348623157e308, -0.0, 16777217.0};
  for (int i = 0; i < 200; ++i) values.push_back(std::bit_cast<double>(random()));
  std::erase_if(values, [](double v) { return v != v; });
  for (double value : values) b.constant(DType::f64, value);
  const Function again = parse(print(fn));
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(std::bit_cast<uint64_t>(std::get<double>(*again.body().ops[i]->find(AttrKey::value))),
              std::bit_cast<uint64_t>(values[i]));
}

TEST(Text, ReadsWhatAPersonWouldWrite) {
  const Function fn = parse(R"(
// a comment
func @f(%x: f32[4], %n: i64) {
  axis B0
  %zero = constant 0 : i64
  %one = constant 1 : f32   // an integer for a float
  tile_loop (%zero) (%n) () {axes=[0], parallel=1}
      (%i: slice<B0>) {
    %v = load %x, %i        // the type follows
    %w = unary neg %v
    store %x, %w, %i
  }
})");
  EXPECT_EQ(print(fn), R"(func @f(%x: f32[4], %n: i64) {
  axis B0
  %zero = constant 0 : i64
  %one = constant 1.0 : f32
  tile_loop (%zero) (%n) () {axes=[0], parallel=1} (%i: slice<B0>) {
    %v = load %x, %i : f32[B0]
    %w = unary neg %v : f32[B0]
    store %x, %w, %i
  }
}
)");
}

struct BadText {
  const char* text;
  const char* message;
};

class BadTextTest : public ::testing::TestWithParam<BadText> {};

TEST_P(BadTextTest, IsRefusedWithItsLine) {
  expect_error(ErrorId::parse_ir, 0, GetParam().message, [] { parse(GetParam().text); });
}

constexpr BadText kBadHeaders[] = {
    {"", "line 1: expected 'func', found the end of the text"},
    {"\n\nfunk", "line 3: expected 'func', found 'funk'"},
    {"func", "line 1: expected '(', found the end"},
    {"func @", "expected a name, found the end"},
    {"func @f(", "expected a parameter, found the end"},
    {"func @f(%a)", "expected ':', found ')'"},
    {"func @f(%a: f33[4])", "unknown type 'f33'"},
    {"func @f(%a: f32[4)", "expected ']', found ')'"},
    {"func @f(%a: f32[-4]) {}", "-4 is out of range"},
    {"func @f(%a: f32[4.5]) {}", "expected an integer, found '4.5'"},
    {"func @f(%a: f32[99999999999999999999]) {}", "out of range"},
    {"func @f(%a: f32[4000000000,4000000000]) {}", "too many elements"},
    {"func @f(%a: f32[4,4]:[4]) {}", "one stride per size"},
    {"func @f(%a: f32[4,4]:[4,9223372036854775807]) {}", "strides of a tensor are too large"},
    {"func @f(%a: f32[4]@3) {}", "power of two"},
    {"func @f(%a: f32[4], %a: f32[4]) {}", "%a is defined twice"},
    {"func @f(%a: f32[?4]) {}", "expected 'sized', found ')'"},
    {"func @f(%n: i32, %a: f32[?,4] sized %n) {}", "must be an i64 parameter before it"},
    {"func @f(%a: f32 allocated) {}", "expected ')', found 'allocated'"},
    {"func @f(%a: f32[4]) -> (%b) {}", "%b is not defined"},
    {"func @f(%a: f32) -> (%a) {}", "a result is not a tensor"},
    {"func @f() {", "line 1: expected an operation, found the end"},
    {"func @f() {\n}\n}", "line 3: unexpected '}' after the function"},
    {"func @f() { axis B1 }", "expected axis B0, found 'B1'"},
    {"func @f() { axis B0 = 0 }", "0 is out of range"},
    {"func @f() loc(12) {}", "expected a file name"},
    {"func @f() loc(\"a\":0) {}", "0 is out of range"},
    {"func @\"f", "a string does not end"},
    {"func @\"\\q\"", "unknown escape"},
    {"func @\"\\x1\"", "unknown escape"},
    {"func $", "unexpected character '$'"},
    {"func @f(%x: f32[4] allocated, %y: f32[4] allocated) -> (%y) { }",
     "a tensor that is no result stands before one that is"},
    {"func @f() { tunable x = 1 of [1] }", "expected a tunable's name, found 'x'"},
    {"func @f() { tunable \"x\" = 1 [1] }", "expected 'of', found '['"},
    {"func \x01", "unexpected character '\\x01'"},
    {"func @f() {\n % }", "line 2: '%' must be followed by a name"},
    {"func @f() { -", "unexpected character '-'"},
};
INSTANTIATE_TEST_SUITE_P(Headers, BadTextTest, ::testing::ValuesIn(kBadHeaders));

constexpr BadText kBadOperations[] = {
    {"func @f() {\n  frobnicate\n}", "line 2: unknown operation 'frobnicate'"},
    {"func @f() {\n  %x = \n}", "line 3: expected an operation, found '}'"},
    {"func @f() { %x constant 1 : i64 }", "expected '=', found 'constant'"},
    {"func @f() { %x = constant : i64 }", "expected a number, found ':'"},
    {"func @f() { %x = constant 1e999 : f32 }", "'1e999' is not a number"},
    {"func @f() { %x = constant 1.2.3 : f32 }", "'1.2.3' is not a number"},
    {"func @f() { %x = constant 9223372036854775808 : i64 }", "out of range"},
    {"func @f() { %x = constant 1 }", "has 0 results, the text names 1"},
    {"func @f() { constant 1 : i64 }", "has 1 results, the text names 0"},
    {"func @f() { %x = constant 1.5 : i64 }", "value and dtype do not agree"},
    {"func @f() { %x = constant 1 : i64[4] }", "is a scalar"},
    {"func @f() { %x = constant 1 : i64, i64 }", "has 2 results, the text names 1"},
    {"func @f() { %x, %y = constant 1 : i64, i64 }", "constant: has 1 results, not 2"},
    {"func @f() { %x, %x = constant 1 : i64, i64 }", "%x is defined twice"},
    {"func @f() { %x = constant 1 : slice<", "expected an integer, found the end"},
    {"func @f() { %x = constant 1 : bag<3>", "unknown type 'bag'"},
    {"func @f() { %x = constant 1 : f32[C0]", "expected a dimension, found 'C0'"},
    {"func @f() { %x = constant 1 : f32[B0x]", "expected a dimension, found 'B0x'"},
    {"func @f() { %x = constant 1 : ring<f32[4],0>", "0 is out of range"},
    {"func @f() { %x = iota {shape=[B3]} : i64[B3] }", "B3 names no axis"},
    {"func @f() { axis B0\n %x = iota {shape=[B0]} : i64[B0] }",
     "line 2: iota: B0 is used outside"},
    {"func @f() { %x = iota : i64[4] }", "needs attribute shape"},
    {"func @f() { %x = iota {size=[4]} : i64[4] }", "iota has no attribute 'size'"},
    {"func @f() { %x = iota {axes=[4]} : i64[4] }", "iota has no attribute 'axes'"},
    {"func @f() { %x = iota {shape=[4], shape=[4]} : i64[4] }", "'shape' is given twice"},
    {"func @f() { %x = iota {shape=4} : i64[4] }", "expected '[', found '4'"},
    {"func @f() { %x = iota {shape=[4]} : i64[5] }", "iota: the results' types are not those"},
    {"func @f() { %x = iota {shape=[4,4]} : i64[4,4] }", "must be one dimension"},
    {"func @f(%a: f32) { %x = binary %a, %a }", "expected a function, found '%a'"},
    {"func @f(%a: f32) { %x = binary plus %a, %a }", "unknown function 'plus'"},
    {"func @f(%a: f32) { %x = binary exp %a, %a }", "exp is no such function"},
    {"func @f(%a: f32) { %x = binary add %a }", "takes the operands 'x y', has 1"},
    {"func @f(%a: f32) { %x = binary add %a, }", "expected a value, found '}'"},
    {"func @f(%a: f32) { %x = binary add %a, %b }", "%b is not defined"},
    {"func @f(%a: f32) { %x = binary add %a, %x }", "%x is not defined"},
    {"func @f(%a: f32, %b: f64) { %x = binary add %a, %b }", "operands' dtypes differ"},
    {"func @f(%a: f32) { %x = binary bit_and %a, %a }", "does not take this dtype"},
    {"func @f(%a: f32) { %x = binary add %a, %a : f64 }", "types are not those written"},
    {"func @f(%a: f32[4]) { %x = unary neg %a }",
     "operand x must be a tile or a scalar, is tensor"},
    {"func @f(%a: i32) { %x = fma %a, %a, %a }", "takes floating-point"},
    {"func @f(%a: f32[4]) { %x = load %a }", "needs one index per dimension"},
    {"func @f(%a: f32[4], %i: i32) { %x = load %a, %i }", "operand index must be a slice, an i64"},
    {"func @f(%a: f32[4], %i: i64) { %x = load %a, %i {guard=[1]} }", "guard must name index"},
    {"func @f(%a: f32[4], %i: i64) { %x = load %a, %i {guard=[-1]} }", "guard must name index"},
    {"func @f(%a: f32[4]) { %x = dim %a {axis=1} }", "axis is not one of the tensor's"},
    {"func @f(%a: f32[4]) { %x = dim %a {axis=-1} }", "axis is not one of the tensor's"},
    {"func @f(%a: f32) { %x = permute %a {dims=[0]} }", "dims must be a permutation"},
    {"func @f(%a: f32) { %x = reshape %a {shape=[2]} }", "as many elements between them"},
    {"func @f(%a: f32) { %x = reduce sub %a {axes=[]} }", "sub cannot reduce"},
    {"func @f(%a: f32) { %x = reduce add %a {axes=[0]} }", "axes must name dimensions"},
    {"func @f(%a: f32) { %x = broadcast %a {shape=[2], dims=[0]} }", "dims must name every"},
    {"func @f(%a: f32) { %x = dot %a, %a, %a }", "needs 2-d tiles"},
    {"func @f(%a: f32) { %x = cast %a : f64[4] }", "changes the shape"},
    {"func @f() { %x = ring {shape=[4], stages=2} : ring<f32[4],3> }", "does not repeat"},
    {"func @f() { %x = ring {shape=[4], stages=0} : ring<f32[4],3> }", "stages must be positive"},
    {"func @f(%a: f32) { copy %a, %a }", "operand slot must be a slot"},
};
INSTANTIATE_TEST_SUITE_P(Operations, BadTextTest, ::testing::ValuesIn(kBadOperations));

constexpr BadText kBadRegions[] = {
    {"func @f(%c: bool) {\n  if_else %c {\n    yield\n",
     "line 4: expected an operation, found the"},
    {"func @f(%c: bool) { if_else %c { yield %c } }", "yield does not fit the results"},
    {"func @f(%c: bool) { %x = if_else %c : bool { yield %c } }", "yield does not fit"},
    {"func @f(%c: bool) {\n if_else %c { %x = constant 1 : i64 }\n %y = cast %x : f32 }",
     "line 3: %x is not visible here"},
    {"func @f(%c: bool) {\n yield\n yield }", "line 2: yield: stands before the end"},
    {"func @f(%c: bool) { yield %c }", "function: the body yields a value"},
    {"func @f(%c: bool) { if_else %c (%i: i64) { } }", "take no arguments"},
    {"func @f(%c: i64) { if_else %c { } }", "operand condition must be a bool"},
    {"func @f(%c: bool) { while_loop %c { } }", "the body's yield is not the next condition"},
    {"func @f(%c: bool, %n: i64) { %x = while_loop %c, %n { yield %c, %n } }",
     "the body's arguments are not the carried values"},
    {"func @f(%c: bool, %n: i64) { while_loop %c, %n (%i: i64) { yield %c, %i } }",
     "has 1 results, the text names 0"},
    {"func @f(%c: i64) { while_loop %c { } }", "operand condition must be a bool"},
    {"func @f(%c: bool) { if_else %c { grid_barrier } }", "stands inside a loop or branch"},
    {"func @f(%n: i64) { axis B0\n tile_loop (%n) () () {axes=[0], parallel=0} {} }",
     "needs one limit per axis"},
    {"func @f(%n: i64) { axis B0\n tile_loop (%n) (%n) {axes=[0], parallel=0} {} }",
     "expected '(', found '{'"},
    {"func @f(%n: i64) { axis B0\n tile_loop (%n) (%n) () {parallel=0} {} }", "needs one begin"},
    {"func @f(%n: i64) { axis B0\n tile_loop (%n) (%n) () {axes=[1], parallel=0} {} }",
     "axes must be distinct axes"},
    {"func @f(%n: i64) { axis B0\n tile_loop (%n) (%n) () {axes=[0], parallel=2} {} }",
     "parallel must be 0 or 1"},
    {"func @f(%n: i64) { axis B0\n tile_loop (%n) (%n) (%n) {axes=[0], parallel=1} {} }",
     "a parallel loop carries no values"},
    {"func @f(%n: i64) { axis B0\n tile_loop (%n) (%n) () {axes=[0], parallel=0} {} }",
     "the body's arguments are not one slice per axis"},
    {"func @f(%n: i64) { axis B0\n tile_loop (%n) (%n) () {axes=[0], parallel=0} (%i: i64) {} }",
     "the body's arguments are not one slice per axis"},
    {"func @f(%n: i64) { axis B0\n tile_loop (%n) (%n) () {axes=[0], parallel=0} (%i slice) {} }",
     "expected ':', found 'slice'"},
    {"func @f(%n: i64) { axis B0\n"
     "%r = tile_loop (%n) (%n) (%n) {axes=[0], parallel=0} (%i: slice<B0>, %c: i64) { yield } }",
     "line 2: tile_loop: the body's yield does not fit"},
    {"func @f(%n: i64) { axis B0\n"
     "%r = tile_loop (%n) (%n) (%n) {axes=[0], parallel=0} : f32 (%i: slice<B0>, %c: f32) {} }",
     "the results' types are not those written"},
    {"func @f(%n: i64) { axis B0\n"
     "%r = tile_loop (%n) (%n) (%n) {axes=[0], parallel=0} (%i: slice<B0>, %c: i64) { yield %r } }",
     "%r is not visible here"},
};
INSTANTIATE_TEST_SUITE_P(Regions, BadTextTest, ::testing::ValuesIn(kBadRegions));

TEST(Text, DeepNestingIsRefusedNotOverflowed) {
  std::string text = "func @f(%c: bool) {";
  for (int i = 0; i < 40000; ++i) text += " if_else %c {";
  expect_error(ErrorId::parse_ir, 0, "nested too deeply", [&] { parse(text); });
}

/// Cuts and scrambles good text: the parser may accept or refuse it, and must do one of the two.
TEST(Text, DamagedTextNeverCrashesTheParser) {
  std::mt19937 random(7);
  int refused = 0;
  for (std::string_view sample :
       {testing::kProduct, testing::kPipelined, testing::kMixed, testing::kGrids}) {
    for (int i = 0; i < 400; ++i) {
      std::string text(sample);
      for (int edit = random() % 3; edit >= 0; --edit) {
        const size_t at = random() % text.size(), from = random() % text.size();
        const size_t length = 1 + random() % 12;
        if (random() % 2)
          text.erase(at, length);
        else
          text.insert(at, text.substr(from, length));
      }
      try {
        const std::string printed = print(parse(text));
        EXPECT_EQ(print(parse(printed)), printed);
      } catch (const Error& error) {
        EXPECT_EQ(to_string(error.id()), to_string(ErrorId::parse_ir));
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace tilewright::ir
