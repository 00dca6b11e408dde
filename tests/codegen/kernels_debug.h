// Kernels with random numbers, assertions, PTX and numbers of 4 bits.
#pragma once

#include <cmath>
#include <tuple>

#include "tests/codegen/kernel_case.h"

namespace tilewright::testing {

/// x with a part of it set to 0 and the rest scaled, and numbers of each kind beside it.
inline KernelCase dropout(int64_t m, int64_t n) {
  return make_case("dropout",
                   [](Tensor x, Scalar<int64_t> seed) {
                     auto [m, n] = sizes<2>(x);
                     Tensor y = empty_like(x), noise = empty_like(x), dice = empty({m, n}, i32);
                     for (auto [rows, cols] : tile({m, n})) {
                       Tile keep = rand({rows, cols}, seed) > 0.25;
                       y[rows, cols] = where(keep, x[rows, cols] / 0.75, 0.0);
                       noise[rows, cols] = randn({rows, cols}, seed);
                       dice[rows, cols] = randint({rows, cols}, 1, 7, seed);
                     }
                     return std::tuple{y, noise, dice};
                   },
                   {dense(f32, {m, n}), KernelArg::scalar(i64)}, {int64_t{1234567890123}});
}

/// Bytes as two numbers each, with an assertion that holds.
inline KernelCase unpacked_bytes(DType dtype, int64_t m, int64_t n) {
  return make_case("unpacked_bytes",
                   [dtype](Tensor x) {
                     auto [m, n] = sizes<2>(x);
                     Tensor ints = empty({m, 2, n}, dtype), floats = empty({m, 2, n}, dtype);
                     for (auto [rows, cols] : tile({m, n})) {
                       const auto [low, high] = unpack_int4(x[rows, cols], dtype);
                       ints[rows, 0, cols] = low;
                       ints[rows, 1, cols] = high;
                       const auto [first, second] = unpack_fp4(x[rows, cols], dtype);
                       floats[rows, 0, cols] = first;
                       floats[rows, 1, cols] = second;
                       device_assert(abs(first) <= 6.0, "fp4 is at most 6");
                     }
                     return std::tuple{ints, floats};
                   },
                   {dense(u8, {m, n})});
}

/// A product whose sums are looked at, and a message of each program.
inline KernelCase printed_product(int64_t m, int64_t n, int64_t k) {
  return make_case("printed_product",
                   [](Tensor a, Tensor b) {
                     auto [m, k] = sizes<2>(a);
                     Tensor c = empty({m, b.size(1)}, f32);
                     for (auto [rows, cols] : tile({m, b.size(1)})) {
                       Tile sum = zeros({rows, cols}, f32);
                       for (auto ks : tile(k)) sum = addmm(sum, a[rows, ks], b[ks, cols]);
                       print("rows from {}, {} columns", rows.begin(), cols.size());
                       print("sum {}", sum);
                       c[rows, cols] = sum;
                     }
                     return c;
                   },
                   {dense(f32, {m, k}), dense(f32, {k, n})});
}

/// x x + y and -x as PTX.
inline KernelCase own_ptx(int64_t n) {
  return make_case("own_ptx",
                   [](Tensor x, Tensor y) {
                     Tensor z = empty_like(x), h = empty({x.size(0)}, f16);
                     for (auto i : tile(x.size(0))) {
                       z[i] = inline_ptx("fma.rn.f32 %0, %1, %1, %2;", f32, {x[i], y[i]},
                                         [](float a, float b) { return std::fma(a, a, b); });
                       h[i] = inline_ptx("{ .reg .b16 t; neg.f16 t, %1; mov.b16 %0, t; }", f16,
                                         {cast(x[i], f16)}, [](float a) { return -a; });
                     }
                     return std::tuple{z, h};
                   },
                   {dense(f32, {n}), dense(f32, {n})});
}

/// One element is below 0: an assertion fails at it.
inline KernelCase failing_assert(int64_t n, int& line) {
  return make_case("failing_assert",
                   [&line](Tensor x) {
                     for (auto i : tile(x.size(0))) {
                       line = __LINE__ + 1;
                       device_assert(i.index() != 5, "index \"5\" is bad");
                       x[i] = 1.0;
                     }
                   },
                   {dense(f32, {n})});
}

}  // namespace tilewright::testing
