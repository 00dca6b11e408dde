// The sources are formatted by clang-format 14 (other versions disagree with it in places).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/repo/source_tree.h"
#include "tests/support/run_command.h"

namespace tilewright::repo {
namespace {

using testing::run_command;

std::string find_clang_format() {
  for (const std::string name : {"clang-format-14", "clang-format"})
    if (run_command(name + " --version").output.find("version 14.") != std::string::npos)
      return name;
  return {};
}

TEST(Format, SourcesAreFormatted) {
  const std::string program = find_clang_format();
  if (program.empty())
    GTEST_SKIP() << "clang-format 14 is not installed (apt-get install clang-format-14)";
  std::string files;
  for (const SourceFile& source : all_cpp()) files += " " + source.path;
  const testing::CommandResult result = run_command(
      fmt::format("cd '{}' && {} --dry-run -Werror {}", TILEWRIGHT_SOURCE_DIR, program, files));
  EXPECT_EQ(result.status, 0) << result.output;
}

}  // namespace
}  // namespace tilewright::repo
