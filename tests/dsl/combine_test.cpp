// Reductions and scans by functions, sorting, joining: what they record, and their errors.
#include <tuple>

#include "tests/dsl/trace_kernel.h"

namespace tilewright::testing {
namespace {

namespace tw = tilewright;

TEST(Combine, RecordsItsFunction) {
  const ir::Function fn = trace(
      [](tw::Tensor x, tw::Tensor y) {
        for (auto rows : tw::tile(64)) {
          Tile row = x[rows, tw::all];
          auto [total, top] = tw::reduce(tw::axis(1), std::tuple{row, row}, std::tuple{0.0, -1},
                                         [](auto left, auto right) {
                                           auto [a, b] = left;
                                           auto [c, d] = right;
                                           return std::tuple{a + c, tw::max(b, d)};
                                         });
          y[rows, tw::all] = (total - top)[tw::all, tw::none];
        }
      },
      {tensor(f32, {64, 32}), tensor(f32, {64, 32})});
  const std::string body = body_of(fn);
  const size_t at = body.find("combine");
  ASSERT_NE(at, std::string::npos) << body;
  EXPECT_NE(body.find("combine %8, %8, %9, %10 {axes=[1]} : f32[B0], f32[B0] "
                      "(%13: f32, %14: f32, %15: f32, %16: f32) {"),
            std::string::npos)
      << body;
  EXPECT_NE(body.find("binary add %13, %15"), std::string::npos) << body;
  EXPECT_NE(body.find("binary max %14, %16"), std::string::npos) << body;
}

TEST(Combine, NarrowFloatsAreCombinedInF32) {
  const ir::Function fn = trace(
      [](tw::Tensor x, tw::Tensor y) {
        for (auto rows : tw::tile(64)) {
          Tile row = tw::cast(x[rows, tw::all], tw::f16);
          y[rows, tw::all] = tw::cumsum(row, tw::axis(-1), {.reverse = true});
        }
      },
      {tensor(f32, {64, 32}), tensor(f32, {64, 32})});
  const ir::Op& scan = only(fn, ir::OpKind::scan);
  EXPECT_EQ(scan.results[0]->type.dtype, f32);
  EXPECT_EQ(scan.integer(ir::AttrKey::reverse), 1);
  EXPECT_EQ(scan.integer(ir::AttrKey::axis), 1);
}

// Scalars of the kernel may be used in the function; their variables are merged as everywhere.
TEST(Combine, FunctionsSeeScalars) {
  const ir::Function fn = trace(
      [](tw::Tensor x, tw::Tensor y, tw::Scalar<float> weight) {
        for (auto rows : tw::tile(64)) {
          Tile sums = tw::reduce(tw::axis(1), x[rows, tw::all], 0.0,
                                 [&](auto a, auto b) { return a + b + weight * a * b; });
          y[rows, tw::all] = sums[tw::all, tw::none];
        }
      },
      {tensor(f32, {64, 32}), tensor(f32, {64, 32}), KernelArg::scalar(f32)});
  EXPECT_EQ(count(fn, ir::OpKind::combine), 1);
}

TEST(Combine, DimensionsOfSizeOneMoveNoElement) {
  const ir::Function fn = trace(
      [](tw::Tensor x, tw::Tensor y) {
        for (auto rows : tw::tile(64)) {
          Tile t = tw::sum(x[rows, tw::all], tw::axis(1), tw::keep_dims);
          Tile line = tw::reshape(tw::reshape(t, {1, rows, 1}), {rows});
          y[rows, tw::all] = line[tw::all, tw::none];
        }
      },
      {tensor(f32, {64, 32}), tensor(f32, {64, 32})});
  EXPECT_EQ(count(fn, ir::OpKind::reshape), 0);
}

TEST(Combine, ReshapesBetweenBlocks) {
  const ir::Function fn = trace(
      [](tw::Tensor x, tw::Tensor y) {
        for (auto rows : tw::tile(64)) {
          Tile t = tw::reshape(x[rows, tw::all], {rows, 4, 8});
          y[rows, tw::all] = tw::reshape(t + 1.0, {rows, 32});
        }
      },
      {tensor(f32, {64, 32}), tensor(f32, {64, 32})});
  EXPECT_EQ(count(fn, ir::OpKind::reshape), 2);
}

/// Raises `id` in a kernel whose grid's body is `fn(a, i)`: a is f32[64,32], i a tile of its rows.
template <class F>
void expect_in_rows(ErrorId id, std::string_view text, F fn, Loc loc = Loc::current()) {
  expect_error(id, 0, text, [&] {
    try {
      trace(
          [&](tw::Tensor a) {
            for (auto i : tw::tile(64)) {
              fn(a, i);
              a[i, tw::all] = 0;
            }
          },
          {tensor(f32, {64, 32})});
    } catch (const Error& error) {
      EXPECT_GE(error.loc().line, loc.line) << error.what();
      EXPECT_LE(error.loc().line, loc.line + 9) << error.what();
      throw;
    }
  });
}
using I = tw::TileIndex;

TEST(CombineErrors, FunctionsThatDoNotCombineElements) {
  expect_in_rows(ErrorId::combine_body,
                 "reduce: its function combines single elements, by arithmetic, comparisons and "
                 "tw::where; found a tile, f32[i,32]",
                 [](tw::Tensor a, I i) {
                   Tile t = a[i, tw::all];
                   tw::reduce(tw::axis(1), t, 0.0, [&](auto x, auto y) { return x + y * t; });
                 });
  expect_in_rows(ErrorId::combine_body, "associative_scan: its function combines single elements",
                 [](tw::Tensor a, I i) {
                   tw::associative_scan(tw::axis(1), a[i, tw::all], 0.0,
                                        [&](auto x, auto) { return x + a[0, 0]; });
                 });
  expect_in_rows(ErrorId::combine_body, "found 'if_else'", [](tw::Tensor a, I i) {
    tw::reduce(tw::axis(1), a[i, tw::all], 0.0, [&](auto x, auto y) {
      Tile z = x + y;
      tw::if_(x > 0.0, [&] { z = x; });
      return z;
    });
  });
}

TEST(CombineErrors, FunctionsThatReturnOtherTypes) {
  expect_in_rows(ErrorId::combine_result,
                 "reduce: value 0 that the function returns is bool; it must be a scalar of dtype "
                 "f32, as what it combines",
                 [](tw::Tensor a, I i) {
                   tw::reduce(tw::axis(1), a[i, tw::all], 0.0,
                              [](auto x, auto y) { return x < y; });
                 });
}

TEST(CombineErrors, FunctionsThatAssignOuterVariables) {
  expect_in_rows(ErrorId::combine_writes, "reduce: its function assigns variable 'kept'",
                 [](tw::Tensor a, I i) {
                   Tile kept = tw::full({}, 0.0, tw::f32);
                   tw::reduce(tw::axis(1), a[i, tw::all], 0.0, [&](auto x, auto y) {
                     kept = x;
                     return x + y;
                   });
                 });
}

TEST(CombineErrors, OperandsThatDoNotFit) {
  expect_in_rows(ErrorId::shape_mismatch, "reduce: shapes [i,32] and [32,i] do not match",
                 [](tw::Tensor a, I i) {
                   Tile t = a[i, tw::all];
                   tw::reduce(tw::axis(1), std::tuple{t, t.t()}, std::tuple{0, 0},
                              [](auto l, auto) { return l; });
                 });
  expect_in_rows(ErrorId::literal_dtype, "the number 0.5 does not fit dtype i64",
                 [](tw::Tensor, I i) {
                   tw::reduce(tw::axis(0), i.index(), 0.5, [](auto x, auto y) { return x + y; });
                 });
  expect_in_rows(ErrorId::bad_axis, "cumsum: dimension 2 of a value with 2 dimensions",
                 [](tw::Tensor a, I i) { tw::cumsum(a[i, tw::all], tw::axis(2)); });
  expect_in_rows(ErrorId::single_axis, "cumprod works along one dimension; 2 are given",
                 [](tw::Tensor a, I i) { tw::cumprod(a[i, tw::all], tw::axis(0, 1)); });
  expect_in_rows(ErrorId::single_axis, "argmax works along one dimension; 0 are given",
                 [](tw::Tensor a, I i) { tw::argmax(a[i, tw::all], tw::axis()); });
  expect_in_rows(ErrorId::reduce_nothing, "argmin of a dimension of size 0", [](tw::Tensor, I i) {
    tw::argmin(tw::zeros({i, 0}, tw::f32), tw::axis(1));
  });
}

TEST(CombineErrors, SortingAndJoining) {
  expect_in_rows(ErrorId::topk_count, "topk: 33 values are asked of dimension 1 of f32[i,32]",
                 [](tw::Tensor a, I i) { tw::topk(a[i, tw::all], 33, tw::axis(1)); });
  expect_in_rows(ErrorId::topk_count, "topk: 2 values are asked of dimension 0 of f32[i,32]",
                 [](tw::Tensor a, I i) { tw::topk(a[i, tw::all], 2, tw::axis(0)); });
  expect_in_rows(ErrorId::single_axis, "sort works along one dimension; 2 are given",
                 [](tw::Tensor a, I i) { tw::sort(a[i, tw::all], tw::axis(0, 1)); });
  expect_in_rows(ErrorId::split_dim,
                 "split takes a tile whose last dimension has size 2; found f32[i,32]",
                 [](tw::Tensor a, I i) { tw::split(a[i, tw::all]); });
  expect_in_rows(ErrorId::shape_mismatch, "stack: shapes [i,32] and [32,i] do not match",
                 [](tw::Tensor a, I i) {
                   Tile t = a[i, tw::all];
                   tw::join(t, t.t());
                 });
  expect_in_rows(ErrorId::dtype_mismatch, "stack: dtypes f32 and f16 do not match",
                 [](tw::Tensor a, I i) {
                   Tile t = a[i, tw::all];
                   tw::stack({t, tw::cast(t, tw::f16)});
                 });
  expect_in_rows(ErrorId::bad_axis, "stack: dimension 3 of a value with 3 dimensions",
                 [](tw::Tensor a, I i) { tw::stack({a[i, tw::all]}, 3); });
  expect_in_rows(ErrorId::bad_reshape, "a tile of shape [i,32] cannot be reshaped to [32,i]",
                 [](tw::Tensor a, I i) {
                   tw::reshape(a[i, tw::all], {32, i});
                 });
}

}  // namespace
}  // namespace tilewright::testing
