// Every error of the language, at the user's line.
#include <vector>

#include "tests/dsl/trace_kernel.h"

namespace tilewright::testing {
namespace {

namespace tw = tilewright;

/// Raises `id` in a kernel whose grid's body is `fn(a, i, j)`: a is f32[64,32], i and j its tiles.
/// `fn` is one expression, at `line`.
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
      // A call's arguments start on its first line; the lambda is among them.
      EXPECT_GE(error.loc().line, loc.line) << error.what();
      EXPECT_LE(error.loc().line, loc.line + 3) << error.what();
      throw;
    }
  });
}
using I = tw::TileIndex;

TEST(Errors, Shapes) {
  expect_in_body(ErrorId::shape_mismatch, "add: shapes [i,j] and [j,i] do not match",
                 [](tw::Tensor a, I i, I j) { a[i, j] + a[j, i]; });
  expect_in_body(ErrorId::shape_mismatch, "a store into 'a': shapes [j,i] and [i,j]",
                 [](tw::Tensor a, I i, I j) {
                   a[i, j] = tw::zeros({j, i}, tw::f32);
                 });
  expect_in_body(ErrorId::shape_mismatch, "broadcast_to: shapes [i,j] and [j]",
                 [](tw::Tensor a, I i, I j) { tw::broadcast_to(a[i, j], {j}); });
  expect_in_body(ErrorId::shape_mismatch, "a transpose takes two dimensions",
                 [](tw::Tensor a, I i, I) { a[i, 0].t(); });
  expect_in_body(ErrorId::bad_reshape, "a tile of shape [i,j] cannot be reshaped to [4]",
                 [](tw::Tensor a, I i, I j) { tw::reshape(a[i, j], {4}); });
  expect_in_body(ErrorId::bad_size, "a size must not be negative; found -1",
                 [](tw::Tensor, I i, I) {
                   tw::zeros({i, -1}, tw::f32);
                 });
}

TEST(Errors, Dtypes) {
  expect_in_body(ErrorId::dtype_mismatch, "mul: dtypes f32 and f16 do not match; write tw::cast",
                 [](tw::Tensor a, I i, I j) { a[i, j] * tw::cast(a[i, j], tw::f16); });
  expect_in_body(ErrorId::literal_dtype, "the number 0.5 does not fit dtype i64",
                 [](tw::Tensor, I i, I) { i.index() + 0.5; });
  expect_in_body(ErrorId::literal_dtype, "the number 300 does not fit dtype u8",
                 [](tw::Tensor, I i, I) { tw::full({i}, 300, tw::u8); });
  expect_in_body(ErrorId::literals_only, "where: all operands are C++ numbers",
                 [](tw::Tensor a, I i, I j) { tw::where(a[i, j] > 0, 1.0f, 0.0f); });
  expect_in_body(ErrorId::function_dtype, "exp takes float tiles; this one is i64",
                 [](tw::Tensor, I i, I) { tw::exp(i.index()); });
  expect_in_body(ErrorId::function_dtype, "&& takes bool tiles; this one is f32",
                 [](tw::Tensor a, I i, I j) { a[i, j] && a[i, j]; });
  expect_in_body(ErrorId::function_dtype, "fma takes float tiles",
                 [](tw::Tensor, I i, I) { tw::fma(i.index(), 2, 3); });
  expect_in_body(ErrorId::function_dtype, "any takes bool tiles",
                 [](tw::Tensor a, I i, I j) { tw::any(a[i, j]); });
}

