// Loops that depend on run-time values, branches, several grids, tunables.
#include <array>
#include <optional>
#include <tuple>

#include "tests/dsl/trace_kernel.h"
#include "tilewright/ir/builder.h"

namespace tilewright::testing {
namespace {

namespace tw = tilewright;

template <class F>
ir::Function traced(F fn) {
  return trace(fn, {tensor(f32, {64, 32}), tensor(f32, {64, 32})});
}

TEST(Control, ALoopWalksATileOfALoopAroundIt) {
  const auto fn = traced([](tw::Tensor a, tw::Tensor c) {
    for (auto outer : tw::tile(64))
      for (auto rows : tw::tile(outer)) c[rows, 0] = a[rows, 0];
  });
  const ir::LoopView loop(*sequential_loops(fn).at(0));
  EXPECT_EQ(loop.begins[0]->def->kind, ir::OpKind::slice_begin);
  EXPECT_EQ(loop.limits[0]->def->kind, ir::OpKind::slice_end);
}

TEST(Control, BoundsAreLoadedFromMemory) {
  const auto fn = trace(
      [](tw::Tensor offsets, tw::Tensor x, tw::Tensor y) {
        for (auto i : tw::grid(y.size(0))) {
          tw::Tile sum = tw::zeros({}, tw::f32);
          for (auto k : tw::tile(offsets[i], offsets[i + 1])) sum += tw::sum(x[k]);
          y[i] = sum;
        }
      },
      {tensor(i32, {9}), tensor(f32, {100}), tensor(f32, {8})});
  const ir::LoopView loop(*sequential_loops(fn).at(0));
  EXPECT_EQ(loop.begins[0]->def->kind, ir::OpKind::cast);
  EXPECT_EQ(loop.limits[0]->def->operand(0)->def->kind, ir::OpKind::load);
}

TEST(Control, AGridWalksInSteps) {
  const auto fn = trace(
      [](tw::Tensor a, tw::Scalar<int64_t> n) {
        for (auto i : tw::grid(3, n, 4))
          for (auto k : tw::grid(1, 8, 3)) a[i, k] = 0;
      },
      {tensor(f32, {64, 32}), KernelArg::scalar(i64)});
  const ir::Op& grid = *fn.body().ops.back();
  EXPECT_EQ(grid.operand(0)->def->integer(ir::AttrKey::value), 0);
  EXPECT_EQ(grid.operand(1)->def->fn(), ir::Fn::div);
  const ir::Op& store = only(fn, ir::OpKind::store);
  EXPECT_EQ(store.operand(2)->def->fn(), ir::Fn::add);  // 3 + 4 * number
}

TEST(Control, AWhileLoopCarriesWhatItAssigns) {
  EXPECT_EQ(body_of(traced([](tw::Tensor a, tw::Tensor c) {
              for (auto r : tw::tile(64)) {
                tw::Tile acc = a[r, 0];
                tw::Scalar<int64_t> left = r.size(), untouched = r.begin();
                tw::while_([&] { return left > 0; },
                           [&] {
                             acc = acc + a[r, left];
                             left = left - untouched;
                           });
                c[r, 0] = acc;
              }
            })),
            R"(%5 = constant 0 : i64
%6 = load %0, %4, %5 : f32[B0]
%7 = slice_end %4 : i64
%8 = slice_begin %4 : i64
%9 = binary sub %7, %8 : i64
%10 = constant 0 : i64
%11 = compare gt %9, %10 : bool
%12 = slice_begin %4 : i64
%13, %14 = while_loop %11, %6, %9 : f32[B0], i64 (%15: f32[B0], %16: i64) {
  %17 = load %0, %4, %16 : f32[B0]
  %18 = binary sub %16, %12 : i64
  %19 = constant 0 : i64
  %20 = compare gt %18, %19 : bool
  %21 = binary add %15, %17 : f32[B0]
  yield %20, %21, %18
}
%22 = constant 0 : i64
store %1, %13, %4, %22
yield
)");
}

TEST(Control, BranchesMergeWhatTheyAssign) {
  const auto fn = traced([](tw::Tensor a, tw::Tensor c) {
    for (auto r : tw::tile(64)) {
      tw::Tile acc = a[r, 0];
      tw::Scalar<int64_t> at = 0;
      for (auto k : tw::grid(32)) {
        tw::if_(
            k < 4, [&] { acc = acc + 1; },
            [&] {
              tw::if_(
                  k < 9,
                  [&] {
                    acc = acc * 2;
                    at = k;
                  },
                  [&] { tw::if_(k == 20, [&] { c[r, at] = acc; }); });
            });
      }
      c[r, 0] = acc;
    }
  });
  EXPECT_EQ(count(fn, ir::OpKind::if_else), 3);
  EXPECT_EQ(ir::LoopView(*sequential_loops(fn).at(0)).carried.size(), 2u);
}

TEST(Control, TuplesAndArraysOfTilesUnroll) {
  const auto fn = traced([](tw::Tensor a, tw::Tensor c) {
    for (auto r : tw::tile(64)) {
      std::array<tw::Tile, 2> sums{a[r, 0], a[r, 1]};
      for (auto k : tw::grid(2, 32))
        for (tw::Tile& sum : sums) sum = sum + a[r, k];
      std::apply([&](auto&... each) { ((c[r, 0] = each), ...); }, std::tie(sums[0], sums[1]));
      for (int64_t i : tw::static_range(a.size(1) / 16)) c[r, i + 1] = sums[i];
    }
  });
  EXPECT_EQ(sequential_loops(fn).at(0)->results.size(), 2u);
  EXPECT_EQ(count(fn, ir::OpKind::store), 4);
}

TEST(Control, GridsWithoutASharedTensorNeedNoBarrier) {
  const auto fn = traced([](tw::Tensor a, tw::Tensor c) {
    tw::Tensor d = tw::empty_like(a);
    for (auto [i, j] : tw::tile({64, 32})) c[i, j] = a[i, j];
    for (auto [i, j] : tw::tile({64, 32})) d[i, j] = a[i, j] * 2;
    return d;
  });
  EXPECT_EQ(count(fn, ir::OpKind::tile_loop), 2);
  EXPECT_EQ(count(fn, ir::OpKind::grid_barrier), 0);
}

TEST(Control, WhatIsNotReturnedIsWorkspace) {
  const auto fn = traced([](tw::Tensor a, tw::Tensor c) {
    tw::Tensor parts = tw::empty({64}, tw::f32), result = tw::empty({32}, tw::f32);
    for (auto i : tw::tile(64)) parts[i] = tw::sum(a[i, tw::all], tw::axis(1));
    tw::barrier();
    for (auto j : tw::tile(32)) {
      c[0, j] = 0;
      result[j] = parts[j];
    }
    return result;
  });
  EXPECT_EQ(count(fn, ir::OpKind::grid_barrier), 1);
  ASSERT_EQ(fn.params.size(), 4u);
  EXPECT_EQ(fn.launch_params(), 3u);
  EXPECT_EQ(fn.results, std::vector<int>{2});
  EXPECT_TRUE(fn.is_workspace(3));
  EXPECT_FALSE(fn.is_workspace(2));
  EXPECT_EQ(fn.params[3].spec.sizes, std::vector<int64_t>{64});
}

const auto tunable_kernel = [](tw::Tensor a) {
  const int64_t split = tw::tunable("split", {2, 4, 1});
  EXPECT_EQ(tw::tunable("split", {2, 4, 1}), split);
  for (auto i : tw::tile(8))
    for (int64_t k : tw::static_range(split)) a[i] = a[i] + k;
};

TEST(Control, TunablesDecideTheTrace) {
  const auto traceable = make_traceable("k", tunable_kernel);
  const std::vector<KernelArg> args = {tensor(f32, {8})};
  const auto stores = [&](const TunableValues& values) {
    return count(traceable.trace(args, values), ir::OpKind::store);
  };
  EXPECT_EQ(stores({}), 2);
  EXPECT_EQ(stores({{"split", 4}}), 4);
  EXPECT_EQ(stores({{"split", 1}, {"other", 7}}), 1);
  const ir::Function fn = traceable.trace(args, {{"split", 4}});
  EXPECT_EQ(fn.tunables, (std::vector<ir::Tunable>{{"split", {2, 4, 1}, 4}}));
  EXPECT_NE(ir::print(fn).find("  tunable \"split\" = 4 of [2,4,1]\n"), std::string::npos);
}

TEST(ControlErrors, Loops) {
  int line = 0;
  expect_trace_error(ErrorId::bad_step, line, "must be positive; found 0",
                     [&](tw::Tensor a, tw::Tensor) {
                       line = __LINE__ + 1;
                       for (auto i : tw::grid(0, 8, 0)) a[i, 0] = 0;
                     });
  expect_trace_error(ErrorId::not_a_scalar, line, "a loop's bound must be a scalar",
                     [&](tw::Tensor a, tw::Tensor) {
                       for (auto i : tw::tile(64)) {
                         line = __LINE__ + 1;
                         for (auto k : tw::tile(a[i, 0])) a[k, 0] = 0;
                       }
                     });
  expect_trace_error(ErrorId::value_escapes, line, "belongs to one iteration of the loop",
                     [&](tw::Tensor a, tw::Tensor c) {
                       for (auto i : tw::tile(64)) {
                         std::optional<tw::TileIndex> last;
                         for (auto k : tw::tile(i)) last = k;
                         line = __LINE__ + 1;
                         for (auto k : tw::tile(*last)) c[k, 0] = a[k, 0];
                       }
                     });
}

TEST(ControlErrors, WhileLoops) {
  int line = 0;
  expect_trace_error(ErrorId::not_a_scalar, line, "the condition of tw::while_ must be a scalar",
                     [&](tw::Tensor a, tw::Tensor) {
                       for (auto i : tw::tile(64)) {
                         line = __LINE__ + 1;
                         tw::while_([&] { return a[i, 0] > 0; }, [&] { a[i, 0] = 0; });
                       }
                     });
  expect_trace_error(ErrorId::outside_loop, line, "tw::while_ outside any tile loop",
                     [&](tw::Tensor, tw::Tensor) {
                       line = __LINE__ + 1;
                       tw::while_([] { return tw::Scalar<bool>(true); }, [] {});
                     });
  expect_trace_error(ErrorId::condition_assigns, line, "assigns variable 'n'",
                     [&](tw::Tensor a, tw::Tensor) {
                       for (auto i : tw::tile(64)) {
                         tw::Scalar<int64_t> n = 0;
                         tw::while_(
                             [&] {
                               line = __LINE__ + 1;
                               n = n + 1;
                               return n < 4;
                             },
                             [&] { a[i, n] = 0; });
                       }
                     });
  expect_trace_error(ErrorId::maybe_unassigned, line, "which may leave it unassigned",
                     [&](tw::Tensor a, tw::Tensor) {
                       for (auto i : tw::tile(64)) {
                         tw::Tile x;
                         tw::Scalar<int64_t> n = i.size();
                         line = __LINE__ + 1;
                         tw::while_([&] { return n > 0; },
                                    [&] {
                                      x = a[i, 1];
                                      n = n - 1;
                                    });
                         a[i, 0] = x;
                       }
                     });
  expect_trace_error(ErrorId::value_escapes, line, "belongs to one iteration of the loop",
                     [&](tw::Tensor a, tw::Tensor) {
                       for (auto i : tw::tile(64)) {
                         std::optional<tw::Tile> seen;
                         tw::Scalar<int64_t> n = i.size();
                         tw::while_([&] { return n > 0; },
                                    [&] {
                                      seen.emplace(a[i, 1]);
                                      n = n - 1;
                                    });
                         line = __LINE__ + 1;
                         a[i, 0] = *seen;
                       }
                     });
  expect_trace_error(ErrorId::variable_changes, line, "is f32[i], and is now assigned i64",
                     [&](tw::Tensor a, tw::Tensor) {
                       for (auto i : tw::tile(64)) {
                         tw::Tile x = a[i, 0];
                         tw::Scalar<int64_t> n = 3;
                         tw::while_([&] { return n > 0; },
                                    [&] {
                                      line = __LINE__ + 1;
                                      x = n + 1;
                                    });
                       }
                     });
}

TEST(ControlErrors, HostStateOfAWhileLoop) {
  int line = 0;
  expect_trace_error(ErrorId::host_state, line, "depends on C++ state that it changes itself",
                     [&](tw::Tensor a, tw::Tensor) {
                       for (auto i : tw::tile(64)) {
                         tw::Scalar<int64_t> n = 3;
                         int turn = 0;
                         tw::while_([&] { return n > 0; },
                                    [&] {
                                      line = __LINE__ + 1;
                                      a[i, turn++] = 0;
                                      n = n - 1;
                                    });
                       }
                     });
}

TEST(ControlErrors, Grids) {
  int line = 0;
  const auto expect = [&](std::string_view text, auto kernel) {
    expect_trace_error(ErrorId::grids_depend, line, text, kernel);
  };
  expect("this grid loop reads tensor 'arg1', which the grid loop at line",
         [&](tw::Tensor a, tw::Tensor c) {
           for (auto i : tw::tile(64)) c[i, 0] = 0;
           line = __LINE__ + 1;
           for (auto i : tw::tile(64)) a[i, 1] = c[i, 0];
         });
  expect("this grid loop writes tensor 'arg0', which the grid loop at line",
         [&](tw::Tensor a, tw::Tensor c) {
           for (auto i : tw::tile(64)) c[i, 0] = a[i, 0];
           tw::barrier();
           for (auto i : tw::tile(64)) c[i, 0] = a[i, 0] + c[i, 0];
           for (auto i : tw::tile(64)) {
             line = __LINE__ + 1;
             a[i, 1] = 0;
           }
         });
  const int first = __LINE__ + 4;
  const std::string both = fmt::format("the grid loop at line {0} writes (line {0})", first);
  expect_error(ErrorId::grids_depend, 0, both, [&] {
    traced([&](tw::Tensor, tw::Tensor c) {
      for (auto i : tw::tile(64)) c[i, 0] = 0;
      for (auto i : tw::tile(64)) c[i, 1] = 0;
    });
  });
}

TEST(ControlErrors, Barriers) {
  int line = 0;
  const auto expect = [&](std::string_view text, auto kernel) {
    expect_trace_error(ErrorId::barrier_misplaced, line, text, kernel);
  };
  expect("tw::barrier() in a loop or a branch; it stands between two grid loops",
         [&](tw::Tensor a, tw::Tensor) {
           for (auto i : tw::tile(64)) {
             a[i, 0] = 0;
             line = __LINE__ + 1;
             tw::barrier();
           }
         });
  expect("before the first grid loop", [&](tw::Tensor a, tw::Tensor) {
    line = __LINE__ + 1;
    tw::barrier();
    for (auto i : tw::tile(64)) a[i, 0] = 0;
  });
  expect("after the last grid loop", [&](tw::Tensor a, tw::Tensor) {
    for (auto i : tw::tile(64)) a[i, 0] = 0;
    line = __LINE__ + 1;
    tw::barrier();
  });
  expect_trace_error(ErrorId::carried_by_grid, line, "programs of a grid run in parallel",
                     [&](tw::Tensor a, tw::Tensor) {
                       tw::Scalar<int64_t> n = 0;
                       for (auto i : tw::tile(64)) {
                         line = __LINE__ + 1;
                         n = n + 1;
                         a[i, 0] = 0;
                       }
                       for (auto i : tw::tile(64)) a[i, n] = 0;
                     });
}

TEST(ControlErrors, Tunables) {
  int line = 0;
  const auto expect = [&](std::string_view text, auto ask) {
    expect_trace_error(ErrorId::tunable_values, line, text, [&](tw::Tensor a, tw::Tensor) {
      ask();
      for (auto i : tw::tile(64)) a[i, 0] = 0;
    });
  };
  expect("tw::tunable(\"s\"): it needs at least one value", [&] {
    line = __LINE__ + 1;
    tw::tunable("s", {});
  });
  expect("a value is given twice", [&] {
    line = __LINE__ + 1;
    tw::tunable("s", {1, 2, 1});
  });
  expect("a tunable needs a name", [&] {
    line = __LINE__ + 1;
    tw::tunable("", {1});
  });
  expect("asked for twice, with other values", [&] {
    tw::tunable("s", {1, 2});
    line = __LINE__ + 1;
    tw::tunable("s", {1, 3});
  });
  expect_error(ErrorId::config_tunable_value, 0, "'split' of kernel k is one of 2, 4, 1; found 3",
               [] {
                 const std::vector<KernelArg> args = {tensor(f32, {8})};
                 make_traceable("k", tunable_kernel).trace(args, {{"split", 3}});
               });
}

}  // namespace
}  // namespace tilewright::testing
