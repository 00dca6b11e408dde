// The passes of the IR, text in and text out.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/ir_samples.h"
#include "tilewright/ir/cse.h"
#include "tilewright/ir/dce.h"
#include "tilewright/ir/form_fma.h"
#include "tilewright/ir/parse.h"
#include "tilewright/ir/print.h"
#include "tilewright/ir/simplify.h"
#include "tilewright/ir/verify.h"

namespace tilewright::ir {
namespace {

using Pass = Function (*)(const Function&);

std::string run(Pass pass, std::string_view text) {
  const Function result = pass(parse(text));
  verify(result, "the pass under test");
  return print(result);
}

/// The passes leave dead operations behind; this shows what remains of the wanted ones.
Function simplify_and_clean(const Function& fn) { return eliminate_dead_code(simplify(fn)); }

/// A function whose value %r, made from run-time scalars, is stored.
std::string program(const std::string& dtype, const std::string& body) {
  return "func @f(%out: " + dtype + "[], %x: " + dtype + ", %y: " + dtype + ", %z: " + dtype +
         ", %i: i16, %n: i64, %p: bool) {\n" + body + "\n  store %out, %r\n}\n";
}

/// What simplify makes of `body`, as the operations before the store (one a line, no indent), then
/// the stored value: "%0 = .. ; %0", or "%x".
std::string simplified(const std::string& dtype, const std::string& body) {
  const std::string text = run(simplify_and_clean, program(dtype, body));
  std::string result;
  size_t at = text.find('\n') + 1;
  for (size_t end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    const std::string line = text.substr(at, end - at);
    if (line.starts_with("  store %out, ")) return result + line.substr(14);
    result += line.substr(2) + "; ";
  }
  return text;
}

struct Case {
  const char* dtype;
  const char* body;
  const char* expected;
};

class SimplifyTest : public ::testing::TestWithParam<Case> {};

TEST_P(SimplifyTest, Gives) {
  EXPECT_EQ(simplified(GetParam().dtype, GetParam().body), GetParam().expected) << GetParam().body;
}

constexpr Case kIdentities[] = {
    {"i32", "%c = constant 0 : i32\n%r = binary add %x, %c", "%x"},
    {"i32", "%c = constant 0 : i32\n%r = binary add %c, %x", "%x"},
    {"i32", "%c = constant 0 : i32\n%r = binary sub %x, %c", "%x"},
    {"i32", "%c = constant 1 : i32\n%r = binary mul %c, %x", "%x"},
    {"i32", "%c = constant 1 : i32\n%r = binary div %x, %c", "%x"},
    {"i32", "%c = constant -1 : i32\n%r = binary bit_and %x, %c", "%x"},
    {"u8", "%c = constant 255 : u8\n%r = binary bit_and %x, %c", "%x"},
    {"bool", "%c = constant 1 : bool\n%r = binary bit_and %c, %x", "%x"},
    {"bool", "%c = constant 1 : bool\n%r = binary bit_or %x, %c", "%c = constant 1 : bool; %c"},
    {"i32", "%c = constant 0 : i32\n%r = binary bit_or %x, %c", "%x"},
    {"i32", "%c = constant 0 : i32\n%r = binary shl %x, %c", "%x"},
    {"i32", "%c = constant 0 : i32\n%r = binary mul %x, %c", "%r = constant 0 : i32; %r"},
    {"i32", "%c = constant 0 : i32\n%r = binary div %x, %c", "%r = constant 0 : i32; %r"},
    {"i32", "%c = constant 0 : i32\n%r = binary rem %x, %c", "%x"},
    {"i32", "%c = constant 1 : i32\n%r = binary rem %x, %c", "%r = constant 0 : i32; %r"},
    {"i32", "%r = binary sub %x, %x", "%r = constant 0 : i32; %r"},
    {"i32", "%r = binary min %x, %x", "%x"},
    {"i32", "%r = binary div %x, %x", "%r = binary div %x, %x : i32; %r"},
    {"i32", "%s = binary add %x, %y\n%r = binary sub %s, %y", "%x"},
    {"i32", "%s = binary add %x, %y\n%r = binary sub %s, %x", "%y"},
    {"i32", "%s = binary sub %x, %y\n%r = binary add %y, %s", "%x"},
    {"i32", "%c = constant 3 : i32\n%s = binary add %c, %x\n%r = binary sub %s, %c", "%x"},
    {"i32",
     "%c = constant 3 : i32\n%d = constant 4 : i32\n%s = binary sub %x, %c\n"
     "%r = binary sub %s, %d",
     "%0 = constant 7 : i32; %r = binary sub %x, %0 : i32; %r"},
    {"i8", "%c = constant 100 : i8\n%s = binary add %x, %c\n%r = binary add %s, %c",
     "%0 = constant -56 : i8; %r = binary add %x, %0 : i8; %r"},
    {"i32", "%c = constant 3 : i32\n%s = binary mul %x, %c\n%r = binary mul %c, %s",
     "%0 = constant 9 : i32; %r = binary mul %x, %0 : i32; %r"},
    {"i32", "%c = constant 2 : i32\n%s = unary neg %c\n%r = binary add %x, %s",
     "%s = constant -2 : i32; %r = binary add %x, %s : i32; %r"},
    {"i32", "%a = unary neg %x\n%r = unary neg %a", "%x"},
    {"i32", "%a = unary bit_not %x\n%r = unary bit_not %a", "%x"},
    {"f32", "%a = unary neg %x\n%r = unary abs %a", "%r = unary abs %x : f32; %r"},
    {"f32", "%a = unary floor %x\n%r = unary floor %a", "%a = unary floor %x : f32; %a"},
};
INSTANTIATE_TEST_SUITE_P(Identities, SimplifyTest, ::testing::ValuesIn(kIdentities));

constexpr Case kFloats[] = {
    // x + 0 is not x for x = -0.
    {"f32", "%c = constant 0.0 : f32\n%r = binary add %x, %c",
     "%c = constant 0.0 : f32; %r = binary add %x, %c : f32; %r"},
    {"f32", "%c = constant -0.0 : f32\n%r = binary add %x, %c", "%x"},
    {"f32", "%c = constant 0.0 : f32\n%r = binary sub %x, %c", "%x"},
    {"f32", "%c = constant -0.0 : f32\n%r = binary sub %x, %c",
     "%c = constant -0.0 : f32; %r = binary sub %x, %c : f32; %r"},
    {"f16", "%c = constant 1.0 : f16\n%r = binary mul %x, %c", "%x"},
    // x * 0 is not 0 for NaN, inf and negative x, nor is x - x.
    {"f32", "%c = constant 0.0 : f32\n%r = binary mul %x, %c",
     "%c = constant 0.0 : f32; %r = binary mul %x, %c : f32; %r"},
    {"f32", "%r = binary sub %x, %x", "%r = binary sub %x, %x : f32; %r"},
    {"f32", "%s = binary add %x, %y\n%r = binary sub %s, %y",
     "%s = binary add %x, %y : f32; %r = binary sub %s, %y : f32; %r"},
    {"f32", "%r = binary max %x, %x", "%x"},
    {"f32", "%c = constant 8.0 : f32\n%r = binary div %x, %c",
     "%0 = constant 0.125 : f32; %r = binary mul %x, %0 : f32; %r"},
    {"f32", "%c = constant 3.0 : f32\n%r = binary div %x, %c",
     "%c = constant 3.0 : f32; %r = binary div %x, %c : f32; %r"},
    // The reciprocal of 2^-9 is no f8e4m3.
    {"f8e4m3", "%c = constant 256.0 : f8e4m3\n%r = binary div %x, %c",
     "%0 = constant 0.00390625 : f8e4m3; %r = binary mul %x, %0 : f8e4m3; %r"},
    {"f8e4m3", "%c = constant 0.001953125 : f8e4m3\n%r = binary div %x, %c",
     "%c = constant 0.001953125 : f8e4m3; %r = binary div %x, %c : f8e4m3; %r"},
    // x * 1 is not x for an infinity of f8e5m2, which it makes finite.
    {"f8e4m3", "%c = constant 1.0 : f8e4m3\n%r = binary mul %x, %c", "%x"},
    {"f8e5m2", "%c = constant 1.0 : f8e5m2\n%r = binary mul %x, %c",
     "%c = constant 1.0 : f8e5m2; %r = binary mul %x, %c : f8e5m2; %r"},
    {"f8e5m2", "%r = binary max %x, %x", "%r = binary max %x, %x : f8e5m2; %r"},
    {"f8e5m2", "%n1 = unary neg %x\n%r = unary neg %n1",
     "%n1 = unary neg %x : f8e5m2; %r = unary neg %n1 : f8e5m2; %r"},
    {"f32", "%c = constant 1.0 : f32\n%r = fma %x, %c, %y", "%r = binary add %x, %y : f32; %r"},
    {"f32", "%c = constant -0.0 : f32\n%r = fma %x, %y, %c", "%r = binary mul %x, %y : f32; %r"},
    {"f32", "%c = constant 0.0 : f32\n%r = fma %x, %y, %c",
     "%c = constant 0.0 : f32; %r = fma %x, %y, %c : f32; %r"},
    {"f32", "%c = constant 0.1 : f32\n%d = constant 0.2 : f32\n%r = binary add %c, %d",
     "%r = constant 0.30000001192092896 : f32; %r"},
    {"f32", "%c = constant 1.0 : f32\n%r = unary exp %c",
     "%c = constant 1.0 : f32; %r = unary exp %c : f32; %r"},
};
INSTANTIATE_TEST_SUITE_P(Floats, SimplifyTest, ::testing::ValuesIn(kFloats));

constexpr Case kSelectsAndCasts[] = {
    {"f32", "%c = constant 1 : bool\n%r = select %c, %x, %y", "%x"},
    {"f32", "%c = constant 0 : bool\n%r = select %c, %x, %y", "%y"},
    {"f32", "%r = select %p, %x, %x", "%x"},
    {"f32", "%q = unary bit_not %p\n%r = select %q, %x, %y", "%r = select %p, %y, %x : f32; %r"},
    {"bool", "%a = constant 1 : bool\n%b = constant 0 : bool\n%r = select %p, %a, %b", "%p"},
    {"bool", "%a = constant 0 : bool\n%b = constant 1 : bool\n%r = select %p, %a, %b",
     "%r = unary bit_not %p : bool; %r"},
    {"bool", "%r = compare le %n, %n", "%r = constant 1 : bool; %r"},
    {"bool", "%r = compare lt %n, %n", "%r = constant 0 : bool; %r"},
    // x == x is false for NaN.
    {"bool", "%v = cast %n : f32\n%r = compare eq %v, %v",
     "%v = cast %n : f32; %r = compare eq %v, %v : bool; %r"},
    {"f16", "%w = cast %x : f32\n%r = cast %w : f16", "%x"},
    {"f8e4m3", "%w = cast %x : f16\n%r = cast %w : f8e4m3", "%x"},
    {"f8e5m2", "%w = cast %x : f16\n%r = cast %w : f8e5m2",
     "%w = cast %x : f16; %r = cast %w : f8e5m2; %r"},
    {"bf16", "%w = cast %x : f8e4m3\n%r = cast %w : bf16",
     "%w = cast %x : f8e4m3; %r = cast %w : bf16; %r"},
    {"f8e4m3", "%c = constant 1000 : i64\n%r = cast %c : f8e4m3",
     "%r = constant 448.0 : f8e4m3; %r"},
    {"f32", "%w = cast %x : f16\n%r = cast %w : f32", "%w = cast %x : f16; %r = cast %w : f32; %r"},
    {"f64", "%a = cast %i : i64\n%r = cast %a : f64", "%r = cast %i : f64; %r"},
    // By way of a float, narrowing saturates.
    {"i8", "%a = cast %i : f32\n%r = cast %a : i8", "%a = cast %i : f32; %r = cast %a : i8; %r"},
    {"i32", "%a = cast %i : f32\n%r = cast %a : i32", "%r = cast %i : i32; %r"},
    {"i16", "%a = cast %x : i8\n%r = cast %a : i16", "%a = cast %x : i8; %r = cast %a : i16; %r"},
    {"bf16", "%a = cast %n : f64\n%r = cast %a : bf16",
     "%a = cast %n : f64; %r = cast %a : bf16; %r"},
    {"f32", "%c = constant 7 : i64\n%r = cast %c : f32", "%r = constant 7.0 : f32; %r"},
};
INSTANTIATE_TEST_SUITE_P(SelectsAndCasts, SimplifyTest, ::testing::ValuesIn(kSelectsAndCasts));

constexpr std::string_view kShapes = R"(func @f(%a: f32[4,6], %s: f32, %n: i64) {
  axis B0 "i" = 4
  %0 = constant 0 : i64
  %rows = dim %a {axis=0}
  %cols = dim %a {axis=1}
  tile_loop (%0) (%rows) () {axes=[0], parallel=1} (%i: slice<B0>) {
    %all = slice %0, %cols {dim=[6]}
    %begin = slice_begin %all
    %end = slice_end %all
    %v = load %a, %i, %all
    %t = permute %v {dims=[1,0]}
    %u = permute %t {dims=[1,0]}
    %two = constant 2.0 : f32
    %scale = binary mul %s, %two
    %fill = broadcast %scale {shape=[B0], dims=[]}
    %wide = broadcast %fill {shape=[B0,6], dims=[0]}
    %plus = binary add %wide, %wide
    %w = binary mul %u, %plus
    %same = broadcast %w {shape=[B0,6], dims=[0,1]}
    %r = reduce add %same {axes=[]}
    %at = slice %begin, %end {dim=[6]}
    store %a, %r, %i, %at
  }
})";

