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
            R"()");
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
            R"()");
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
            R"()");
}

TEST(Variables, SwappedByTheLibrary) {
  const std::string swapped = traced([](tw::Tensor a, tw::Tensor c) {
    for (auto r : tw::tile(64)) {
      auto x = a[r, 0], y = a[r, 1];  // references to elements swap as variables too
      for ([[maybe_unused]] auto k : tw::grid(32)) std::swap(x, y);
      c[r, 0] = x;
    }
  });
  EXPECT_EQ(swapped, R"()");
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
            R"()");
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
            R"()");
}

TEST(Variables, AssignedFirstInALoopThatRuns) {
  EXPECT_EQ(traced([](tw::Tensor a, tw::Tensor c) {
              for (auto r : tw::tile(64)) {
                tw::Tile last;
                for (auto k : tw::grid(32)) last = a[r, k];
                c[r, 0] = last;
              }
            }),
            R"()");
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
            R"()");
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
            R"()");
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
      tw::if_(twice, [&] { x = x * 2; }, [&] { x = x + 3; });
      c[r, 0] = x;
    }
  };
  for (bool twice : {true, false}) {
    const auto fn = trace(
        kernel, {tensor(f32, {64, 32}), tensor(f32, {64, 32}), KernelArg::constant(twice)});
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
