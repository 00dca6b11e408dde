#include "tests/repo/source_tree.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <stdexcept>

namespace tilewright::repo {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = TILEWRIGHT_SOURCE_DIR;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

bool ends_in(const std::string& name, const std::vector<std::string>& endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](const auto& e) { return name.ends_with(e); });
}

// Blanks [from, to), keeping line ends.
void blank(std::string& text, size_t from, size_t to) {
  for (size_t i = from; i < std::min(to, text.size()); ++i)
    if (text[i] != '\n') text[i] = ' ';
}

size_t after(std::string_view text, std::string_view what, size_t from) {
  const size_t at = text.find(what, from);
  return at == std::string_view::npos ? text.size() : at + what.size();
}

size_t end_of_quoted(std::string_view text, size_t open) {
  size_t i = open + 1;
  while (i < text.size() && text[i] != text[open] && text[i] != '\n') i += text[i] == '\\' ? 2 : 1;
  return i + 1;
}

size_t end_of_raw_string(std::string_view text, size_t quote) {
  const size_t paren = text.find('(', quote);
  const std::string closing = ")" + std::string(text.substr(quote + 1, paren - quote - 1)) + "\"";
  return after(text, closing, paren);
}

size_t end_of_directive(std::string_view text, size_t hash) {
  size_t end = text.find('\n', hash);
  while (end != std::string_view::npos && text[end - 1] == '\\') end = text.find('\n', end + 1);
  return std::min(end, text.size());
}

bool starts_line(std::string_view text, size_t at) {
  const size_t before = text.find_last_not_of(" \t", at - 1);
  return at == 0 || before == std::string_view::npos || text[before] == '\n';
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The end of the comment, literal or directive that begins at `at`; `at` when none does.
size_t end_of_noise(std::string_view text, size_t at) {
  const char c = text[at];
  const char next = at + 1 < text.size() ? text[at + 1] : '\0';
  if (c == '/' && next == '/') return std::min(text.find('\n', at), text.size());
  if (c == '/' && next == '*') return after(text, "*/", at + 2);
  if (c == '"')
    return at > 0 && text[at - 1] == 'R' ? end_of_raw_string(text, at) : end_of_quoted(text, at);
  // An apostrophe inside a number (1'000) is no literal.
  if (c == '\'' && !(at > 0 && is_word(text[at - 1]))) return end_of_quoted(text, at);
  if (c == '#' && starts_line(text, at)) return end_of_directive(text, at);
  return at;
}

// What a brace opens, from the text between the last ; { or } and the brace.
enum class Block { function, initializer, scope };

Block block_of(const std::string& header, char before) {
  static const std::regex scope(
      R"(^\s*(inline\s+)?(template\s*<[^{}]*>\s*)?(namespace|class|struct|union|enum|extern)\b)");
  if (std::regex_search(header, scope) && header.find('(') == std::string::npos)
    return Block::scope;
  if (header.find('(') == std::string::npos || before == '=') return Block::initializer;
  return Block::function;
}

}  // namespace

std::vector<SourceFile> files_under(const std::vector<std::string>& folders,
                                    const std::vector<std::string>& endings) {
  std::vector<SourceFile> files;
  for (const std::string& folder : folders) {
    if (!fs::exists(kRoot / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder))
      if (entry.is_regular_file() && ends_in(entry.path().filename().string(), endings))
        files.push_back({fs::relative(entry.path(), kRoot).generic_string(), read(entry.path())});
  }
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

std::vector<SourceFile> all_cpp() {
  return files_under(
      {"ir", "dsl", "codegen", "runtime", "autotune", "cli", "examples", "bench", "tests"},
      {".h", ".cpp"});
}

std::vector<SourceFile> public_headers() {
  return files_under({"ir", "dsl", "codegen", "runtime", "autotune"}, {".h"});
}

SourceFile file(const std::string& path) { return {path, read(kRoot / path)}; }

int count_lines(std::string_view text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

std::string code_only(std::string_view text) {
  std::string code(text);
  for (size_t i = 0; i < text.size();) {
    const size_t end = end_of_noise(text, i);
    const bool quoted = end != i && (text[i] == '"' || text[i] == '\'');
    if (end != i) blank(code, i + quoted, quoted ? end - 1 : end);
    i = std::max(end, i + 1);
  }
  return code;
}

std::vector<std::string> includes_of(std::string_view text) {
  static const std::regex include(R"(^\s*#\s*include\s+([<"][^>"]+[>"]))");
  std::vector<std::string> found;
  for (size_t line = 0; line < text.size(); line = after(text, "\n", line)) {
    const std::string content(text.substr(line, text.find('\n', line) - line));
    if (std::smatch match; std::regex_search(content, match, include)) found.push_back(match[1]);
  }
  return found;
}

std::vector<FunctionLength> functions_of(std::string_view text) {
  const std::string code = code_only(text);
  std::vector<FunctionLength> found;
  std::string header;
  int line = 1, header_line = 1, depth = 0, function_depth = -1;
  for (const char c : code) {
    if (c == '\n') ++line;
    const size_t last = header.find_last_not_of(" \n\t");
    if (last == std::string::npos) header_line = line;
    if (c == '{') {
      const Block block = block_of(header, last == std::string::npos ? '\0' : header[last]);
      if (function_depth < 0 && block == Block::function) {
        function_depth = depth;
        found.push_back({header_line, 0});
      }
      ++depth;
    } else if (c == '}' && --depth == function_depth) {
      found.back().lines = line - found.back().line + 1;
      function_depth = -1;
    }
    if (c == '{' || c == '}' || c == ';') {
      header.clear();
    } else {
      header += c;
    }
  }
  return found;
}

}  // namespace tilewright::repo
