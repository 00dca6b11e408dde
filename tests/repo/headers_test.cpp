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

/// Every third of what a user sees and every tenth of the others; TILEWRIGHT_ALL_CASES=1: all.
TEST(PublicHeaders, CompileAlone) {
  const std::set<std::string> users = users_headers();
  const bool all = std::getenv("TILEWRIGHT_ALL_CASES") != nullptr;
  size_t number = 0;
  for (const SourceFile& header : public_headers())
    if (all || number++ % (users.contains(header.path) ? 3 : 10) == 0)
      expect_compiles_alone(header.path);
}

}  // namespace
}  // namespace tilewright::repo
