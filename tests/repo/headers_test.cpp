// Every public header compiles alone as C++20, without a warning.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "tests/repo/source_tree.h"
#include "tests/support/run_command.h"

namespace tilewright::repo {
namespace {

using testing::run_command;

void expect_compiles_alone(const std::string& path) {
  const testing::CommandResult result = run_command(fmt::format(
      "echo '#include \"tilewright/{}\"' | {} -std=c++20 -Wall -Wextra -Werror -Wno-restrict "
      "-fsyntax-only -I{}/include -x c++ -",
      path, TILEWRIGHT_CXX, TILEWRIGHT_BINARY_DIR));
  EXPECT_EQ(result.status, 0) << path << "\n" << result.output;
}

/// What a user gets with tilewright.h: it and everything it includes.
std::set<std::string> users_headers() {
  std::set<std::string> seen;
  std::vector<std::string> open = {"autotune/tilewright.h"};
  while (!open.empty()) {
    const std::string path = open.back();
    open.pop_back();
    if (!path.ends_with(".h") || !seen.insert(path).second) continue;
    for (const std::string& include : includes_of(file(path).text))
      if (include.starts_with("\"tilewright/"))
        open.push_back(include.substr(12, include.size() - 13));
  }
  return seen;
}

class PublicHeader : public ::testing::TestWithParam<std::string> {};

TEST_P(PublicHeader, CompilesAlone) { expect_compiles_alone(GetParam()); }

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Repo, PublicHeader, ::testing::ValuesIn(users_headers()), test_name);

// The others: every tenth, all with TILEWRIGHT_ALL_CASES=1.
TEST(OtherHeaders, CompileAlone) {
  const std::set<std::string> already = users_headers();
  const size_t every = std::getenv("TILEWRIGHT_ALL_CASES") != nullptr ? 1 : 10;
  size_t number = 0;
  for (const SourceFile& header : public_headers())
    if (!already.contains(header.path) && number++ % every == 0) expect_compiles_alone(header.path);
}

}  // namespace
}  // namespace tilewright::repo