TEST(Simplify, ShapesAndIndices) {
  EXPECT_EQ(run(simplify_and_clean, kShapes), R"(func @f(%a: f32[4,6], %s: f32, %n: i64) {
  axis B0 "i" = 4
  %begin = constant 0 : i64
  %rows = constant 4 : i64
  %cols = constant 6 : i64
  tile_loop (%begin) (%rows) () {axes=[0], parallel=1} (%i: slice<B0>) {
    %all = slice %begin, %cols {dim=[6]} : slice<6>
    %end = constant 6 : i64
    %v = load %a, %i, %all : f32[B0,6]
    %two = constant 2.0 : f32
    %scale = binary mul %s, %two : f32
    %0 = binary add %scale, %scale : f32
    %plus = broadcast %0 {shape=[B0,6], dims=[]} : f32[B0,6]
    %w = binary mul %v, %plus : f32[B0,6]
    %at = slice %begin, %end {dim=[6]} : slice<6>
    store %a, %w, %i, %at
  }
}
)");
}

TEST(Simplify, SliceEndNeedsABoundBlock) {
  const auto text = [](const std::string& block) {
    return "func @f(%out: i64[], %n: i64) {\n  axis B0" + block +
           "\n  %0 = constant 0 : i64\n"
           "  tile_loop (%0) (%n) () {axes=[0], parallel=0} (%i: slice<B0>) {\n"
           "    %s = slice %0, %n {dim=[B0]} : slice<B0>\n"
           "    %e = slice_end %s : i64\n    store %out, %e\n  }\n}\n";
  };
  EXPECT_EQ(run(simplify_and_clean, text("")), text(""));
  EXPECT_NE(run(simplify_and_clean, text(" = 8")).find("%e = binary min %n, "), std::string::npos)
      << run(simplify_and_clean, text(" = 8"));
}

