// Operations with functions as regions, and with several results: text form, verifier, passes.
#include "tilewright/ir/combine.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tilewright/ir/canonical.h"
#include "tilewright/ir/cse.h"
#include "tilewright/ir/dce.h"
#include "tilewright/ir/error.h"
#include "tilewright/ir/parse.h"
#include "tilewright/ir/print.h"
#include "tilewright/ir/simplify.h"
#include "tilewright/ir/verify.h"

namespace tilewright::ir {
namespace {

using testing::expect_error;

constexpr std::string_view kCombining = R"(func @combining(%x: f32[64,32], %y: f32[64,32]) -> (%y) {
  axis B0 "rows"
  %0 = constant 0 : i64
  %1 = constant 64 : i64
  tile_loop (%0) (%1) () {axes=[0], parallel=1} (%rows: slice<B0>) {
    %2 = constant 32 : i64
    %3 = slice %0, %2 {dim=[32]} : slice<32>
    %4 = load %x, %rows, %3 : f32[B0,32]
    %5 = constant 0.0 : f32
    %6 = constant -inf : f32
    %7, %8 = combine %4, %4, %5, %6 {axes=[1]} : f32[B0], f32[B0] (%9: f32, %10: f32, %11: f32, %12: f32) {
      %13 = binary add %9, %11 : f32
      %14 = binary max %10, %12 : f32
      yield %13, %14
    }
    %15 = scan %4, %5 {axis=1, reverse=0, exclusive=1} : f32[B0,32] (%16: f32, %17: f32) {
      %18 = binary add %16, %17 : f32
      yield %18
    }
    %19, %20 = sort %4, %15 {axis=1, descending=0, count=16} : f32[B0,16], f32[B0,16]
    %21 = join %19, %20 {axis=1} : f32[B0,2,16]
    %22 = pick %21 {axis=1, position=1} : f32[B0,16]
    %23 = reshape %21 {shape=[B0,32]} : f32[B0,32]
    %24 = broadcast %7 {shape=[B0,32], dims=[0]} : f32[B0,32]
    %25 = binary add %23, %24 : f32[B0,32]
    store %y, %25, %rows, %3
  }
}
)";

TEST(CombineText, RoundTrips) {
  const Function fn = parse(kCombining);
  EXPECT_EQ(print(fn), kCombining);
  verify(fn, "parse");
}

/// kCombining with `from` replaced, which must be refused with `message`.
void expect_refused(std::string_view from, std::string_view to, std::string_view message) {
  std::string text(kCombining);
  const size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  expect_error(ErrorId::parse_ir, 0, message, [&] { parse(text); });
}

TEST(CombineText, Faults) {
  expect_refused("combine %4, %4, %5, %6", "combine %4, %4, %5", "takes tiles and as many");
  expect_refused("combine %4, %4, %5, %6", "combine %4, %5, %5, %6", "takes tiles");
  expect_refused("combine %4, %4, %5, %6 {axes=[1]}", "combine %4, %4, %5, %0 {axes=[1]}",
                 "an identity is no scalar of its tile's dtype");
  expect_refused("{axes=[1]}", "{axes=[2]}", "axes must name dimensions, in order");
  expect_refused("{axes=[1]}", "{axes=[]}", "needs an axis");
  expect_refused("{axes=[1]}", "{axes=[1], guard=[0]}", "guard must name axes of the operation");
  expect_refused("yield %13, %14", "yield %13", "does not yield a scalar for each tile");
  expect_refused("%12: f32) {\n      %13", "%12: i32) {\n      %13", "");
  expect_refused("%18 = binary add %16, %17 : f32\n      yield %18",
                 "%18 = load %x, %0, %0 : f32\n      yield %18", "load cannot stand in its region");
  expect_refused("reverse=0, exclusive=1", "reverse=2, exclusive=1", "must be 0 or 1");
  expect_refused("{axis=1, reverse=0", "{axis=2, reverse=0", "axis must name a dimension");
  expect_refused("count=16", "count=33", "count must be at most the size");
  expect_refused("descending=0", "descending=3", "descending must be 0 or 1");
  expect_refused("sort %4, %15", "sort %4, %7", "takes tiles of one shape");
  expect_refused("join %19, %20 {axis=1}", "join %19, %4 {axis=1}", "operands' types differ");
  expect_refused("join %19, %20 {axis=1}", "join %19, %20 {axis=3}", "axis must be a dimension");
  expect_refused("position=1", "position=2", "position must be one of a constant dimension");
  expect_refused("pick %21 {axis=1", "pick %21 {axis=0", "position must be one of a constant");
  expect_refused("{shape=[B0,32]} : f32[B0,32]\n    %24", "{shape=[32,B0]} : f32[32,B0]\n    %24",
                 "needs the same blocks");
  expect_refused("%7, %8 = combine", "%7 = combine", "has 2 results, the text names 1");
}

