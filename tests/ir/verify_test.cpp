// What the verifier refuses, beyond what the tests of the text form provoke through the parser.
#include "tilewright/ir/verify.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/expect_error.h"
#include "tests/support/ir_samples.h"
#include "tilewright/ir/builder.h"
#include "tilewright/ir/parse.h"
#include "tilewright/ir/print.h"

namespace tilewright::ir {
namespace {

using testing::expect_error;

Op& op_at(const Region& region, size_t i) { return const_cast<Op&>(*region.ops.at(i)); }
Value& value_of(const Value* value) { return const_cast<Value&>(*value); }

void expect_fault(const Function& fn, std::string_view message) {
  try {
    verify(fn, "test pass");
    ADD_FAILURE() << "no fault; expected " << message;
  } catch (const InternalError& error) {
    const std::string_view what = error.what();
    EXPECT_NE(what.find("after test pass: "), std::string_view::npos) << what;
    EXPECT_NE(what.find(message), std::string_view::npos) << what;
    EXPECT_NE(what.find("func @"), std::string_view::npos) << "the text of the function is missing";
  }
}

constexpr std::string_view kSmall = R"(func @small(%x: f32[8], %s: f32) -> (%x) {
  axis B0 "i" = 4
  %0 = constant 0 : i64
  %1 = constant 8 : i64
  tile_loop (%0) (%1) () {axes=[0], parallel=1} (%i: slice<B0>) {
    %2 = load %x, %i : f32[B0]
    %3 = binary add %2, %2 : f32[B0]
    store %x, %3, %i
  }
})";

TEST(Verify, AcceptsTheSamples) {
  for (std::string_view text :
       {testing::kProduct, testing::kPipelined, testing::kMixed, testing::kGrids, kSmall})
    EXPECT_NO_THROW(verify(parse(text), "parse"));
}

TEST(Verify, Header) {
  Function fn = parse(kSmall);
  fn.axes[0].block = -1;
  expect_fault(fn, "function: the block size of an axis is negative");
  fn = parse(kSmall);
  fn.results = {2};
  expect_fault(fn, "function: a result is not a tensor parameter");
  fn = parse(kSmall);
  fn.params[0].spec.dtype = DType::f16;
  expect_fault(fn, "the type and the spec of a parameter differ");
  fn = parse(kSmall);
  fn.params[1].allocated = true;
  expect_fault(fn, "a scalar parameter is marked allocated");
  fn = parse("func @f(%n: i64, %a: f32[?4] sized %n) {\n}\n");
  EXPECT_NO_THROW(verify(fn, "parse"));
  fn.params[1].size_param = -1;
  expect_fault(fn, "the size of a dynamic tensor is no scalar parameter");
}

TEST(Verify, Attributes) {
  Function fn = parse(kSmall);
  Op& constant = op_at(fn.body(), 0);
  const auto attributes = constant.attributes;
  constant.attributes = {{AttrKey::value, std::string("0")}};
  expect_fault(fn, "operation constant: attribute value is of the wrong type");
  constant.attributes = {};
  expect_fault(fn, "operation constant: needs attribute value");
  constant.attributes = {attributes[0], attributes[0]};
  expect_fault(fn, "attribute value is repeated");
  constant.attributes = {attributes[0], {AttrKey::axis, int64_t{1}}};
  expect_fault(fn, "has no attribute axis");
  constant.attributes = attributes;
  Op& loop = op_at(fn.body(), 2);
  std::swap(loop.attributes[0], loop.attributes[1]);
  expect_fault(fn, "operation tile_loop: attribute parallel is repeated, out of order");
}

