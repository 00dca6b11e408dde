// The text and the rules of random, print and inline_ptx.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/support/expect_error.h"
#include "tilewright/ir/parse.h"
#include "tilewright/ir/print.h"
#include "tilewright/ir/print_format.h"
#include "tilewright/ir/verify.h"

namespace tilewright::ir {
namespace {

std::string with(std::string_view line) {
  return fmt::format(R"(func @f(%x: f32[8], %n: i64) {{
  axis B0 "i" = 4
  %0 = constant 0 : i64
  %1 = constant 8 : i64
  %true = constant 1 : bool
  tile_loop (%0) (%1) () {{axes=[0], parallel=1}} (%i: slice<B0>) {{
    %2 = load %x, %i : f32[B0]
    {}
    store %x, %2, %i
    yield
  }}
}}
)",
                     line);
}

TEST(DebugOps, TextIsReadBack) {
  for (const char* line : {"%3 = random %0, %n, %1 {word=3} : i32",
                           R"(print %true, %n {format="n is {}, \"quoted\" \\ {{}}\x0a"})",
                           R"(print %true {format="bad", fatal="bad"})",
                           R"(%3 = inline_ptx %2, %2 {ptx="add.f32 %0, %1, %2;"} : f16[B0])",
                           R"(%3 = inline_ptx %n {ptx="mov.b64 %0, %1;", twin="host_1"} : i64)"}) {
    const Function fn = parse(with(line));
    verify(fn, "parse");
    EXPECT_NE(print(fn).find(line), std::string::npos) << print(fn);
    EXPECT_EQ(print(parse(print(fn))), print(fn));
  }
}

TEST(DebugOps, RulesAreChecked) {
  constexpr std::pair<const char*, const char*> kFaults[] = {
      {"%3 = random %0, %n, %1 {word=4} : i32", "word must be 0 to 3"},
      {"%3 = random %2, %2, %2 {word=0} : i32[B0]", "operands must be i64"},
      {R"(print %true, %n {format="no place"})", "the format is of 0 values, found 1"},
      {R"(print %true, %n {format="{:x}"})", "stands alone"},
      {R"(print %true, %2 {format="{}"})", "operands' shapes differ"},
      {R"(print %n {format=""})", "operand condition must be a bool"},
      {R"(%3 = inline_ptx %2, %n {ptx=""} : f32[B0])", "operands' shapes differ"},
  };
  for (const auto& [line, message] : kFaults)
    testing::expect_error(ErrorId::parse_ir, 0, message, [&] { parse(with(line)); });
}

TEST(DebugOps, FormatsAreTakenApart) {
  const PrintFormat format = parse_print_format("a{}{{b}}{}");
  EXPECT_EQ(format.fault, "");
  EXPECT_EQ(format.texts, (std::vector<std::string>{"a", "{b}", ""}));
  EXPECT_NE(parse_print_format("a}b").fault, "");
  EXPECT_NE(parse_print_format("{").fault, "");
  EXPECT_EQ(print_prefix({"/a/b.h", 3}), "b.h:3: ");
  EXPECT_EQ(print_prefix({}), "");
}

}  // namespace
}  // namespace tilewright::ir