TEST(Errors, Indices) {
  expect_in_body(ErrorId::index_rank, "tensor 'a' has 2 dimensions, but 1 indices are given",
                 [](tw::Tensor a, I i, I) { a[i]; });
  expect_in_body(ErrorId::index_rank, "a tile of type f32[i,j] has 2 dimensions, but 1 indices",
                 [](tw::Tensor a, I i, I j) { a[i, j](tw::all, tw::none); });
  expect_in_body(ErrorId::index_kind, "write .index() for its positions",
                 [](tw::Tensor a, I i, I j) { a[i, j] + j; });
  expect_in_body(ErrorId::index_kind,
                 "the elements of an index tile are positions, so they are integers; found f32[i]",
                 [](tw::Tensor a, I i, I) { a[i, a[i, 0]]; });
  expect_in_body(ErrorId::not_a_scalar, "a loop's bound must be a scalar of dtype i64; found f32",
                 [](tw::Tensor a, I, I) {
                   for (auto k : tw::tile(a[0, 0])) (void)k;
                 });
  expect_in_body(ErrorId::not_a_scalar,
                 "a tw::Scalar's value must be a scalar of dtype i32; found i64",
                 [](tw::Tensor, I i, I) { tw::Scalar<int32_t>(i.begin() + 1); });
  expect_in_body(ErrorId::not_a_scalar,
                 "the condition of tw::if_ must be a scalar of dtype bool; found bool[i,j]",
                 [](tw::Tensor a, I i, I j) { tw::if_(a[i, j] > 0, [] {}); });
  expect_in_body(ErrorId::sizes_rank, "3 sizes are asked of tensor 'a', which has 2 dimensions",
                 [](tw::Tensor a, I, I) { tw::sizes<3>(a); });
  expect_in_body(ErrorId::bad_axis, "sum: dimension 2 of a value with 2 dimensions does not exist",
                 [](tw::Tensor a, I i, I j) { tw::sum(a[i, j], tw::axis(2)); });
  expect_in_body(ErrorId::bad_axis, "permute: dimension 0 of a value with 2 dimensions",
                 [](tw::Tensor a, I i, I j) {
                   tw::permute(a[i, j], {0, 0});
                 });
  expect_in_body(ErrorId::bad_block, "a block size must be positive; found 0",
                 [](tw::Tensor, I, I) { tw::block(0); });
  expect_in_body(ErrorId::reduce_nothing, "max of a dimension of size 0 has no value",
                 [](tw::Tensor, I i, I) {
                   tw::max(tw::zeros({i, 0}, tw::f32), tw::axis(1));
                 });
}

TEST(Errors, Dot) {
  expect_in_body(ErrorId::dot_dtype, "dot: dtypes i64 and i64 with accumulator i64",
                 [](tw::Tensor, I i, I j) {
                   tw::dot(tw::zeros({i, j}, tw::i64), tw::zeros({j, i}, tw::i64));
                 });
  expect_in_body(ErrorId::dot_dtype, "addmm: dtypes f32 and f32 with accumulator f16",
                 [](tw::Tensor a, I i, I j) {
                   tw::addmm(tw::zeros({i, i}, tw::f16), a[i, j], a[i, j].t());
                 });
  expect_in_body(ErrorId::dot_precision,
                 "dot: precision two_level is for operands of f8; found f32",
                 [](tw::Tensor a, I i, I j) { tw::dot(a[i, j], a[i, j].t(), tw::two_level); });
  expect_in_body(ErrorId::dot_precision, "addmm: precision tf32 is for operands of f32; found f16",
                 [](tw::Tensor, I i, I j) {
                   const tw::Tile x = tw::zeros({i, j}, tw::f16);
                   tw::addmm(tw::zeros({i, i}, tw::f32), x, x.t(), tw::tf32);
                 });
  expect_in_body(ErrorId::dot_shape, "dot: shapes [i,j] and [i,j] with accumulator none",
                 [](tw::Tensor a, I i, I j) { tw::dot(a[i, j], a[i, j]); });
}

TEST(Errors, Stores) {
  int line = 0;
  expect_error(ErrorId::store_needs_cast, 0,
               "a f32 value is stored into 'n', which is i32; write tw::cast(value, i32)", [&] {
                 trace(
                     [&](tw::Tensor a, tw::Tensor n) {
                       for (auto i : tw::tile(8)) n[i] = a[i];
                     },
                     {tensor(f32, {8}), tensor(i32, {8})});
               });
  expect_trace_error(ErrorId::unwritten_result, line,
                     "tensor 'c', made here by tw::empty, is never stored to",
                     [&](tw::Tensor a, tw::Tensor b) {
                       line = __LINE__ + 1;
                       tw::Tensor c = tw::empty({8}, tw::f32);
                       for (auto i : tw::tile(8)) a[i, 0] = b[i, 0];
                       return c;
                     });
  expect_trace_error(ErrorId::empty_in_loop, line, "make results before the grid loop",
                     [&](tw::Tensor, tw::Tensor) {
                       for ([[maybe_unused]] auto i : tw::tile(8)) {
                         line = __LINE__ + 1;
                         tw::empty({8}, tw::f32);
                       }
                     });
  expect_trace_error(ErrorId::bad_size, line, "found -1", [&](tw::Tensor a, tw::Tensor) {
    line = __LINE__ + 1;
    tw::empty({a.size(0) - 65}, tw::f32);
  });
}

