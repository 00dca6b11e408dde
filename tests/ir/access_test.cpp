// Index tiles, masks, hints and atomics in the text form, and what the verifier says of wrong ones.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/expect_error.h"
#include "tilewright/ir/builder.h"
#include "tilewright/ir/equal.h"
#include "tilewright/ir/error.h"
#include "tilewright/ir/parse.h"
#include "tilewright/ir/print.h"

namespace tilewright::ir {
namespace {

using testing::expect_error;

constexpr std::string_view kAccesses =
    R"(func @accesses(%x: f32[8,16], %ids: i64[8], %y: f32[8,16] allocated = 1.5) -> (%y) {
  axis B0 "rows" = 4
  axis B1 "cols" = 8
  %0 = constant 0 : i64
  %1 = constant 8 : i64
  %2 = constant 16 : i64
  tile_loop (%0, %0) (%1, %2) () {axes=[0,1], parallel=1} (%rows: slice<B0>, %cols: slice<B1>) {
    %at = load %ids, %rows {evict="last"} : i64[B0]
    %3 = load %x, %at, %cols {guard=[0]} : f32[B0,B1]
    %4 = compare gt %3, %3 : bool[B0,B1]
    %5 = load %x, %at, %cols, %4 {masked=1, evict="first"} : f32[B0,B1]
    %6 = atomic add %y, %5, %at, %cols, %4 {guard=[0], masked=1, order="acq_rel"} : f32[B0,B1]
    %7 = atomic_exchange %y, %6, %rows, %cols : f32[B0,B1]
    %8 = atomic_cas %y, %7, %6, %at, %cols {order="release"} : f32[B0,B1]
    store %y, %8, %at, %cols, %4 {masked=1}
  }
})";

TEST(Accesses, RoundTrip) {
  const Function fn = parse(kAccesses);
  EXPECT_EQ(print(fn, {.locations = false}), fmt::format("{}\n", kAccesses));
  EXPECT_FALSE(first_difference(fn, parse(print(fn))));
}

/// The text with `from` replaced, which the parser refuses with `message`.
void expect_refused(const std::string& from, const std::string& to, std::string_view message) {
  std::string text(kAccesses);
  const size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  expect_error(ErrorId::parse_ir, 0, message, [&] { parse(text); });
}

TEST(Accesses, WrongOnesAreRefused) {
  expect_refused("load %x, %at, %cols {guard=[0]}", "load %x, %3, %cols {guard=[0]}",
                 "%3 is not defined");
  expect_refused("%5 = load %x, %at, %cols, %4 {", "%5 = load %x, %3, %cols, %4 {",
                 "operand index must be a slice, an i64 scalar or an i64 tile, is f32[B0,B1]");
  expect_refused("%5 = load %x, %at, %cols, %4 {masked=1, ", "%5 = load %x, %at, %cols, %4 {",
                 "needs one index per dimension");
  expect_refused("%5 = load %x, %at, %cols, %4 {masked=1", "%5 = load %x, %at, %cols, %4 {masked=2",
                 "masked must be 1 when present");
  expect_refused("%5 = load %x, %at, %cols, %4 {", "%5 = load %x, %at, %4, %cols {",
                 "an index is a slice, an i64 scalar or an i64 tile");
  expect_refused("evict=\"first\"", "evict=\"soon\"", "evict must be first or last");
  expect_refused("order=\"release\"", "order=\"strict\"",
                 "order must be acquire, release or acq_rel when present");
  expect_refused("atomic add", "atomic bit_or", "no atomic operation of this function and dtype");
  expect_refused("atomic add", "atomic sub", "no atomic operation of this function and dtype");
  expect_refused("atomic_cas %y, %7, %6", "atomic_cas %y, %7, %4",
                 "value and expected value differ");
  expect_refused("{guard=[0], masked=1, order", "{guard=[2], masked=1, order",
                 "guard must name index positions, in order");
  expect_refused("allocated = 1.5", "= 1.5", "expected");
}

TEST(Accesses, IndexTilesShareAShapeAndStandWhereTheFirstOneDoes) {
  Function fn = parse(kAccesses);
  const Op& load = *fn.body().ops.back()->regions[0]->ops[1];
  const AccessView access(load);
  EXPECT_TRUE(access.gathers());
  EXPECT_FALSE(is_plain_access(load));
  EXPECT_EQ(access.axes_of(0), std::vector<int>{0});
  EXPECT_EQ(access.axes_of(1), std::vector<int>{1});

  Function made;
  Builder b(made);
  const auto slice = [&](int64_t n) { return b.slice(b.index(0), b.index(n), Dim::constant(n)); };
  const auto tile = [&](Shape shape) { return b.fill(b.index(1), std::move(shape)); };
  const Shape two = {Dim::constant(2), Dim::constant(3)};
  const std::vector<const Value*> indices = {slice(4), tile(two), b.index(0), slice(5), tile(two)};
  EXPECT_EQ(to_string(access_shape(indices)), "[4,2,3,5]");
  EXPECT_EQ(axes_of_index(indices, 0), std::vector<int>{0});
  EXPECT_EQ(axes_of_index(indices, 1), (std::vector<int>{1, 2}));
  EXPECT_EQ(axes_of_index(indices, 2), std::vector<int>{});
  EXPECT_EQ(axes_of_index(indices, 3), std::vector<int>{3});
  EXPECT_EQ(axes_of_index(indices, 4), (std::vector<int>{1, 2}));
}

}  // namespace
}  // namespace tilewright::ir
