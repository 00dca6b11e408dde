// Nothing in the repository grows too long to read.
#include <gtest/gtest.h>

#include "tests/repo/source_tree.h"

namespace tilewright::repo {
namespace {

constexpr int kFileLines = 600;
constexpr int kFunctionLines = 100;

TEST(Size, NoFileIsTooLong) {
  for (const SourceFile& source : all_cpp())
    EXPECT_LE(count_lines(source.text), kFileLines) << source.path;
}

TEST(Size, NoFunctionIsTooLong) {
  for (const SourceFile& source : all_cpp())
    for (const FunctionLength& function : functions_of(source.text))
      EXPECT_LE(function.lines, kFunctionLines) << source.path << ":" << function.line;
}

}  // namespace
}  // namespace tilewright::repo
