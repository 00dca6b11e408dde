// Who may include whom.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "tests/repo/source_tree.h"

namespace tilewright::repo {
namespace {

using Names = std::set<std::string, std::less<>>;

// The layers each layer sees, itself included.
const std::map<std::string, Names, std::less<>> kSees = {
    {"ir", {"ir"}},
    {"dsl", {"dsl", "ir"}},
    {"codegen", {"codegen", "ir"}},
    {"runtime", {"runtime", "ir", "codegen"}},
    {"autotune", {"autotune", "ir", "dsl", "codegen", "runtime"}},
    {"cli", {"cli", "ir", "dsl", "codegen", "runtime", "autotune"}},
};

// "tilewright/ir/node.h" in quotes or brackets is layer ir; "cli/npy.h" is cli; "" for the rest.
std::string layer_of_include(const std::string& include) {
  static const std::regex pattern(R"([<"](?:tilewright/)?([a-z]+)/[a-z0-9_]+\.(?:h|def)[>"])");
  std::smatch match;
  if (!std::regex_match(include, match, pattern)) return {};
  const std::string name = match[1];
  const bool ours =
      kSees.contains(name) || name == "examples" || name == "tests" || name == "bench";
  return ours ? name : std::string();
}

TEST(Layers, IncludesFollowTheOrder) {
  for (const auto& [layer, sees] : kSees)
    for (const SourceFile& source : files_under({layer}, {".h", ".cpp", ".def"}))
      for (const std::string& include : includes_of(source.text)) {
        const std::string seen = layer_of_include(include);
        EXPECT_TRUE(seen.empty() || sees.contains(seen))
            << source.path << " includes " << include << ": " << layer << " must not see " << seen;
      }
}

// Public headers promise that a user needs nothing but a standard library and fmt.
TEST(Layers, PublicHeadersNeedOnlyTheStandardLibraryAndFmt) {
  static const std::regex allowed(
      R"re(<[a-z_]+>|<fmt/[a-z]+\.h>|"tilewright/[a-z]+/[a-z0-9_]+\.(h|def)")re");
  for (const SourceFile& header : public_headers())
    for (const std::string& include : includes_of(header.text))
      EXPECT_TRUE(std::regex_match(include, allowed)) << header.path << " includes " << include;
}

TEST(Layers, HeadersAreIncludedOnce) {
  for (const SourceFile& source : all_cpp()) {
    const bool once = source.text.find("\n#pragma once\n") != std::string::npos;
    EXPECT_EQ(once, source.is_header()) << source.path;
  }
}

}  // namespace
}  // namespace tilewright::repo
