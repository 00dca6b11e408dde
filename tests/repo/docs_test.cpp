// The documents say what is there.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>

#include "tests/repo/source_tree.h"

namespace tilewright::repo {
namespace {

std::set<std::string> matches(const std::string& text, const std::regex& pattern) {
  std::set<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it)
    found.insert((*it)[1]);
  return found;
}

std::vector<SourceFile> documents() {
  std::vector<SourceFile> found = files_under({"docs"}, {".md"});
  found.push_back(file("README.md"));
  return found;
}

TEST(Docs, EveryEnvironmentVariableIsDocumented) {
  const std::string documented = file("docs/debugging.md").text;
  std::vector<SourceFile> sources = files_under(
      {"ir", "dsl", "codegen", "runtime", "autotune", "cli", "examples", "bench"}, {".h", ".cpp"});
  sources.push_back(file("run"));
  const std::regex variable("[\"{$](TILEWRIGHT_[A-Z0-9_]+)");
  std::set<std::string> used;
  for (const SourceFile& source : sources) used.merge(matches(source.text, variable));
  EXPECT_TRUE(used.contains("TILEWRIGHT_LOG"));
  for (const std::string& name : used)
    EXPECT_NE(documented.find("`" + name), std::string::npos)
        << name << " is missing in docs/debugging.md";
}

TEST(Docs, DocumentedEnvironmentVariablesExist) {
  std::string sources =
      file("run").text + file("CMakeLists.txt").text + file("cmake/FindCudaParts.cmake").text;
  for (const SourceFile& source : all_cpp())
    if (source.layer() != "tests") sources += source.text;
  for (const std::string& name :
       matches(file("docs/debugging.md").text, std::regex("`(TILEWRIGHT_[A-Z0-9_]+)")))
    EXPECT_NE(sources.find(name), std::string::npos) << name << " is read nowhere";
}

TEST(Docs, RunCommandsExist) {
  const std::string script = file("run").text;
  for (const SourceFile& document : documents())
    for (const std::string& command : matches(document.text, std::regex("\\./run ([a-z]+)"))) {
      EXPECT_NE(script.find("    " + command + ") "), std::string::npos)
          << document.path << " names ./run " << command;
      EXPECT_NE(script.find("\n  " + command), std::string::npos)
          << "./run --help does not mention " << command;
    }
}

// The text outside of fenced blocks, whose code may look like a link: [&](int step).
std::string prose_of(const std::string& text) {
  std::string prose;
  bool fenced = false;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string line = text.substr(at, end - at);
    const bool fence = line.starts_with("```");
    if (!fence && !fenced) prose += line;
    fenced ^= fence;
    at = end;
  }
  return prose;
}

TEST(Docs, LinksLeadSomewhere) {
  const std::filesystem::path root = TILEWRIGHT_SOURCE_DIR;
  for (const SourceFile& document : documents())
    for (const std::string& link :
         matches(prose_of(document.text), std::regex("\\]\\(([^)#:]+)(#[^)]*)?\\)"))) {
      const auto target = (root / document.path).parent_path() / link;
      EXPECT_TRUE(std::filesystem::exists(target)) << document.path << " links to " << link;
    }
}

// Paths in backquotes that begin with one of the repository's folders.
TEST(Docs, NamedFilesExist) {
  const std::filesystem::path root = TILEWRIGHT_SOURCE_DIR;
  const std::regex path(
      "`((ir|dsl|codegen|runtime|autotune|cli|examples|tests|bench|docs|cmake)/[A-Za-z0-9_./-]*)`");
  for (const SourceFile& document : documents())
    for (const std::string& name : matches(document.text, path))
      EXPECT_TRUE(std::filesystem::exists(root / name)) << document.path << " names " << name;
}

}  // namespace
}  // namespace tilewright::repo
