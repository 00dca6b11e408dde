// The kernel that the language is designed around, as a user writes it.
#include "tests/dsl/trace_kernel.h"

namespace tilewright::testing {
namespace {

namespace tw = tilewright;

TEST(Matmul, TracesAsWritten) {
  const auto matmul = tw::make_traceable("matmul", [](tw::Tensor a, tw::Tensor b) {
    auto [m, k] = tw::sizes<2>(a);
    auto [k2, n] = tw::sizes<2>(b);
    tw::check(k == k2, "inner sizes differ: {} and {}", k, k2);
    tw::Tensor c = tw::empty({m, n}, a.dtype());
    for (auto [rows, cols] : tw::tile({m, n})) {        // the grid: one program per output tile
      tw::Tile acc = tw::zeros({rows, cols}, tw::f32);  // stays in registers
      for (auto ks : tw::tile(k)) {                     // a sequential loop, pipelined
        acc = tw::addmm(acc, a[rows, ks], b[ks, cols]);
      }
      c[rows, cols] = acc;  // converted to c's dtype, edge-masked
    }
    return c;
  });
  const std::vector<KernelArg> args = {tensor(bf16, {1000, 999}), tensor(bf16, {999, 1001})};
  EXPECT_EQ(
      ir::print(matmul.trace(args)),
      R"(func @matmul(%a: bf16[1000,999], %b: bf16[999,1001], %c: bf16[1000,1001] allocated) -> (%c) {
  axis B0 "rows"
  axis B1 "cols"
  axis B2 "ks"
  %0 = constant 0 : i64
  %1 = constant 0 : i64
  %2 = constant 1000 : i64
  %3 = constant 1001 : i64
  tile_loop (%0, %1) (%2, %3) () {axes=[0,1], parallel=1} (%rows: slice<B0>, %cols: slice<B1>) {
    %4 = constant 0 : i64
    %5 = constant 999 : i64
    %6 = constant 0.0 : f32
    %acc = broadcast %6 {shape=[B0,B1], dims=[]} : f32[B0,B1]
    %acc.1 = tile_loop (%4) (%5) (%acc) {axes=[2], parallel=0} : f32[B0,B1] (%ks: slice<B2>, %acc.2: f32[B0,B1]) {
      %7 = load %a, %rows, %ks : bf16[B0,B2]
      %8 = load %b, %ks, %cols : bf16[B2,B1]
      %acc.3 = dot %7, %8, %acc.2 : f32[B0,B1]
      yield %acc.3
    }
    %9 = cast %acc.1 : bf16[B0,B1]
    store %c, %9, %rows, %cols
    yield
  }
}
)");
}

TEST(Matmul, ChecksSizesWhileTracing) {
  int line = 0;
  expect_trace_error(ErrorId::check_failed, line, "inner sizes differ: 32 and 64",
                     [&](tw::Tensor a, tw::Tensor b) {
                       auto [m, k] = tw::sizes<2>(a);
                       auto [k2, n] = tw::sizes<2>(b);
                       line = __LINE__ + 1;
                       tw::check(k == k2, "inner sizes differ: {} and {}", k, k2);
                     });
}

TEST(Matmul, TakesAnEpilogue) {
  const auto kernel = [](tw::Tensor a, tw::Tensor b, tw::Fn<tw::Tile(tw::Tile)> epilogue) {
    auto [m, k] = tw::sizes<2>(a);
    tw::Size n = b.size(1);
    tw::Tensor c = tw::empty({m, n}, a.dtype());
    for (auto [rows, cols] : tw::tile({m, n})) {
      tw::Tile acc = tw::zeros({rows, cols}, tw::f32);
      for (auto ks : tw::tile(k)) acc = tw::addmm(acc, a[rows, ks], b[ks, cols]);
      c[rows, cols] = epilogue(acc);
    }
    return c;
  };
  const tw::Fn<tw::Tile(tw::Tile)> gelu = [](tw::Tile x) { return tw::gelu(x); };
  const auto fn =
      trace(kernel, {tensor(f32, {8, 8}), tensor(f32, {8, 8}), KernelArg::callable(gelu)});
  EXPECT_EQ(count(fn, ir::OpKind::unary), 1);
  EXPECT_EQ(only(fn, ir::OpKind::unary).fn(), ir::Fn::erf);
  EXPECT_EQ(fn.params.size(), 3u);
}

}  // namespace
}  // namespace tilewright::testing