TEST(Simplify, ControlFlowOnConstants) {
  EXPECT_EQ(run(simplify_and_clean, R"(func @f(%out: f32[], %x: f32, %y: f32, %p: bool) {
  axis B0
  %0 = constant 0 : i64
  %yes = constant 1 : bool
  %a = if_else %yes : f32 {
    %s = binary add %x, %y
    %b = if_else %yes : f32 {
      yield %s
    } {
      yield %y
    }
    yield %b
  } {
    yield %y
  }
  %c = tile_loop (%0) (%0) (%a) {axes=[0], parallel=0} (%i: slice<B0>, %k: f32) {
    %n = unary neg %k
    yield %n
  }
  store %out, %c
})"),
            R"(func @f(%out: f32[], %x: f32, %y: f32, %p: bool) {
  axis B0
  %s = binary add %x, %y : f32
  store %out, %s
}
)");
}

TEST(Simplify, NeverFoldsOnWhatALoopChanges) {
  const std::string text = R"(func @f(%out: i64[], %n: i64) {
  axis B0
  %0 = constant 0 : i64
  %one = constant 1 : i64
  %count = tile_loop (%0) (%n) (%0) {axes=[0], parallel=0} : i64 (%i: slice<B0>, %c: i64) {
    %d = binary add %c, %one : i64
    yield %d
  }
  %r = binary add %count, %one : i64
  store %out, %r
}
)";
  EXPECT_EQ(run(simplify_and_clean, text), text);
}

