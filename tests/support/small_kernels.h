// Small kernels that tests call.
#pragma once

#include <tuple>

#include "tilewright/autotune/tilewright.h"

namespace tilewright::testing {

/// c = a + b, one dimension.
inline auto make_add(std::string name = "add") {
  return kernel(std::move(name), [](Tensor a, Tensor b) {
    auto [n] = sizes<1>(a);
    auto [m] = sizes<1>(b);
    check(n == m, "lengths differ: {} and {}", n, m);
    Tensor c = empty({n}, a.dtype());
    for (auto i : tile(n)) c(i) = a(i) + b(i);
    return c;
  });
}

/// y = x * factor in memory that is passed in.
inline auto make_scale_into() {
  return kernel("scale_into", [](Tensor x, Scalar<float> factor, Tensor y) {
    auto [rows, columns] = sizes<2>(x);
    for (auto [i, j] : tile({rows, columns})) y(i, j) = x(i, j) * factor;
  });
}

/// The sum and the difference.
inline auto make_sum_and_difference() {
  return kernel("sum_and_difference", [](Tensor a, Tensor b) {
    auto [n] = sizes<1>(a);
    Tensor sum = empty({n}, a.dtype());
    Tensor difference = empty({n}, a.dtype());
    for (auto i : tile(n)) {
      Tile x = a(i), y = b(i);
      sum(i) = x + y;
      difference(i) = x - y;
    }
    return std::tuple(sum, difference);
  });
}

/// c = a b.
inline auto make_product(std::string name = "product") {
  return kernel(std::move(name), [](Tensor a, Tensor b) {
    auto [m, k] = sizes<2>(a);
    const Size n = b.size(1);
    Tensor c = empty({m, n}, a.dtype());
    for (auto [rows, cols] : tile({m, n})) {
      Tile acc = zeros({rows, cols}, f32);
      for (auto ks : tile(k)) acc = addmm(acc, a(rows, ks), b(ks, cols));
      c(rows, cols) = acc;
    }
    return c;
  });
}

/// x applied `times` times to a callable.
inline auto make_apply() {
  return kernel("apply", [](Tensor x, int times, Fn<Tile(Tile)> step) {
    auto [n] = sizes<1>(x);
    Tensor y = empty({n}, x.dtype());
    for (auto i : tile(n)) {
      Tile value = x(i);
      for (int k = 0; k < times; ++k) value = step(value);
      y(i) = value;
    }
    return y;
  });
}

}  // namespace tilewright::testing
