// What a kernel's signature declares, its key, and its results.
#include <tuple>

#include "tests/dsl/trace_kernel.h"
#include "tilewright/ir/equal.h"

namespace tilewright::testing {
namespace {

namespace tw = tilewright;

enum class Mode { copy, twice };

void copy_kernel(tw::Tensor a, tw::Tensor c) {
  for (auto i : tw::tile(a.size(0))) c[i] = a[i];
}

TEST(Signature, DeclaresEveryKindOfParameter) {
  const auto kernel =
      tw::make_traceable("k", [](const tw::Tensor& a, tw::Scalar<double> s, int n, bool b,
                                 Mode mode, float f, tw::Fn<tw::Tile(tw::Tile)> fn) {
        for (auto i : tw::tile(n))
          a[i] = mode == Mode::twice && b ? fn(a[i]) * f : tw::cast(s, tw::f32);
      });
  std::vector<ParamKind> kinds;
  for (const ParamInfo& param : kernel.params()) kinds.push_back(param.kind);
  using enum ParamKind;
  EXPECT_EQ(kinds, (std::vector{tensor, scalar, constant, constant, constant, constant, callable}));
  EXPECT_EQ(kernel.params()[1].dtype, f64);
  EXPECT_EQ(kernel.params()[6].name, "fn");
  static_assert(
      std::is_same_v<KernelParams<decltype(&copy_kernel)>, std::tuple<tw::Tensor, tw::Tensor>>);
  static_assert(std::is_void_v<KernelResultType<decltype(&copy_kernel)>>);

  const tw::Fn<tw::Tile(tw::Tile)> twice = [](tw::Tile x) { return x + x; };
  const auto fn = kernel.trace(std::vector{testing::tensor(f32, {8}), KernelArg::scalar(f64),
                                           KernelArg::constant(8), KernelArg::constant(true),
                                           KernelArg::constant(Mode::twice),
                                           KernelArg::constant(0.25f), KernelArg::callable(twice)});
  EXPECT_EQ(fn.params.size(), 2u);
  EXPECT_EQ(count(fn, ir::OpKind::binary), 2);
  EXPECT_EQ(count(fn, ir::OpKind::cast), 0);
}

TEST(Signature, TakesFunctions) {
  const auto fn = trace(&copy_kernel, {tensor(f32, {8}), tensor(f32, {8})});
  EXPECT_TRUE(fn.results.empty());
}

TEST(Signature, ReturnsTensors) {
  const auto one = trace(
      [](tw::Tensor a) {
        for (auto i : tw::tile(8)) a[i] = a[i] + 1;
        return a;
      },
      {tensor(f32, {8})});
  EXPECT_EQ(one.results, std::vector<int>{0});
  const auto two = trace(
      [](tw::Tensor a) {
        tw::Tensor low = tw::empty_like(a), high = tw::empty({8, 1}, tw::f16);
        for (auto i : tw::tile(8)) {
          low[i] = a[i];
          high[i, 0] = a[i];
        }
        return std::tuple(high, low);
      },
      {tensor(f32, {8})});
  EXPECT_EQ(two.results, (std::vector<int>{2, 1}));
  EXPECT_TRUE(two.params[1].allocated && two.params[2].allocated && !two.params[0].allocated);
  EXPECT_EQ(two.params[2].spec, contiguous_spec(f16, {8, 1}));
  const auto array = trace(
      [](tw::Tensor a) {
        for (auto i : tw::tile(8)) a[i] = 1;
        return std::array{a, a};
      },
      {tensor(f32, {8})});
  EXPECT_EQ(array.results, (std::vector<int>{0, 0}));
}

TEST(Keys, TellArgumentsApart) {
  EXPECT_EQ(key_of(tensor(f32, {8, 8})), "f32[8,8]");
  EXPECT_EQ(key_of(KernelArg::scalar(f32)), "scalar f32");
  EXPECT_EQ(key_of(KernelArg::constant(3)), "3");
  EXPECT_EQ(key_of(KernelArg::constant(true)), "true");
  EXPECT_NE(key_of(KernelArg::constant(0.1)), key_of(KernelArg::constant(0.1f)));
  EXPECT_EQ(key_of(KernelArg::constant(Mode::twice)), "1");
  using Unary = tw::Fn<tw::Tile(tw::Tile)>;
  const Unary plain = [](tw::Tile x) { return x; }, other = [](tw::Tile x) { return -x; };
  EXPECT_NE(key_of(KernelArg::callable(plain)), key_of(KernelArg::callable(other)));
  EXPECT_EQ(key_of(KernelArg::callable(plain)), key_of(KernelArg::callable(Unary(plain))));
  const float scale = 2;
  const Unary captures = [scale](tw::Tile x) { return x * scale; };
  EXPECT_EQ(key_of(KernelArg::callable(captures)), std::nullopt);
}

TEST(Trace, IsTheSameEachTime) {
  const auto kernel = tw::make_traceable("k", &copy_kernel);
  const std::vector<KernelArg> args = {tensor(f32, {8}), tensor(f32, {8})};
  const auto first = kernel.trace(args), second = kernel.trace(args);
  EXPECT_EQ(ir::print(first), ir::print(second));
  EXPECT_EQ(ir::first_difference(first, second), std::nullopt);
}

TEST(Trace, TheCallersExceptionsPassThrough) {
  struct Mine {};
  const auto kernel = [](tw::Tensor a) {
    for (auto i : tw::tile(8)) {
      a[i] = 1;
      tw::if_(i.begin() > 0, [&] { throw Mine(); });
    }
  };
  EXPECT_THROW(trace(kernel, {tensor(f32, {8})}), Mine);
  // And leave nothing behind.
  EXPECT_EQ(trace(&copy_kernel, {tensor(f32, {8}), tensor(f32, {8})}).axes.size(), 1u);
}

TEST(Trace, OneMayInterruptAnother) {
  const auto fn = trace(
      [](tw::Tensor a) {
        for (auto i : tw::tile(8)) {
          EXPECT_EQ(trace(&copy_kernel, {tensor(f32, {8}), tensor(f32, {8})}).params.size(), 2u);
          a[i] = a[i] * 2;
        }
      },
      {tensor(f32, {8})});
  EXPECT_EQ(fn.params.size(), 1u);
}

TEST(Trace, WrongArguments) {
  const auto kernel = tw::make_traceable("copy", &copy_kernel);
  const auto refuse = [&](std::string_view text, std::vector<KernelArg> args) {
    expect_error(ErrorId::kernel_arguments, 0, text, [&] { kernel.trace(args); });
  };
  refuse("kernel copy: 1 arguments are given; it has 2 parameters", {tensor(f32, {8})});
  refuse("must be a tensor; found a number", {tensor(f32, {8}), KernelArg::constant(3)});
  const auto scaled = tw::make_traceable(
      "scaled", [](tw::Tensor a, tw::Scalar<float> s, tw::Fn<tw::Tile(tw::Tile)> f) {
        for (auto i : tw::tile(8)) a[i] = f(a[i] * s);
      });
  expect_error(
      ErrorId::kernel_arguments, 0, "argument 's' must be a scalar of dtype f32; found f64", [&] {
        const tw::Fn<tw::Tile(tw::Tile)> f = [](tw::Tile x) { return x; };
        scaled.trace(std::vector{tensor(f32, {8}), KernelArg::scalar(f64), KernelArg::callable(f)});
      });
  expect_error(ErrorId::kernel_arguments, 0, "argument 2 is a callable of another type", [&] {
    const tw::Fn<tw::Tile()> f = [] { return tw::zeros({}, tw::f32); };
    scaled.trace(std::vector{tensor(f32, {8}), KernelArg::scalar(f32), KernelArg::callable(f)});
  });
}

}  // namespace
}  // namespace tilewright::testing