TEST(Simplify, LeavesWhatIsSimple) {
  for (std::string_view sample : {testing::kPipelined}) EXPECT_EQ(run(simplify, sample), sample);
  const std::string once = run(simplify, testing::kProduct);
  EXPECT_EQ(run(simplify, once), once);
}

TEST(Cse, MergesWhereTheFirstIsVisible) {
  EXPECT_EQ(
      run(eliminate_common_subexpressions, R"(func @f(%out: f32[], %x: f32, %y: f32, %p: bool) {
  %a = binary add %x, %y
  %b = binary add %y, %x
  %c = binary sub %x, %y
  %d = binary sub %y, %x
  %r = if_else %p : f32 {
    %e = binary add %x, %y
    %f = binary mul %e, %b
    yield %f
  } {
    %g = binary mul %a, %a
    yield %g
  }
  %h = binary mul %b, %a
  %zero = constant 0.0 : f32
  %minus = constant -0.0 : f32
  %again = constant 0.0 : f32
  %u = binary add %zero, %minus
  %v = binary add %again, %c
  %l = load %out
  %m = load %out
  store %out, %d
})"),
      R"(func @f(%out: f32[], %x: f32, %y: f32, %p: bool) {
  %a = binary add %x, %y : f32
  %c = binary sub %x, %y : f32
  %d = binary sub %y, %x : f32
  %r = if_else %p : f32 {
    %f = binary mul %a, %a : f32
    yield %f
  } {
    %g = binary mul %a, %a : f32
    yield %g
  }
  %h = binary mul %a, %a : f32
  %zero = constant 0.0 : f32
  %minus = constant -0.0 : f32
  %u = binary add %zero, %minus : f32
  %v = binary add %zero, %c : f32
  %l = load %out : f32
  %m = load %out : f32
  store %out, %d
}
)");
}

