// Kernels by name.
#include "tilewright/autotune/registry.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/small_kernels.h"

namespace tilewright {
namespace {

using testing::expect_error;
using testing::make_add;

const std::vector<CompileArg> kSpecs = {contiguous_spec(DType::f32, {8}),
                                        contiguous_spec(DType::f32, {8})};

TEST(Registry, FindsKernelsByName) {
  const RegisterKernel second{make_add("second")};
  const RegisterKernel first{make_add("first")};
  EXPECT_EQ(find_kernel("first").name(), "first");
  std::vector<std::string> names;
  for (const KernelHandle& kernel : registered_kernels()) names.push_back(kernel.name());
  EXPECT_EQ(names, (std::vector<std::string>{"first", "second"}));
  expect_error(ErrorId::unknown_kernel, 0, "no kernel 'third' is registered; known: first, second",
               [] { find_kernel("third"); });
}

TEST(Registry, ForgetsKernelsOfUnloadedLibraries) {
  { const RegisterKernel gone{make_add("gone")}; }
  expect_error(ErrorId::unknown_kernel, 0, "gone", [] { find_kernel("gone"); });
}

TEST(Registry, OneNameMayComeTwiceForTheSameKernel) {
  const RegisterKernel one{make_add()}, two{make_add()};
  check_one_definition("add", kSpecs);
}

TEST(Registry, OneNameForDifferentKernelsIsAnError) {
  const auto other = kernel("add", [](Tensor a, Tensor b) {
    auto [n] = sizes<1>(a);
    Tensor c = empty({n}, a.dtype());
    for (auto i : tile(n)) c(i) = a(i) - b(i);
    return c;
  });
  const RegisterKernel one{make_add()}, two{other};
  expect_error(ErrorId::kernel_redefined, other.handle().loc().line,
               "two kernels are registered as 'add'", [] { check_one_definition("add", kSpecs); });
}

}  // namespace
}  // namespace tilewright
