// Tiles as C++ variables: carried by loops, copied, swapped, rebound.
#include <array>

#include "tests/dsl/trace_kernel.h"

namespace tilewright::testing {
namespace {

namespace tw = tilewright;

/// The grid's body of a kernel of two f32[64,32] tensors.
template <class F>
std::string traced(F fn) {
  return body_of(trace(fn, {tensor(f32, {64, 32}), tensor(f32, {64, 32})}));
}

TEST(Variables, ANestOfLoopsCarriesWhatItAssigns) {
  EXPECT_EQ(traced([](tw::Tensor a, tw::Tensor c) {
              for (auto r : tw::tile(64)) {
                tw::Tile acc = a[r, 0];
                for (auto k : tw::grid(32)) {
                  tw::Tile s = acc;
                  for (auto j : tw::grid(4)) {
                    s = s + a[r, j];
                    acc = acc * s;
                  }
                  acc = acc + s;
                  (void)k;
                }
                c[r, 0] = acc;
              }
            }),
            R"(%5 = constant 0 : i64
%6 = load %0, %4, %5 : f32[B0]
%7 = constant 0 : i64
%8 = constant 32 : i64
%9 = tile_loop (%7) (%8) (%6) {axes=[1], parallel=0} : f32[B0] (%10: slice<B1>, %11: f32[B0]) {
  %12 = constant 0 : i64
  %13 = constant 4 : i64
  %14, %15 = tile_loop (%12) (%13) (%11, %11) {axes=[2], parallel=0} : f32[B0], f32[B0] (%16: slice<B2>, %17: f32[B0], %18: f32[B0]) {
    %19 = slice_begin %16 : i64
    %20 = load %0, %4, %19 : f32[B0]
    %21 = binary add %18, %20 : f32[B0]
    %22 = binary mul %17, %21 : f32[B0]
    yield %22, %21
  }
  %23 = binary add %14, %15 : f32[B0]
  yield %23
}
%24 = constant 0 : i64
store %1, %9, %4, %24
yield
)");
}

TEST(Variables, ACopyIsASnapshot) {
  EXPECT_EQ(traced([](tw::Tensor a, tw::Tensor c) {
              for (auto r : tw::tile(64)) {
                tw::Tile acc = a[r, 0];
                for (auto k : tw::grid(32)) {
                  auto old = acc;
                  acc = acc + a[r, k];
                  c[r, k] = old;
                }
              }
            }),
            R"(%5 = constant 0 : i64
%6 = load %0, %4, %5 : f32[B0]
%7 = constant 0 : i64
%8 = constant 32 : i64
%9 = tile_loop (%7) (%8) (%6) {axes=[1], parallel=0} : f32[B0] (%10: slice<B1>, %11: f32[B0]) {
  %12 = slice_begin %10 : i64
  %13 = load %0, %4, %12 : f32[B0]
  store %1, %11, %4, %12
  %14 = binary add %11, %13 : f32[B0]
  yield %14
}
yield
)");
}

TEST(Variables, SwappedByHand) {
  EXPECT_EQ(traced([](tw::Tensor a, tw::Tensor c) {
              for (auto r : tw::tile(64)) {
                tw::Tile x = a[r, 0], y = a[r, 1];
                for ([[maybe_unused]] auto k : tw::grid(32)) {
                  auto t = x;
                  x = y;
                  y = t;
                }
                c[r, 0] = x;
              }
            }),
            R"(%5 = constant 0 : i64
%6 = load %0, %4, %5 : f32[B0]
%7 = constant 1 : i64
%8 = load %0, %4, %7 : f32[B0]
%9 = constant 0 : i64
%10 = constant 32 : i64
%11, %12 = tile_loop (%9) (%10) (%6, %8) {axes=[1], parallel=0} : f32[B0], f32[B0] (%13: slice<B1>, %14: f32[B0], %15: f32[B0]) {
  yield %15, %14
}
%16 = constant 0 : i64
store %1, %11, %4, %16
yield
)");
}

TEST(Variables, SwappedByTheLibrary) {
  const std::string swapped = traced([](tw::Tensor a, tw::Tensor c) {
    for (auto r : tw::tile(64)) {
      auto x = a[r, 0], y = a[r, 1];  // references to elements swap as variables too
      for ([[maybe_unused]] auto k : tw::grid(32)) std::swap(x, y);
      c[r, 0] = x;
    }
  });
  EXPECT_EQ(swapped, R"(%5 = constant 0 : i64
%6 = load %0, %4, %5 : f32[B0]
%7 = constant 1 : i64
%8 = load %0, %4, %7 : f32[B0]
%9 = constant 0 : i64
%10 = constant 32 : i64
%11, %12 = tile_loop (%9) (%10) (%6, %8) {axes=[1], parallel=0} : f32[B0], f32[B0] (%13: slice<B1>, %14: f32[B0], %15: f32[B0]) {
  yield %15, %14
}
%16 = constant 0 : i64
store %1, %11, %4, %16
yield
)");
}

TEST(Variables, ANamedReferenceIsRebound) {
  // Nothing is stored but by the four statements that say so.
  EXPECT_EQ(traced([](tw::Tensor a, tw::Tensor c) {
              for (auto r : tw::tile(64)) {
                auto x = a[r, 0];
                auto y = a[r, 1];
                x = y;
                x = x + 1.0f;
                x = a[r, 2];
                x += 3;
                c[r, 0] = x;
                c[r, 1] += y;
                auto z = x;
                z = y;
                c[r, 2] = z;
                y = 5;
                c[r, 3] = y;
              }
            }),
            R"(%5 = constant 2 : i64
%6 = load %0, %4, %5 : f32[B0]
%7 = constant 1 : i64
%8 = load %0, %4, %7 : f32[B0]
%9 = constant 3.0 : f32
%10 = broadcast %9 {shape=[B0], dims=[]} : f32[B0]
%11 = binary add %6, %10 : f32[B0]
%12 = constant 0 : i64
store %1, %11, %4, %12
%13 = constant 1 : i64
%14 = load %1, %4, %13 : f32[B0]
%15 = binary add %14, %8 : f32[B0]
store %1, %15, %4, %13
%16 = constant 2 : i64
store %1, %8, %4, %16
%17 = constant 5.0 : f32
%18 = broadcast %17 {shape=[B0], dims=[]} : f32[B0]
%19 = constant 3 : i64
store %1, %18, %4, %19
yield
)");
}

TEST(Variables, ALoadSeesTheStoresBeforeIt) {
  EXPECT_EQ(traced([](tw::Tensor a, tw::Tensor c) {
              for (auto r : tw::tile(64)) {
                tw::Tile old = a[r, 0];
                a[r, 0] = old + 1.0;
                c[r, 0] = old;
                c[r, 1] = a[r, 0];
              }
            }),
            R"(%5 = constant 0 : i64
%6 = load %0, %4, %5 : f32[B0]
%7 = constant 1.0 : f32
%8 = broadcast %7 {shape=[B0], dims=[]} : f32[B0]
%9 = binary add %6, %8 : f32[B0]
%10 = constant 0 : i64
store %0, %9, %4, %10
%11 = constant 0 : i64
store %1, %6, %4, %11
%12 = constant 0 : i64
%13 = load %0, %4, %12 : f32[B0]
%14 = constant 1 : i64
store %1, %13, %4, %14
yield
)");
}

TEST(Variables, AssignedFirstInALoopThatRuns) {
  EXPECT_EQ(traced([](tw::Tensor a, tw::Tensor c) {
              for (auto r : tw::tile(64)) {
                tw::Tile last;
                for (auto k : tw::grid(32)) last = a[r, k];
                c[r, 0] = last;
              }
            }),
            R"(%5 = constant 0 : i64
%6 = constant 32 : i64
%7 = constant 0.0 : f32
%8 = broadcast %7 {shape=[B0], dims=[]} : f32[B0]
%9 = tile_loop (%5) (%6) (%8) {axes=[1], parallel=0} : f32[B0] (%10: slice<B1>, %11: f32[B0]) {
  %12 = slice_begin %10 : i64
  %13 = load %0, %4, %12 : f32[B0]
  yield %13
}
%14 = constant 0 : i64
store %1, %9, %4, %14
yield
)");
}

TEST(Variables, ATemporaryDeclaredOutsideIsNotCarried) {
  const auto fn = trace(
      [](tw::Tensor a, tw::Tensor c) {
        tw::Tile early;
        for (auto r : tw::tile(64)) {
          tw::Tile x;
          for (auto k : tw::tile(32)) {
            x = a[r, k];
            early = x;
            c[r, k] = early;
          }
        }
      },
      {tensor(f32, {64, 32}), tensor(f32, {64, 32})});
  EXPECT_TRUE(sequential_loops(fn).at(0)->results.empty());
}

TEST(Variables, AnArrayOfTilesIsCarried) {
  EXPECT_EQ(traced([](tw::Tensor a, tw::Tensor c) {
              for (auto r : tw::tile(64)) {
                std::array<tw::Tile, 2> v{a[r, 0], a[r, 1]};
                for (auto k : tw::grid(32))
                  for (auto& t : v) t = t + a[r, k];
                for (int i : tw::static_range(2)) c[r, i] = v[i];
              }
            }),
            R"(%5 = constant 0 : i64
%6 = load %0, %4, %5 : f32[B0]
%7 = constant 1 : i64
%8 = load %0, %4, %7 : f32[B0]
%9 = constant 0 : i64
%10 = constant 32 : i64
%11, %12 = tile_loop (%9) (%10) (%6, %8) {axes=[1], parallel=0} : f32[B0], f32[B0] (%13: slice<B1>, %14: f32[B0], %15: f32[B0]) {
  %16 = slice_begin %13 : i64
  %17 = load %0, %4, %16 : f32[B0]
  %18 = load %0, %4, %16 : f32[B0]
  %19 = binary add %14, %17 : f32[B0]
  %20 = binary add %15, %18 : f32[B0]
  yield %19, %20
}
%21 = constant 0 : i64
store %1, %11, %4, %21
%22 = constant 1 : i64
store %1, %12, %4, %22
yield
)");
}

TEST(Variables, TheSecondOfTwoLoopsLeavesTheFirstsResult) {
  const auto fn = trace(
      [](tw::Tensor a, tw::Tensor c) {
        for (auto r : tw::tile(64)) {
          tw::Tile x = a[r, 0];
          tw::Tile y = a[r, 1];
          for (auto k : tw::grid(2)) y += a[r, k];
          for (auto k : tw::grid(3)) x += a[r, k] * y;
          c[r, 0] = x;
          c[r, 1] = y;
        }
      },
      {tensor(f32, {64, 32}), tensor(f32, {64, 32})});
  const auto loops = sequential_loops(fn);
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loops[0]->results.size(), 1u);
  EXPECT_EQ(loops[1]->results.size(), 1u);
}

TEST(Variables, BranchesMerge) {
  EXPECT_EQ(traced([](tw::Tensor a, tw::Tensor c) {
              for (auto r : tw::tile(64)) {
                tw::Tile x = a[r, 0];
                tw::Tile y;
                tw::if_(
                    r.begin() > 0,
                    [&] {
                      x = x * 2;
                      y = x;
                    },
                    [&] { y = x + 1; });
                c[r, 0] = x + y;
              }
            }),
            R"(%5 = constant 0 : i64
%6 = load %0, %4, %5 : f32[B0]
%7 = slice_begin %4 : i64
%8 = constant 0 : i64
%9 = compare gt %7, %8 : bool
%10, %11 = if_else %9 : f32[B0], f32[B0] {
  %12 = constant 2.0 : f32
  %13 = broadcast %12 {shape=[B0], dims=[]} : f32[B0]
  %14 = binary mul %6, %13 : f32[B0]
  yield %14, %14
} {
  %15 = constant 1.0 : f32
  %16 = broadcast %15 {shape=[B0], dims=[]} : f32[B0]
  %17 = binary add %6, %16 : f32[B0]
  yield %6, %17
}
%18 = binary add %10, %11 : f32[B0]
%19 = constant 0 : i64
store %1, %18, %4, %19
yield
)");
}

TEST(Variables, ABranchWithoutElseKeepsTheValueBefore) {
  const auto fn = trace(
      [](tw::Tensor a, tw::Tensor c) {
        for (auto r : tw::tile(64)) {
          tw::Tile x = a[r, 0];
          tw::if_(r.id() == 0, [&] { x = x * 2; });
          c[r, 0] = x;
        }
      },
      {tensor(f32, {64, 32}), tensor(f32, {64, 32})});
  const ir::Op& branch = only(fn, ir::OpKind::if_else);
  EXPECT_EQ(branch.regions[0]->yields()[0]->def->kind, ir::OpKind::binary);
  EXPECT_EQ(branch.regions[1]->yields()[0]->def->kind, ir::OpKind::load);
}

TEST(Variables, AConditionKnownInCxxChoosesWhileTracing) {
  const auto kernel = [](tw::Tensor a, tw::Tensor c, bool twice) {
    for (auto r : tw::tile(64)) {
      tw::Tile x = a[r, 0];
      tw::if_(
          twice, [&] { x = x * 2; }, [&] { x = x + 3; });
      c[r, 0] = x;
    }
  };
  for (bool twice : {true, false}) {
    const auto fn =
        trace(kernel, {tensor(f32, {64, 32}), tensor(f32, {64, 32}), KernelArg::constant(twice)});
    EXPECT_EQ(count(fn, ir::OpKind::if_else), 0);
    EXPECT_EQ(only(fn, ir::OpKind::binary).fn(), twice ? ir::Fn::mul : ir::Fn::add);
  }
}

TEST(Variables, AScalarParameterCanBeAVariable) {
  const auto fn = trace(
      [](tw::Tensor a, tw::Scalar<float> scale) {
        for (auto r : tw::tile(64)) {
          for (auto k : tw::grid(32)) a[r, k] = a[r, k] * scale;
          tw::Scalar<int64_t> n = 0;
          for (auto k : tw::tile(32)) {
            n += k.size();
            n = n + 1;
          }
          a[r, 0] = n;
        }
      },
      {tensor(f32, {64, 32}), KernelArg::scalar(f32)});
  EXPECT_EQ(sequential_loops(fn).at(1)->result()->type, ir::Type::scalar(i64));
}

}  // namespace
}  // namespace tilewright::testing