TEST(Dce, KeepsWhatStoresNeed) {
  EXPECT_EQ(run(eliminate_dead_code, R"(func @f(%x: f32[8], %out: f32[], %p: bool) {
  axis B0
  axis B1
  %0 = constant 0 : i64
  %8 = constant 8 : i64
  %z = constant 0.0 : f32
  %unused = binary add %0, %8
  %keep, %self, %dead, %same = tile_loop (%0) (%8) (%z, %z, %z, %z) {axes=[0], parallel=0}
      (%i: slice<B0>, %a: f32, %b: f32, %c: f32, %d: f32) {
    %v = load %x, %i
    %lost = load %x, %i
    %s = reduce add %v {axes=[0]}
    %a2 = binary add %a, %s
    %a3 = binary add %a2, %b
    %c2 = binary add %c, %c
    yield %a3, %b, %c2, %z
  }
  tile_loop (%0) (%8) () {axes=[1], parallel=0} (%j: slice<B1>) {
    %nothing = load %x, %j
    yield
  }
  if_else %p {
    %w = unary neg %z
  } {
    yield
  }
  %t, %u, %e = if_else %p : f32, f32, f32 {
    %n = unary neg %keep
    yield %n, %keep, %self
  } {
    %o = unary exp %keep
    yield %self, %o, %self
  }
  %q = binary add %t, %e
  %r = binary add %q, %same
  store %out, %r
})"),
            R"(func @f(%x: f32[8], %out: f32[], %p: bool) {
  axis B0
  axis B1
  %0 = constant 0 : i64
  %1 = constant 8 : i64
  %z = constant 0.0 : f32
  %keep = tile_loop (%0) (%1) (%z) {axes=[0], parallel=0} : f32 (%i: slice<B0>, %a: f32) {
    %v = load %x, %i : f32[B0]
    %s = reduce add %v {axes=[0]} : f32
    %a2 = binary add %a, %s : f32
    %a3 = binary add %a2, %z : f32
    yield %a3
  }
  %t = if_else %p : f32 {
    %n = unary neg %keep : f32
    yield %n
  } {
    yield %z
  }
  %q = binary add %t, %z : f32
  %r = binary add %q, %z : f32
  store %out, %r
}
)");
}

