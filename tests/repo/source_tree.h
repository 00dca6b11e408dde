// The repository's own files as text, for tests about them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::repo {

/// A text file; `path` is relative to the root, with forward slashes.
struct SourceFile {
  std::string path;
  std::string text;
  std::string_view layer() const { return std::string_view(path).substr(0, path.find('/')); }
  bool is_header() const { return path.ends_with(".h"); }
};

/// Files under `folders` of the root whose names end in one of `endings`, sorted.
std::vector<SourceFile> files_under(const std::vector<std::string>& folders,
                                    const std::vector<std::string>& endings);
/// All C++ of the library, the program, the examples, the benchmarks and the tests.
std::vector<SourceFile> all_cpp();
/// The headers that are installed.
std::vector<SourceFile> public_headers();
/// The file at `path`, relative to the root; throws when it is not there.
SourceFile file(const std::string& path);

int count_lines(std::string_view text);
/// The same text with comments, the contents of literals and preprocessor lines blanked out; lines
/// stay where they are.
std::string code_only(std::string_view text);
/// What the #include lines name, with their brackets or quotes.
std::vector<std::string> includes_of(std::string_view text);

struct FunctionLength {
  int line = 0;   ///< where its header begins
  int lines = 0;  ///< header and body
};
/// Every outermost function body (lambdas at namespace scope and TEST bodies too).
std::vector<FunctionLength> functions_of(std::string_view text);

}  // namespace tilewright::repo
