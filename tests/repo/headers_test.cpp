// Every public header compiles alone as C++20, without a warning.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/repo/source_tree.h"
#include "tests/support/run_command.h"

namespace tilewright::repo {
namespace {

using testing::run_command;

class PublicHeader : public ::testing::TestWithParam<std::string> {};

TEST_P(PublicHeader, CompilesAlone) {
  const testing::CommandResult result = run_command(fmt::format(
      "echo '#include \"tilewright/{}\"' | {} -std=c++20 -Wall -Wextra -Werror -Wno-restrict "
      "-fsyntax-only -I{}/include -x c++ -",
      GetParam(), TILEWRIGHT_CXX, TILEWRIGHT_BINARY_DIR));
  EXPECT_EQ(result.status, 0) << result.output;
}

std::vector<std::string> header_paths() {
  std::vector<std::string> paths;
  for (const SourceFile& header : public_headers()) paths.push_back(header.path);
  return paths;
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Repo, PublicHeader, ::testing::ValuesIn(header_paths()), test_name);

}  // namespace
}  // namespace tilewright::repo