TEST(Dce, DropsWhatNestedLoopsPassThroughUnchanged) {
  EXPECT_EQ(run(eliminate_dead_code, R"(func @f(%x: f32[8], %out: f32[], %s: f32) {
  axis B0
  axis B1
  %0 = constant 0 : i64
  %8 = constant 8 : i64
  %r = tile_loop (%0) (%8) (%s) {axes=[0], parallel=0} (%i: slice<B0>, %a: f32) {
    %b = tile_loop (%0) (%8) (%a) {axes=[1], parallel=0} (%j: slice<B1>, %c: f32) {
      %v = load %x, %j
      store %x, %v, %j
      yield %c
    }
    yield %b
  }
  store %out, %r
})"),
            R"(func @f(%x: f32[8], %out: f32[], %s: f32) {
  axis B0
  axis B1
  %0 = constant 0 : i64
  %1 = constant 8 : i64
  tile_loop (%0) (%1) () {axes=[0], parallel=0} (%i: slice<B0>) {
    tile_loop (%0) (%1) () {axes=[1], parallel=0} (%j: slice<B1>) {
      %v = load %x, %j : f32[B1]
      store %x, %v, %j
    }
  }
  store %out, %s
}
)");
}

TEST(Dce, KeepsSwappedValuesAndRings) {
  const std::string swap = R"(func @f(%out: f32[], %x: f32, %y: f32, %n: i64) {
  axis B0
  %0 = constant 0 : i64
  %a, %b = tile_loop (%0) (%n) (%x, %y) {axes=[0], parallel=0} : f32, f32 (%i: slice<B0>, %c: f32, %d: f32) {
    yield %d, %c
  }
  store %out, %a
}
)";
  EXPECT_EQ(run(eliminate_dead_code, swap), swap);
  EXPECT_EQ(run(eliminate_dead_code, testing::kPipelined), testing::kPipelined);
  EXPECT_EQ(run(eliminate_dead_code, testing::kProduct), testing::kProduct);
}

TEST(FormFma, ContractsSingleUseProducts) {
  EXPECT_EQ(run(form_fma, R"(func @f(%out: f32[], %a: f32, %b: f32, %c: f32, %h: f16, %p: bool) {
  %m = binary mul %a, %b
  %s = binary add %m, %c
  %m1 = binary mul %a, %b
  %s1 = binary add %c, %m1
  %m2 = binary mul %a, %b
  %s2 = binary sub %m2, %c
  %m3 = binary mul %a, %b
  %s3 = binary sub %c, %m3
  %m4 = binary mul %a, %b
  %m5 = binary mul %b, %c
  %s4 = binary add %m4, %m5
  %m6 = binary mul %a, %b
  %s5 = binary add %m6, %m6
  %m7 = binary mul %h, %h
  %s6 = binary add %m7, %h
  %m8 = binary mul %a, %a
  if_else %p {
    %s7 = binary add %m8, %c
    store %out, %s7
  }
})"),
            R"(func @f(%out: f32[], %a: f32, %b: f32, %c: f32, %h: f16, %p: bool) {
  %s = fma %a, %b, %c : f32
  %s1 = fma %a, %b, %c : f32
  %0 = unary neg %c : f32
  %s2 = fma %a, %b, %0 : f32
  %1 = unary neg %a : f32
  %s3 = fma %1, %b, %c : f32
  %m5 = binary mul %b, %c : f32
  %s4 = fma %a, %b, %m5 : f32
  %m6 = binary mul %a, %b : f32
  %s5 = binary add %m6, %m6 : f32
  %m7 = binary mul %h, %h : f16
  %s6 = binary add %m7, %h : f16
  %m8 = binary mul %a, %a : f32
  if_else %p {
    %s7 = binary add %m8, %c : f32
    store %out, %s7
  }
}
)");
}

}  // namespace
}  // namespace tilewright::ir