TEST(CombinePasses, KeepWhatTheFunctionNeeds) {
  const Function fn = parse(kCombining);
  for (const auto& pass : {eliminate_dead_code, eliminate_common_subexpressions}) {
    const Function result = pass(fn);
    verify(result, "pass");
    EXPECT_NE(print(result).find("binary max"), std::string::npos);
  }
  const Function simple = simplify(fn);
  verify(simple, "simplify");
  // What is picked from a join is one of its operands.
  EXPECT_EQ(print(simple).find("pick"), std::string::npos);
}

TEST(CombinePasses, EqualFunctionsAreNotTakenForOne) {
  const Function fn = parse(R"(func @two(%x: f32[8], %y: f32[8]) -> (%y) {
  axis B0 "i" = 4
  %0 = constant 0 : i64
  %1 = constant 8 : i64
  %2 = constant 0.0 : f32
  tile_loop (%0) (%1) () {axes=[0], parallel=1} (%i: slice<B0>) {
    %3 = load %x, %i : f32[B0]
    %4 = scan %3, %2 {axis=0, reverse=0, exclusive=0} : f32[B0] (%5: f32, %6: f32) {
      %7 = binary add %5, %6 : f32
      yield %7
    }
    %8 = scan %3, %2 {axis=0, reverse=0, exclusive=0} : f32[B0] (%9: f32, %10: f32) {
      %11 = binary mul %9, %10 : f32
      yield %11
    }
    %12 = binary sub %4, %8 : f32[B0]
    store %y, %12, %i
  }
})");
  const Function merged = eliminate_common_subexpressions(fn);
  verify(merged, "cse");
  int scans = 0;
  for_each_op(merged.body(), [&](const Op& op) { scans += op.kind == OpKind::scan; });
  EXPECT_EQ(scans, 2);
}

TEST(Reshape, BlocksStayAndConstantsRegroup) {
  const Dim b = Dim::block(0), c = Dim::block(1);
  const auto n = [](int64_t extent) { return Dim::constant(extent); };
  EXPECT_TRUE(can_reshape({b, n(4), n(8)}, {b, n(32)}));
  EXPECT_TRUE(can_reshape({n(6), b, c}, {n(2), n(3), b, n(1), c}));
  EXPECT_TRUE(can_reshape({n(0), n(5)}, {n(7), n(0)}));
  EXPECT_TRUE(can_reshape({}, {n(1)}));
  EXPECT_FALSE(can_reshape({b, n(4)}, {n(4), b}));
  EXPECT_FALSE(can_reshape({b, c}, {c, b}));
  EXPECT_FALSE(can_reshape({b, n(4)}, {b, n(5)}));
  EXPECT_FALSE(can_reshape({b}, {b, b}));
  EXPECT_FALSE(can_reshape({n(int64_t{1} << 40), n(int64_t{1} << 40)}, {n(1)}));
}

}  // namespace
}  // namespace tilewright::ir
