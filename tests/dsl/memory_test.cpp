// Gathers, scatters, masks, views and atomics: the IR they become, and what is wrong with them.
#include "tests/dsl/trace_kernel.h"

namespace tilewright::testing {
namespace {

namespace tw = tilewright;
using ir::OpKind;

/// The text of the only operation of a kind.
std::string text_of(const ir::Function& fn, std::string_view name) {
  const std::string text = ir::print(fn, {.locations = false});
  const size_t at = text.find(name);
  EXPECT_NE(at, std::string::npos) << text;
  return text.substr(at, text.find('\n', at) - at);
}

TEST(Gather, IndexTilesBroadcastAndStandWhereTheFirstOneDoes) {
  const ir::Function rows = trace(
      [](tw::Tensor a, tw::Tensor ids) {
        tw::Tensor y = tw::empty({8, 32}, tw::f32);
        for (auto [i, j] : tw::tile({8, 32})) y[i, j] = a[ids[i], j];
        return y;
      },
      {tensor(f32, {64, 32}), tensor(i32, {8})});
  EXPECT_EQ(count(rows, OpKind::cast), 1);  // positions are i64
  const ir::Op& store = only(rows, OpKind::store);
  EXPECT_EQ(to_string(store.operand(1)->type), "f32[B0,B1]");

  const ir::Function crossed = trace(
      [](tw::Tensor a, tw::Tensor r, tw::Tensor c) {
        tw::Tensor y = tw::empty({8, 4, 6}, tw::f32);
        for (auto [i, j] : tw::tile({8, 6})) {
          tw::Tile ri = r[i], ci = c[j];
          y[i, tw::all, j] =
              tw::permute(a[ri(tw::all, tw::none), tw::all, ci(tw::none, tw::all)], {0, 2, 1});
        }
        return y;
      },
      {tensor(f32, {3, 4, 5}), tensor(i64, {8}), tensor(i64, {6})});
  EXPECT_EQ(count(crossed, OpKind::load), 3);
  EXPECT_NE(ir::print(crossed).find(": f32[B0,B1,4]"), std::string::npos) << ir::print(crossed);
}

TEST(Masks, BecomeOperandsAndOtherASelection) {
  const ir::Function fn = trace(
      [](tw::Tensor a) {
        for (auto [i, j] : tw::tile({64, 32})) {
          tw::Tile m = i.index() > 3;
          tw::Tile x =
              a.load({i, j}, {.mask = m(tw::all, tw::none), .other = 1, .evict = tw::Evict::first});
          a.store({i, j}, x, {.mask = m(tw::all, tw::none), .evict = tw::Evict::last});
        }
      },
      {tensor(f32, {64, 32})});
  EXPECT_NE(text_of(fn, "load ").find("{masked=1, evict=\"first\"}"), std::string::npos);
  EXPECT_NE(text_of(fn, "store ").find("{masked=1, evict=\"last\"}"), std::string::npos);
  EXPECT_EQ(count(fn, OpKind::select), 1);
}

TEST(Atomics, AreOperationsWithAnOrder) {
  const ir::Function fn = trace(
      [](tw::Tensor a) {
        tw::Tensor sums = tw::zeros_tensor({32}, tw::f32);
        for (auto [i, j] : tw::tile({64, 32}))
          tw::atomic_add(sums[j], tw::sum(a[i, j], tw::axis(0)), {.order = tw::Order::acq_rel});
        return sums;
      },
      {tensor(f32, {64, 32})});
  EXPECT_NE(text_of(fn, "atomic add").find("{order=\"acq_rel\"}"), std::string::npos);
  EXPECT_EQ(count(fn, OpKind::store), 0);
  EXPECT_NE(ir::print(fn).find("allocated = 0.0"), std::string::npos) << ir::print(fn);
}

TEST(Views, OfAllOfATensorAreTheTensor) {
  const ir::Function direct = trace(
      [](tw::Tensor a, tw::Tensor c) {
        for (auto [i, j] : tw::tile({64, 32})) c[i, j] = a[i, j];
      },
      {tensor(f32, {64, 32}), tensor(f32, {64, 32})});
  const ir::Function through = trace(
      [](tw::Tensor a, tw::Tensor c) {
        for (auto [i, j] : tw::tile({64, 32}))
          c.slice(0, 0, 64).t().t()[i, j] = a.slice(1, 0, 32)[i, j];
      },
      {tensor(f32, {64, 32}), tensor(f32, {64, 32})});
  EXPECT_EQ(ir::print(direct, {.locations = false}), ir::print(through, {.locations = false}));
}

TEST(Views, HaveSizesOfTheirOwn) {
  trace(
      [](tw::Tensor a) {
        tw::Tensor part = a.slice(0, 4, 20).slice(1, 2, 10);
        EXPECT_EQ(part.size(0).value(), 16);
        EXPECT_EQ(part.size(-1).value(), 8);
        EXPECT_EQ(part.t().size(0).value(), 8);
        EXPECT_EQ(part.select(0, 3).rank(), 1);
        EXPECT_EQ(a.tile({16, 8}, {3, 1}).size(1).value(), 8);
        auto [m, n] = tw::sizes<2>(part);
        for (auto [i, j] : tw::tile({m, n})) part[i, j] = 0;
      },
      {tensor(f32, {64, 32})});
}

/// Raises `id` in a kernel whose grid's body is `fn(a, i, j)`: a is f32[64,32].
template <class F>
void expect_in_body(ErrorId id, std::string_view text, F fn, Loc loc = Loc::current()) {
  expect_error(id, 0, text, [&] {
    try {
      trace(
          [&](tw::Tensor a) {
            for (auto [i, j] : tw::tile({64, 32})) {
              fn(a, i, j);
              a[i, j] = 0;
            }
          },
          {tensor(f32, {64, 32})});
    } catch (const Error& error) {
      EXPECT_GE(error.loc().line, loc.line) << error.what();
      EXPECT_LE(error.loc().line, loc.line + 3) << error.what();
      throw;
    }
  });
}
using I = tw::TileIndex;

TEST(MemoryErrors, Indices) {
  expect_in_body(ErrorId::index_kind, "which elements to access is said by a mask",
                 [](tw::Tensor a, I i, I j) { a[i.index() > 3, j]; });
  expect_in_body(ErrorId::shape_mismatch, "index tiles of 'a': shapes [i] and [j] do not match",
                 [](tw::Tensor a, I i, I j) { a[i.index(), j.index()]; });
  expect_in_body(ErrorId::index_rank, "tensor 'a' has 1 dimensions, but 2 indices are given",
                 [](tw::Tensor a, I i, I j) { a.select(0, 3)[i, j]; });
}

TEST(MemoryErrors, Masks) {
  expect_in_body(ErrorId::other_without_mask, "a load has .other and no .mask",
                 [](tw::Tensor a, I i, I j) {
                   a.load({i, j}, {.other = 1.0f});
                 });
  expect_in_body(ErrorId::function_dtype, "a mask takes bool tiles; this one is f32",
                 [](tw::Tensor a, I i, I j) {
                   a.load({i, j}, {.mask = a[i, j]});
                 });
  expect_in_body(ErrorId::shape_mismatch, "a mask of 'a': shapes [i] and [i,j]",
                 [](tw::Tensor a, I i, I j) {
                   a.load({i, j}, {.mask = i.index() > 0});
                 });
  expect_in_body(ErrorId::dtype_mismatch, "where: dtypes f32 and i64 do not match",
                 [](tw::Tensor a, I i, I j) {
                   a.load({i, j}, {.mask = a[i, j] > 0, .other = i.begin()});
                 });
  expect_in_body(ErrorId::literal_dtype, "the number 1 does not fit dtype bool",
                 [](tw::Tensor a, I i, I j) {
                   a.store({i, j}, a[i, j], {.mask = 1});
                 });
}

TEST(MemoryErrors, Atomics) {
  expect_in_body(ErrorId::atomic_dtype,
                 "atomic_or on 'a', which is f32; takes tensors of i32 or i64",
                 [](tw::Tensor a, I i, I j) { tw::atomic_or(a[i, j], 1); });
  expect_in_body(ErrorId::shape_mismatch, "atomic_add: shapes [i] and [i,j]",
                 [](tw::Tensor a, I i, I j) { tw::atomic_add(a[i, j], a[i, 0]); });
  expect_error(ErrorId::store_needs_cast, 0, "a f32 value is stored into", [] {
    trace(
        [](tw::Tensor a) {
          for (auto i : tw::tile(8)) tw::atomic_max(a[i], tw::cast(a[i], f32));
        },
        {tensor(i32, {8})});
  });
  expect_in_body(ErrorId::literal_dtype, "the number true does not fit dtype f32",
                 [](tw::Tensor a, I i, I j) { tw::atomic_cas(a[i, j], true, 1); });
  expect_error(ErrorId::atomic_dtype, 0, "takes tensors of i32, i64, f16, bf16, f32 or f64", [] {
    trace(
        [](tw::Tensor a) {
          for (auto i : tw::tile(8)) tw::atomic_exchange(a[i], 1);
        },
        {tensor(i8, {8})});
  });
}

TEST(MemoryErrors, Views) {
  expect_in_body(ErrorId::view_bounds,
                 "positions 3 to 70 are not within dimension 0 of tensor 'a', which has size 64",
                 [](tw::Tensor a, I, I) { a.slice(0, 3, 70); });
  expect_in_body(ErrorId::view_bounds, "positions 9 to 8 are not within dimension 1",
                 [](tw::Tensor a, I, I) { a.slice(1, 9, 8); });
  expect_in_body(ErrorId::view_bounds, "positions 64 to 65 are not within dimension 0",
                 [](tw::Tensor a, I, I) { a.select(0, 64); });
  expect_in_body(ErrorId::view_bounds,
                 "positions 5 to 6 are not within dimension 0 of a view of 'a'",
                 [](tw::Tensor a, I, I) { a.slice(0, 1, 6)[5, 0]; });
  expect_in_body(ErrorId::view_bounds, "the one 65 after it are not within",
                 [](tw::Tensor a, I i, I) { a.narrow(0, i.begin(), 65); });
  expect_in_body(ErrorId::view_bounds, "positions -8 to 0 are not within dimension 0",
                 [](tw::Tensor a, I, I) {
                   a.tile({8, 8}, {-1, 0});
                 });
  expect_in_body(ErrorId::view_index, "2 dimensions need as many block sizes and block numbers",
                 [](tw::Tensor a, I, I) {
                   a.tile({8, 8}, {1});
                 });
  expect_in_body(ErrorId::view_index, "how many positions the view has is known at run time only",
                 [](tw::Tensor a, I i, I j) { a.slice(0, i.begin(), i.end())[tw::all, j]; });
  expect_in_body(ErrorId::view_index, "the size of dimension 0 of tensor 'a'",
                 [](tw::Tensor a, I i, I) { a.slice(0, i.begin(), i.end()).size(0); });
  expect_in_body(ErrorId::view_index, "could be outside of the view",
                 [](tw::Tensor a, I i, I) { a.slice(0, 1, 9).select(0, i.begin()); });
  expect_in_body(ErrorId::view_index, "1 dimensions are given, it has 2",
                 [](tw::Tensor a, I, I) { a.permute({1}); });
  expect_in_body(ErrorId::bad_axis, "permute: dimension 1 of a value with 2 dimensions",
                 [](tw::Tensor a, I, I) {
                   a.permute({1, 1});
                 });
  expect_in_body(ErrorId::bad_axis, "slice: dimension 2 of a value with 2 dimensions",
                 [](tw::Tensor a, I, I) { a.slice(2, 0, 1); });
  expect_in_body(ErrorId::bad_block, "a block size must be positive; found 0",
                 [](tw::Tensor a, I, I) {
                   a.tile({0, 8}, {0, 0});
                 });
  expect_in_body(ErrorId::sizes_rank, "2 sizes are asked of tensor 'a', which has 1 dimensions",
                 [](tw::Tensor a, I, I) { a.select(0, 0).t(); });
  expect_error(ErrorId::view_index, 0, "a kernel returns whole tensors, and this is a view", [] {
    trace(
        [](tw::Tensor a) {
          tw::Tensor y = tw::empty({8}, tw::f32);
          for (auto i : tw::tile(8)) y[i] = a[i];
          return y.slice(0, 0, 4);
        },
        {tensor(f32, {8})});
  });
}

TEST(MemoryErrors, JaggedTiles) {
  expect_in_body(ErrorId::jagged_lengths,
                 "takes a tile of integers, one length for each lane of loops around it; found f32",
                 [](tw::Tensor a, I i, I) {
                   for (auto k : tw::jagged_tile(a[i, 0])) (void)k;
                 });
  expect_in_body(ErrorId::jagged_lengths, "found i64", [](tw::Tensor, I i, I) {
    for (auto k : tw::jagged_tile(i.begin())) (void)k;
  });
  expect_in_body(ErrorId::jagged_sort, "sort along rows of different lengths",
                 [](tw::Tensor a, I i, I) {
                   for (auto k : tw::jagged_tile(i.index())) tw::sort(a[i, k], tw::axis(1));
                 });
}

TEST(MemoryErrors, FirstValues) {
  const auto filled = [](tw::dsl::Literal value, DType dtype) {
    trace(
        [&](tw::Tensor a) {
          tw::Tensor y = tw::full_tensor({8}, value, dtype);
          for (auto i : tw::tile(8)) a[i] = 0;
          return y;
        },
        {tensor(f32, {8})});
  };
  EXPECT_NO_THROW(filled(2, f32));
  expect_error(ErrorId::fill_value, 0, "0.5 is no value of dtype i32", [&] { filled(0.5, i32); });
  expect_error(ErrorId::fill_value, 0, "300 is no value of dtype u8", [&] { filled(300, u8); });
  expect_error(ErrorId::fill_value, 0, "3 is no value of dtype bool",
               [&] { filled(3, DType::boolean); });
}

}  // namespace
}  // namespace tilewright::testing