TEST(Verify, ScopesAndLinks) {
  Function fn = parse(kSmall);
  const Region& body = *fn.body().ops[2]->regions[0];
  Op& add = op_at(body, 1);
  add.operands[1] = add.result();
  expect_fault(fn, "operation binary: uses a value that is not visible here");
  add.operands[1] = nullptr;
  expect_fault(fn, "an operand is missing");
  add.operands[1] = add.operands[0];
  add.parent = &fn.body();
  expect_fault(fn, "is not linked to its region");
  add.parent = &body;
  value_of(add.result()).def = body.ops[0];
  expect_fault(fn, "a result is not linked to it");
  value_of(add.result()).def = &add;
  value_of(body.args[0]).owner = &fn.body();
  expect_fault(fn, "an argument is not linked to its region");
  value_of(body.args[0]).owner = &body;
  const_cast<Region&>(body).ops.insert(body.ops.begin(), body.ops[0]);
  expect_fault(fn, "a value is made twice");
  const_cast<Region&>(body).ops.erase(body.ops.begin());
  EXPECT_NO_THROW(verify(fn, "repair"));
  const_cast<Region&>(body).parent = &add;
  expect_fault(fn, "a region is not linked to it");
}

TEST(Verify, ResultTypes) {
  Function fn = parse(kSmall);
  const Region& body = *fn.body().ops[2]->regions[0];
  value_of(body.ops[1]->result()).type = Type::value(DType::f64, {Dim::block(0)});
  expect_fault(fn, "operation binary: the result is f32[B0], not f64[B0]");
}

/// A function of loops over two axes with `body` in it, as text.
std::string in_loops(const std::string& body) {
  return "func @f(%x: f32[8], %n: i64) {\naxis B0\naxis B1\n" + body + "\n}";
}

TEST(Verify, BlocksBelongToOpenLoops) {
  expect_error(ErrorId::parse_ir, 0, "an axis is already looped over", [] {
    parse(
        in_loops("tile_loop (%n) (%n) () {axes=[0], parallel=0} (%i: slice<B0>) {\n"
                 "tile_loop (%n) (%n) () {axes=[0], parallel=0} (%j: slice<B0>) {\n} }"));
  });
  expect_error(ErrorId::parse_ir, 0, "a parallel loop stands inside another loop", [] {
    parse(
        in_loops("tile_loop (%n) (%n) () {axes=[0], parallel=0} (%i: slice<B0>) {\n"
                 "tile_loop (%n) (%n) () {axes=[1], parallel=1} (%j: slice<B1>) {\n} }"));
  });
  expect_error(ErrorId::parse_ir, 0, "B1 is used outside the loop over it", [] {
    parse(
        in_loops("tile_loop (%n) (%n) () {axes=[0], parallel=0} (%i: slice<B0>) {\n"
                 "%s = slice %n, %n {dim=[B1]} : slice<B1>\n}"));
  });
}

TEST(Verify, Fill) {
  const std::string loop =
      "tile_loop (%n) (%n) () {axes=[0], parallel=0, ahead=1} "
      "(%i: slice<B0>) {\nyield\n} ";
  EXPECT_NO_THROW(parse(in_loops(loop + "(%j: slice<B0>) {\n}")));
  expect_error(ErrorId::parse_ir, 0, "the fill's arguments are not one slice per axis",
               [&] { parse(in_loops(loop + "(%j: i64) {\n}")); });
  expect_error(ErrorId::parse_ir, 0, "the fill yields a value",
               [&] { parse(in_loops(loop + "(%j: slice<B0>) {\nyield %n\n}")); });
  expect_error(ErrorId::parse_ir, 0, "needs attribute ahead", [] {
    parse(
        in_loops("tile_loop (%n) (%n) () {axes=[0], parallel=0} (%i: slice<B0>) {\n} "
                 "(%j: slice<B0>) {\n}"));
  });
}

/// A ring and what is done with it.
Function rings(const std::string& body) {
  return parse(
      "func @f(%x: f32[8], %v: f32, %n: i64) {\n"
      "%all = slice %n, %n {dim=[8]}\n"
      "%r = ring {shape=[8], stages=2} : ring<f32[8],2>\n"
      "%t = broadcast %v {shape=[8], dims=[]}\n" +
      body + "\n}");
}

