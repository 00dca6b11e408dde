// Canonical order, comparison of functions, and lines of source files.
#include "tilewright/ir/canonical.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tilewright/ir/builder.h"
#include "tilewright/ir/equal.h"
#include "tilewright/ir/print.h"
#include "tilewright/ir/source_text.h"

namespace tilewright::ir {
namespace {

/// A function of one tensor f32[8]; `fill` builds the body.
template <class Fill>
Function build(const Fill& fill) {
  Function fn;
  fn.name = "k";
  Value* a = fn.new_value(Type::tensor(DType::f32, 1));
  fn.params.push_back({a, "", contiguous_spec(DType::f32, {8}), false});
  Builder builder(fn);
  fill(builder, a);
  return fn;
}

TEST(Canonical, OrderOfEvaluationDoesNotCount) {
  const auto sum = [](bool right_first) {
    Function fn = build([&](Builder& b, const Value* a) {
      const Value* zero = b.index(0);
      const Value* one = b.index(1);
      const Value* first = right_first ? b.load(a, {one}) : b.load(a, {zero});
      const Value* second = right_first ? b.load(a, {zero}) : b.load(a, {one});
      const Value* x = right_first ? second : first;
      const Value* y = right_first ? first : second;
      b.store(a, b.binary(Fn::add, x, y), {zero});
    });
    canonicalize(fn);
    return fn;
  };
  const Function left = sum(false), right = sum(true);
  EXPECT_EQ(print(left), print(right));
  EXPECT_EQ(first_difference(left, right), std::nullopt);
}

TEST(Canonical, LoadsStayBetweenTheEffectsAroundThem) {
  Function fn = build([](Builder& b, const Value* a) {
    const Value* zero = b.index(0);
    const Value* one = b.index(1);
    const Value* before = b.load(a, {zero});
    b.load(a, {one});  // unused: dropped
    b.store(a, b.constant(DType::f32, 1.0), {zero});
    const Value* after = b.load(a, {zero});
    b.store(a, b.binary(Fn::sub, before, after), {one});
  });
  canonicalize(fn);
  std::vector<std::string_view> kinds;
  for (const Op* op : fn.body().ops) kinds.push_back(info(op->kind).name);
  EXPECT_EQ(kinds, (std::vector<std::string_view>{"constant", "load", "constant", "store", "load",
                                                  "binary", "constant", "store"}));
}

TEST(Equal, FindsTheFirstDifference) {
  const auto store = [](double value, int line) {
    return build([&](Builder& b, const Value* a) {
      b.loc = {"k.cpp", line};
      b.store(a, b.constant(DType::f32, value), {b.index(0)});
    });
  };
  EXPECT_EQ(first_difference(store(1, 3), store(1, 4)), std::nullopt);
  EXPECT_EQ(first_difference(store(NAN, 3), store(NAN, 3)), std::nullopt);
  ASSERT_TRUE(first_difference(store(1, 3), store(2, 4)));
  EXPECT_EQ(first_difference(store(1, 3), store(2, 4))->line, 4);
  EXPECT_TRUE(first_difference(store(0.0, 3), store(-0.0, 3)));
  const Function empty = build([](Builder&, const Value*) {});
  EXPECT_EQ(first_difference(store(1, 3), empty)->line, 3);
  EXPECT_EQ(first_difference(empty, store(1, 3))->line, 3);
}

TEST(SourceText, ReadsLines) {
  EXPECT_EQ(source_line({__FILE__, 1}),
            "// Canonical order, comparison of functions, and lines of source files.");
  EXPECT_EQ(source_line({__FILE__, 1000000}), std::nullopt);
  EXPECT_EQ(source_line({"/no/such/file", 1}), std::nullopt);
  EXPECT_EQ(source_line({}), std::nullopt);
}

}  // namespace
}  // namespace tilewright::ir