TEST(Errors, Variables) {
  int line = 0;
  expect_trace_error(ErrorId::variable_changes, line,
                     "variable 'x' is f32[i], and is now assigned f32[i,j]",
                     [&](tw::Tensor a, tw::Tensor) {
                       for (auto [i, j] : tw::tile({64, 32})) {
                         tw::Tile x = a[i, 0];
                         line = __LINE__ + 1;
                         x = a[i, j];
                       }
                     });
  expect_trace_error(ErrorId::variable_changes, line, "is f32[i], and is now assigned f16[i]",
                     [&](tw::Tensor a, tw::Tensor) {
                       for (auto i : tw::tile(64)) {
                         auto x = a[i, 0];
                         line = __LINE__ + 1;
                         x = tw::cast(x, tw::f16);
                       }
                     });
  expect_trace_error(ErrorId::used_before_assignment, line,
                     "variable 'x' is read before it is assigned", [&](tw::Tensor a, tw::Tensor) {
                       for (auto i : tw::tile(64)) {
                         tw::Tile x;
                         line = __LINE__ + 1;
                         a[i, 0] = x;
                       }
                     });
  // In the first iteration it is unassigned, although the trace has seen an assignment.
  expect_trace_error(ErrorId::used_before_assignment, line,
                     "variable 'y' is read before it is assigned", [&](tw::Tensor a, tw::Tensor) {
                       for (auto i : tw::tile(64)) {
                         tw::Tile x;
                         for (auto k : tw::grid(2)) {
                           tw::if_(
                               k > 5, [&] { x = a[i, k]; }, [&] { x = a[i, 1]; });
                           tw::if_(k > 9, [&] { x = a[i, 3]; });
                         }
                         tw::Tile y;
                         for (auto k : tw::grid(2)) {
                           tw::if_(
                               k > 5, [&] { y = a[i, k]; },
                               [&] {
                                 line = __LINE__ + 1;
                                 y = y + 1;
                               });
                         }
                         a[i, 0] = x;
                       }
                     });
}

TEST(Errors, MaybeUnassigned) {
  int line = 0;
  expect_trace_error(ErrorId::maybe_unassigned, line, "variable 'x' is used after this loop",
                     [&](tw::Tensor a, tw::Tensor) {
                       for (auto i : tw::tile(64)) {
                         tw::Tile x;
                         line = __LINE__ + 1;
                         for (auto k : tw::grid(i.begin(), i.end())) x = a[i, k];
                         a[i, 0] = x;
                       }
                     });
  expect_trace_error(ErrorId::maybe_unassigned, line, "variable 'x' is used after this branch",
                     [&](tw::Tensor a, tw::Tensor) {
                       for (auto i : tw::tile(64)) {
                         tw::Tile x;
                         line = __LINE__ + 1;
                         tw::if_(i.id() == 0, [&] { x = a[i, 1]; });
                         a[i, 0] = x;
                       }
                     });
}

TEST(Errors, Escapes) {
  int line = 0;
  // The shape of x is that of a loop that is over.
  expect_trace_error(ErrorId::value_escapes, line,
                     "variable 'x' belongs to one iteration of the loop",
                     [&](tw::Tensor a, tw::Tensor) {
                       for (auto i : tw::tile(64)) {
                         tw::Tile x;
                         for (auto k : tw::tile(32)) x = a[i, k];
                         line = __LINE__ + 1;
                         a[i, 0] = tw::sum(x, tw::axis(1));
                       }
                     });
  expect_trace_error(ErrorId::value_escapes, line, "belongs to one iteration of the loop",
                     [&](tw::Tensor a, tw::Tensor) {
                       for (auto i : tw::tile(64)) {
                         std::vector<tw::Tile> list;
                         for (auto k : tw::grid(32)) list.push_back(a[i, k]);
                         line = __LINE__ + 1;
                         a[i, 0] = list[0];
                       }
                     });
  expect_trace_error(ErrorId::value_escapes, line, "a loop's index belongs to one iteration",
                     [&](tw::Tensor a, tw::Tensor) {
                       for (auto i : tw::tile(64)) {
                         std::vector<tw::TileIndex> list;
                         for (auto k : tw::tile(32)) list.push_back(k);
                         line = __LINE__ + 1;
                         a[i, list[0]] = 0;
                       }
                     });
  expect_trace_error(ErrorId::carried_by_grid, line,
                     "variable 'n' is declared outside the grid loop",
                     [&](tw::Tensor a, tw::Tensor) {
                       tw::Scalar<int64_t> n = 0;
                       for (auto i : tw::tile(64)) {
                         a[i, 0] = n;
                         line = __LINE__ + 1;
                         n = n + 1;
                       }
                     });
}

