// Dynamic sizes on the CPU: one trace for many, results of the sizes at hand, checks and errors.
#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/small_kernels.h"
#include "tilewright/autotune/dynamic_sizes.h"
#include "tilewright/ir/parse.h"
#include "tilewright/ir/print.h"

namespace tilewright {
namespace {

using testing::expect_error;
using testing::make_add;

Array ones(std::vector<int64_t> sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return Array::from_host(std::vector<float>(static_cast<size_t>(count), 1), sizes, Device::cpu());
}

// Calls with a[m,8] and b[8,5], and checks the result.
template <class K>
void expect_product(const K& product, int64_t m) {
  const Array c = product(ones({m, 8}), ones({8, 5}));
  ASSERT_EQ(c.size(0), m);
  for (int64_t i = 0; i < c.elements(); ++i) ASSERT_EQ(c.value(i), 8.0) << m;
}

TEST(Dynamic, OneTraceServesManySizes) {
  int traces = 0;
  const auto product = kernel("product", [&](Tensor a, Tensor b) {
    ++traces;
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
  product.dynamic(0);
  for (const int64_t m : {7, 0, 1, 8, 5}) expect_product(product, m);
  EXPECT_EQ(traces, 2);  // a trace runs the body twice
  for (const int64_t m : {65, 100, 128}) expect_product(product, m);
  EXPECT_EQ(traces, 4);
}

TEST(Dynamic, LimitsAreFew) {
  std::vector<int64_t> limits;
  for (int64_t size = 0; size <= 5000; ++size)
    if (const int64_t limit = runtime::dynamic_limit(size); limits.empty() || limits.back() < limit)
      limits.push_back(limit);
  EXPECT_EQ(limits, (std::vector<int64_t>{8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 65536}));
  EXPECT_EQ(runtime::dynamic_limit(65537), kMostDynamic);
  const TensorSpec dynamic = dynamic_spec(DType::f32, {100, 8}), known = ones({8, 5}).spec();
  const auto lists = by_limits({{dynamic, known}, {known}});
  ASSERT_EQ(lists.size(), 6u);
  EXPECT_EQ(lists[4][0].dynamic_spec()->sizes[0], 128);
  EXPECT_EQ(lists[4][1].dynamic_spec(), nullptr);
}

TEST(Dynamic, TheTraceNamesTheSize) {
  const auto add = make_add();
  const TensorSpec spec = dynamic_spec(DType::f32, {16});
  const auto fn = add.handle().trace(std::vector<CompileArg>{spec, spec});
  const std::string text = ir::print(*fn);
  EXPECT_NE(text.find("a_size: i64, %a: f32[?16] sized %a_size"), std::string::npos) << text;
  EXPECT_NE(text.find("f32[?16] sized %a_size allocated"), std::string::npos) << text;
  EXPECT_EQ(ir::print(ir::parse(text)), text);
  ASSERT_EQ(fn->checks.size(), 1u);
}

TEST(Dynamic, ChecksHoldAtEveryLaunch) {
  const auto add = make_add();
  add.dynamic(0), add.dynamic(1);
  EXPECT_EQ(add(ones({9}), ones({9})).size(0), 9);
  expect_error(ErrorId::check_failed, 0,
               "lengths differ: a.size(0) and b.size(0) (a.size(0) is 9, b.size(0) is 8)",
               [&] { add(ones({9}), ones({8})); });
  Array small = ones({8});
  expect_error(ErrorId::out_spec, 0, "is f32[9]; .out has f32[8]",
               [&] { add.launch({.out = {small}}, ones({9}), ones({9})); });
  const TensorView same(small.data(), DType::f32, {8}, {0}, Device::cpu());
  expect_error(ErrorId::output_overlap, 0, "strides [0]",
               [&] { add.launch({.out = {same}}, ones({8}), ones({8})); });
}

// Traces `body` for x[?64,8], which must fail with the text, at the line that it gives.
template <class Body>
void expect_dynamic_error(const char* text, const int& line, Body body) {
  const auto wrong = kernel("wrong", body);
  const auto trace = [&] {
    wrong.handle().trace(std::vector<CompileArg>{dynamic_spec(DType::f32, {64, 8})});
  };
  expect_error(ErrorId::dynamic_size, 0, text, trace);  // sets the line
  expect_error(ErrorId::dynamic_size, line, text, trace);
}

TEST(Dynamic, WhatNeedsANumberSaysSo) {
  int line = 0;
  expect_dynamic_error("the size of dimension 0 of tensor 'x' is dynamic", line, [&](Tensor x) {
    line = __LINE__ + 1;
    for (auto cols : tile(x.size(1))) x(0, cols) = sum(x(all, cols), axis(0));
  });
  expect_dynamic_error("and a dimension of a tile needs it when tracing", line, [&](Tensor x) {
    line = __LINE__ + 1;
    for (auto cols : tile(x.size(1))) x(0, cols) = sum(zeros({x.size(0), cols}, f32), axis(0));
  });
  expect_dynamic_error("a tensor that is filled first", line, [&](Tensor x) {
    line = __LINE__ + 1;
    return zeros_tensor({x.size(0)}, f32);
  });
  expect_dynamic_error("(x.size(0) + 1) * 2 is dynamic", line, [&](Tensor x) {
    line = __LINE__ + 1;
    return empty({(x.size(0) + 1) * 2}, f32);
  });
  expect_dynamic_error("a size of a result other than the first", line, [&](Tensor x) {
    line = __LINE__ + 1;
    return empty({x.size(1), x.size(0)}, f32);
  });
  expect_dynamic_error("a plain number", line, [&](Tensor x) {
    line = __LINE__ + 1;
    return specialize(x.size(0)) > 4 ? x : x.t();
  });
  line = 0;
  expect_dynamic_error("x.size(0) < 4 is dynamic", line,
                       [](Tensor x) { return x.size(0) < 4 ? x : x.t(); });
  expect_dynamic_error("memory that the kernel does not return", line, [&](Tensor x) {
    line = __LINE__ + 1;
    Tensor kept = empty_like(x);
    for (auto [rows, cols] : tile({x.size(0), x.size(1)})) kept(rows, cols) = x(rows, cols);
    barrier();
    for (auto [rows, cols] : tile({x.size(0), x.size(1)})) x(rows, cols) = kept(rows, cols);
  });
}

TEST(Dynamic, WhatCannotBeDynamic) {
  const auto scale = testing::make_scale_into();
  expect_error(ErrorId::dynamic_argument, 0, "there is no such parameter",
               [&] { scale.dynamic(3); });
  expect_error(ErrorId::dynamic_argument, 0, "it is no tensor", [&] { scale.dynamic(1); });
  expect_error(ErrorId::dynamic_argument, 0, "dimension 1 of parameter 0",
               [&] { scale.dynamic(0, 1); });
  TensorSpec turned = dynamic_spec(DType::f32, {8, 8});
  turned.strides = {1, 8};
  expect_error(ErrorId::dynamic_argument, 0, "f32[?8,8]:[1,8] cannot be dynamic", [&] {
    scale.handle().trace(std::vector<CompileArg>{turned, DType::f32, turned});
  });
}

TEST(Dynamic, RowsThatOverlapKeepTheirOwnSize) {
  const auto add = make_add();
  add.dynamic(0), add.dynamic(1);
  const Array a = ones({4});
  const TensorView repeated(const_cast<void*>(static_cast<const void*>(a.data())), DType::f32, {4},
                            {0}, Device::cpu());
  EXPECT_FALSE(runtime::can_be_dynamic(repeated));
  EXPECT_EQ(add(repeated, a).value(3), 2.0);
}

TEST(Dynamic, SizesAreScalarsOfTheKernel) {
  const auto of_sizes = kernel("of_sizes", [](Tensor x) {
    auto [m, n] = sizes<2>(x);
    check(m * 2 >= m, "never seen");
    Tensor y = empty({m}, i64);
    for (auto rows : tile(m)) {
      Tile sum = rows.index() + (m * n + cdiv(m, 4));
      y(rows) = where(rows.index() < m, sum, 0);
    }
    return y;
  });
  of_sizes.dynamic(0);
  for (const int64_t m : {1, 6, 40}) {
    const Array y = of_sizes(ones({m, 3}));
    ASSERT_EQ(y.size(0), m);
    for (int64_t i = 0; i < m; ++i)
      ASSERT_EQ(y.value(i), static_cast<double>(m * 3 + (m + 3) / 4 + i)) << m;
  }
}

}  // namespace
}  // namespace tilewright