TEST(Verify, RingProtocol) {
  EXPECT_NO_THROW(
      rings("%s = ring_acquire %r\ncopy %s, %x, %all\nring_commit %r\n"
            "ring_wait %r {pending=0}\n%q = ring_read %r\nring_release %r"));
  EXPECT_NO_THROW(rings("%s = ring_acquire %r\nstage %s, %t\nring_commit %r"));
  const std::string read =
      "%s = ring_acquire %r\nstage %s, %t\nring_commit %r\n"
      "ring_wait %r {pending=0}\n%q = ring_read %r\nring_release %r\n";
  EXPECT_NO_THROW(rings(read + "%h = cast %q : shared<f16[8]>\n%p = permute %h {dims=[0]}"));
  EXPECT_NO_THROW(rings(read + "%f = fetch %q : f32[8]\n%g = unary neg %f"));
  const auto refused = [](const std::string& body, std::string_view message) {
    expect_error(ErrorId::parse_ir, 0, message, [&] { rings(body); });
  };
  refused(read + "%h = cast %q : f16[8]", "cast: changes the shape");
  refused(read + "%h = unary neg %q", "operand x must be a tile or a scalar");
  refused("%s = ring_acquire %r\nring_commit %r", "ring_acquire: the slot is never filled");
  refused("%s = ring_acquire %r\nstage %s, %t", "ring_acquire: no commit follows");
  refused("ring_commit %r", "ring_commit: no acquire precedes");
  refused("%q = ring_read %r\nring_release %r", "ring_read: no wait precedes");
  refused("ring_wait %r {pending=0}\n%q = ring_read %r", "ring_read: no release follows");
  refused("ring_release %r", "ring_release: no read precedes");
  refused("%f = fetch %t", "operand shared must be a shared tile");
  refused("ring_wait %r {pending=-1}", "pending must not be negative");
  refused("ring_wait %r {pending=0}\n%q = ring_read %r\nstage %q, %t\nring_release %r",
          "stage: fills a slot that was not acquired");
  refused("%s = ring_acquire %r\nstage %s, %v\nring_commit %r", "slot and value differ");
}

TEST(Verify, DotsAndReductions) {
  const std::string head =
      "func @f(%a: f32, %i: i8, %j: i32, %b: bool, %e: f8e4m3, %f: f8e5m2) {\n"
      "%x = broadcast %a {shape=[4,4], dims=[]}\n"
      "%y = broadcast %j {shape=[4,4], dims=[]}\n"
      "%z = broadcast %i {shape=[4,4], dims=[]}\n"
      "%w = broadcast %b {shape=[4,4], dims=[]}\n"
      "%u = broadcast %e {shape=[4,4], dims=[]}\n"
      "%v = broadcast %f {shape=[4,4], dims=[]}\n";
  const auto refused = [&](const std::string& op, std::string_view message) {
    expect_error(ErrorId::parse_ir, 0, message, [&] { parse(head + op + "\n}"); });
  };
  EXPECT_NO_THROW(parse(head + "%d = dot %z, %z, %y {guard=[]}\n}"));
  refused("%d = dot %z, %z, %x", "mix integers and floats");
  refused("%d = dot %w, %w, %y", "takes numbers");
  refused("%d = dot %x, %x, %x {guard=[0]}", "guard must be []");
  for (const char* op : {"%d = dot %x, %x, %x {precision=\"tf32\"}", "%d = dot %u, %v, %x",
                         "%d = dot %x, %x, %x {guard=[], precision=\"tf32x3\"}",
                         "%d = dot %v, %u, %x {precision=\"two_level\"}"})
    EXPECT_EQ(print(parse(print(parse(head + op + "\n}")))), print(parse(head + op + "\n}"))) << op;
  refused("%d = dot %x, %v, %x", "operands' dtypes differ");
  refused("%d = dot %u, %v, %x {precision=\"tf32\"}", "precision does not fit");
  refused("%d = dot %x, %x, %x {precision=\"two_level\"}", "precision does not fit");
  refused("%d = dot %x, %x, %x {precision=\"ieee\"}", "must be tf32, tf32x3 or two_level");
  refused("%d = dot %x, %x, %x {precision=\"fast\"}", "must be tf32, tf32x3 or two_level");
  refused("%d = reduce add %w {axes=[0]}", "does not take this dtype");
  refused("%d = reduce add %x {axes=[1,0]}", "axes must name dimensions, in order");
  refused("%d = reduce add %x {axes=[1], guard=[0]}", "guard must name reduced axes");
}

}  // namespace
}  // namespace tilewright::ir