TEST(Errors, LoopsLeftEarly) {
  int line = 0;
  const std::string_view text = "break, return, goto or a caught exception leaves a tile loop";
  expect_trace_error(ErrorId::loop_left_early, line, text, [&](tw::Tensor a, tw::Tensor) {
    for (auto i : tw::tile(64)) {
      tw::Tile acc = a[i, 0];
      line = __LINE__ + 1;
      for (auto k : tw::grid(4)) {
        acc = acc + a[i, k];
        break;
      }
      a[i, 0] = acc;
    }
  });
  expect_trace_error(ErrorId::loop_left_early, line, text, [&](tw::Tensor a, tw::Tensor) {
    line = __LINE__ + 1;
    for (auto i : tw::tile(64)) {
      a[i, 0] = 0;
      return;
    }
  });
  expect_trace_error(ErrorId::loop_left_early, line, text, [&](tw::Tensor a, tw::Tensor) {
    for (auto i : tw::tile(64)) {
      try {
        line = __LINE__ + 1;
        tw::if_(i.begin() > 0, [&] { throw 1; });
      } catch (int) {
      }
      a[i, 0] = 0;
    }
  });
}

TEST(Errors, HostState) {
  int line = 0;
  const std::string_view text = "depends on C++ state that it changes itself";
  expect_trace_error(ErrorId::host_state, line, text, [&](tw::Tensor a, tw::Tensor) {
    for (auto i : tw::tile(64)) {
      tw::Tile acc = a[i, 0];
      bool first = true;
      line = __LINE__ + 1;  // the position k is read in one version only
      for (auto k : tw::grid(4)) {
        if (first)
          acc = acc * 2.0;
        else
          acc = acc + a[i, k];
        first = false;
      }
      a[i, 0] = acc;
    }
  });
  expect_trace_error(ErrorId::host_state, line, text, [&](tw::Tensor a, tw::Tensor) {
    for (auto i : tw::tile(64)) {
      tw::Tile acc = a[i, 0];
      int n = 0;
      for (auto k : tw::grid(4)) {
        acc = acc + a[i, k];
        ++n;
      }
      line = __LINE__ + 1;
      a[i, 0] = acc * n;
    }
  });
  expect_trace_error(ErrorId::host_state, line, text, [&](tw::Tensor a, tw::Tensor) {
    for (auto i : tw::tile(64)) {
      tw::Tile acc = a[i, 0];
      double weight = 1;
      for (auto k : tw::grid(4)) {
        line = __LINE__ + 1;
        acc = acc * weight + a[i, k];
        weight *= 0.5;
      }
      a[i, 0] = acc;
    }
  });
  expect_trace_error(ErrorId::host_state, line, text, [&](tw::Tensor a, tw::Tensor) {
    for (auto i : tw::tile(64)) {
      int n = 0;
      tw::if_(i.id() == 0, [&] { ++n; });
      line = __LINE__ + 1;
      a[i, 0] = n;
    }
  });
  int runs = 0;  // state that outlives the kernel's body
  expect_trace_error(ErrorId::host_state, line, text, [&](tw::Tensor a, tw::Tensor) {
    ++runs;
    line = __LINE__ + 1;
    for (auto i : tw::tile(64)) a[i, 0] = runs;
  });
}

TEST(Errors, Places) {
  int line = 0;
  expect_trace_error(ErrorId::outside_loop, line, "an index of a tensor outside any tile loop",
                     [&](tw::Tensor a, tw::Tensor c) {
                       line = __LINE__ + 1;
                       c[0, 0] = a[0, 0];
                     });
  expect_trace_error(ErrorId::outside_loop, line, "a tile outside any tile loop",
                     [&](tw::Tensor, tw::Tensor) {
                       line = __LINE__ + 1;
                       tw::zeros({4}, tw::f32);
                     });
  const Loc kernel = {__FILE__, 1};
  expect_error(ErrorId::no_grid, 1, "the kernel has no tile loop",
               [&] { trace([](tw::Tensor) {}, {tensor(f32, {8})}, kernel); });
  line = __LINE__ + 1;
  expect_error(ErrorId::outside_trace, line, "a tw::Tile outside a kernel", [] { tw::Tile x; });
  expect_error(ErrorId::size_division, 0, "a size is divided by 0", [] { tw::Size(3) / 0; });
  const auto keep = [](tw::Tensor a) {
    for (auto i : tw::tile(8)) a[i] = 0;
    return a;
  };
  std::vector<tw::Tensor> kept;
  trace([&](tw::Tensor a) { kept.push_back(keep(a)); }, {tensor(f32, {8})});
  expect_error(ErrorId::foreign_value, 0, "a tensor was made while another kernel was traced", [&] {
    trace([&](tw::Tensor a) { return std::array{keep(a), kept[0]}; }, {tensor(f32, {8})});
  });
}

}  // namespace
}  // namespace tilewright::testing
