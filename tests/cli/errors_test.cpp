// The errors of the program's own, and how it compares results.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <limits>

#include "cli/compare.h"
#include "cli/disassembler.h"
#include "cli/options.h"
#include "tests/support/expect_error.h"
#include "tests/support/run_command.h"

namespace tilewright::cli {
namespace {

using testing::expect_error;

TEST(Errors, AMissingLibrary) {
  KernelOptions options;
  options.libraries = {"/nonexistent/libmine.so"};
  expect_error(ErrorId::load_library, 0, "/nonexistent/libmine.so cannot be loaded",
               [&] { options.load_libraries(); });
}

// A folder with a disassembler that does what the text says, first on the path while this lives.
class FakeDisassembler {
 public:
  explicit FakeDisassembler(const std::string& script) : saved_(::getenv("PATH")) {
    const std::string folder =
        ::testing::TempDir() + fmt::format("tilewright_fake_bin_{}", ::getpid());
    testing::run_command("mkdir -p " + folder + " && printf '#!/bin/sh\n" + script + "\n' > " +
                         folder + "/nvdisasm && chmod +x " + folder + "/nvdisasm");
    ::setenv("PATH", (folder + ":" + saved_).c_str(), 1);
  }
  ~FakeDisassembler() { ::setenv("PATH", saved_.c_str(), 1); }
  FakeDisassembler(const FakeDisassembler&) = delete;
  FakeDisassembler& operator=(const FakeDisassembler&) = delete;

 private:
  std::string saved_;
};

TEST(Errors, TheDisassemblersOutputIsShown) {
  const FakeDisassembler works("cat \"$2\"");
  EXPECT_EQ(disassemble("machine code"), "machine code");
}

TEST(Errors, ADisassemblerThatFails) {
  const FakeDisassembler fails("echo no such section; exit 3");
  expect_error(ErrorId::disassembler_failed, 0, "no such section", [] { disassemble("code"); });
}

TEST(Errors, NoDisassembler) {
  expect_error(ErrorId::missing_disassembler, 0, "pip install nvidia-cuda-nvdisasm",
               [] { disassemble("code", std::nullopt); });
}

Array floats(const std::vector<float>& values) {
  return Array::from_host(values, {static_cast<int64_t>(values.size())}, Device::cpu());
}

TEST(Compare, EqualArraysAreEqual) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float inf = std::numeric_limits<float>::infinity();
  const Comparison found = compare(floats({1, nan, inf, -0.0f}), floats({1, nan, inf, 0.0f}));
  EXPECT_EQ(found.different, 0);
  EXPECT_EQ(found.largest, 0);
}

TEST(Compare, RoundingIsAllowedAndMoreIsNot) {
  EXPECT_EQ(compare(floats({1 + 0x1p-22f}), floats({1})).different, 0);
  const Comparison found = compare(floats({1, 1.001f}), floats({1, 1}));
  EXPECT_EQ(found.different, 1);
  EXPECT_EQ(found.where, 1);
  EXPECT_NEAR(found.largest, 1e-3, 1e-6);
}

TEST(Compare, NanAndInfinityAreNotRounding) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(compare(floats({nan}), floats({1})).different, 1);
  EXPECT_EQ(compare(floats({1}), floats({nan})).different, 1);
  EXPECT_EQ(compare(floats({inf}), floats({-inf})).different, 1);
  EXPECT_EQ(compare(floats({inf}), floats({3e38f})).different, 1);
  EXPECT_EQ(compare(floats({3e38f}), floats({inf})).different, 1);
}

TEST(Compare, IntegersMustBeEqual) {
  const std::vector<int32_t> a = {1, 2, 3}, b = {1, 2, 4};
  const Array x = Array::from_host(a, {3}, Device::cpu());
  const Array y = Array::from_host(b, {3}, Device::cpu());
  EXPECT_EQ(compare(x, x).different, 0);
  EXPECT_EQ(compare(x, y).different, 1);
}

}  // namespace
}  // namespace tilewright::cli
