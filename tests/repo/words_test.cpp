// Words that must not occur: the compiler knows operations, not kernels; and nothing is left
// undone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "tests/repo/source_tree.h"

namespace tilewright::repo {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

void expect_absent(const SourceFile& source, std::string_view word) {
  const std::string text = lower(source.text);
  const size_t at = text.find(word);
  EXPECT_EQ(at, std::string::npos)
      << source.path << ":" << count_lines(std::string_view(text).substr(0, at)) + 1
      << " contains '" << word << "'";
}

TEST(Words, TheCompilerNamesNoKernel) {
  for (const SourceFile& source :
       files_under({"ir", "codegen", "runtime", "autotune"}, {".h", ".cpp", ".def"}))
    for (const std::string_view word : {"matmul", "gemm", "softmax", "attention"})
      expect_absent(source, word);
}

TEST(Words, NothingIsLeftUndone) {
  for (const SourceFile& source : all_cpp()) {
    if (source.path == "tests/repo/words_test.cpp") continue;
    for (const std::string_view word : {"todo", "fixme", "xxx"}) expect_absent(source, word);
  }
}

}  // namespace
}  // namespace tilewright::repo
