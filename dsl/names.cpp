#include "tilewright/dsl/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "tilewright/ir/source_text.h"

namespace tilewright::dsl {
namespace {

constexpr int kStatementLines = 8;  ///< how far back a statement's first line is looked for
constexpr int kLambdaLines = 30;    ///< how far on a lambda's parameter list is

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())))
    text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
    text.remove_suffix(1);
  return text;
}

/// A line without its // comment and surrounding space.
std::string code_of(Loc loc) {
  const std::string line = source_line(loc).value_or("");
  return std::string(trim(std::string_view(line).substr(0, line.find("//"))));
}

/// Takes a word off the front of `text`, and the space after it.
std::string_view take_word(std::string_view& text) {
  size_t end = 0;
  while (end < text.size() && is_word(text[end])) ++end;
  const std::string_view word = text.substr(0, end);
  text = trim(text.substr(end));
  return word;
}

void skip_template_arguments(std::string_view& text) {
  if (text.empty() || text[0] != '<') return;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += (text[i] == '<') - (text[i] == '>');
    if (depth > 0) continue;
    text = trim(text.substr(i + 1));
    return;
  }
}

/// Whether `text`, which follows a variable's name, makes the statement its declaration or
/// assignment; that of a lambda is none.
bool assigns(std::string_view text) {
  constexpr std::string_view compound = "+-*/%&|^";
  if (text.empty()) return false;
  if (compound.find(text[0]) != compound.npos && text.size() > 1 && text[1] == '=') return true;
  if (text[0] != '=' || (text.size() > 1 && text[1] == '=')) return false;
  text = trim(text.substr(1));
  return text.empty() || text[0] != '[';
}

bool is_keyword(std::string_view word) {
  constexpr std::array<std::string_view, 14> keywords = {
      "return", "else", "for",   "if",    "while",  "using",  "namespace",
      "case",   "goto", "throw", "class", "struct", "delete", "enum"};
  return std::find(keywords.begin(), keywords.end(), word) != keywords.end();
}

/// The words of a comma-separated list at depth 0 of brackets: of each item, the last.
std::vector<std::string> last_words(std::string_view list) {
  std::vector<std::string> result;
  std::string item;
  int depth = 0;
  const auto flush = [&] {
    std::string_view text = trim(std::string_view(item).substr(0, item.find('=')));
    size_t begin = text.size();
    while (begin > 0 && is_word(text[begin - 1])) --begin;
    result.emplace_back(text.substr(begin));
    item.clear();
  };
  for (char c : list) {
    depth += (c == '<' || c == '(' || c == '{' || c == '[');
    depth -= (c == '>' || c == ')' || c == '}' || c == ']');
    if (c == ',' && depth == 0)
      flush();
    else
      item += c;
  }
  if (!trim(item).empty()) flush();
  return result;
}

/// The text inside the bracket that opens at `open`; empty when it does not close.
std::string_view inside(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    depth += (text[i] == '(' || text[i] == '[' || text[i] == '{');
    depth -= (text[i] == ')' || text[i] == ']' || text[i] == '}');
    if (depth == 0) return text.substr(open + 1, i - open - 1);
  }
  return {};
}

/// The parameter list of the first lambda in `text`.
std::string_view lambda_parameters(std::string_view text) {
  for (size_t open = text.find('['); open != text.npos; open = text.find('[', open + 1)) {
    const std::string_view before = trim(text.substr(0, open));
    if (!before.empty() && (is_word(before.back()) || before.back() == ')'))
      continue;  // a subscript
    size_t list = open + inside(text, open).size() + 2;
    while (list < text.size() && std::isspace(static_cast<unsigned char>(text[list]))) ++list;
    if (list < text.size() && text[list] == '(') return inside(text, list);
  }
  return {};
}

/// Where the colon of a range-based for is; that of a :: does not count.
size_t range_colon(std::string_view head) {
  size_t colon = head.find(':');
  while (colon != head.npos && colon + 1 < head.size() && head[colon + 1] == ':')
    colon = head.find(':', colon + 2);
  return colon;
}

/// Whether a statement ends with this line: not where a braced list opens.
bool ends_statement(std::string_view code) {
  if (code.empty() || code.front() == '#') return true;
  const char last = code.back();
  if (last != '{') return last == ';' || last == '}' || last == ':';
  const std::string_view before = trim(code.substr(0, code.size() - 1));
  return before.empty() || std::string_view("=(,").find(before.back()) == std::string_view::npos;
}

}  // namespace

Loc statement_of(Loc loc) {
  for (int back = 0; back < kStatementLines && loc.line > 1; ++back) {
    if (ends_statement(code_of({loc.file, loc.line - 1}))) break;
    --loc.line;
  }
  return loc;
}

std::string declared_name(Loc loc) {
  const std::string code = code_of(statement_of(loc));
  std::string_view text = code;
  std::string_view word = take_word(text);
  while (word == "const" || word == "static" || word == "constexpr") word = take_word(text);
  if (word.empty() || is_keyword(word)) return {};
  if (assigns(text)) return std::string(word);
  while (text.starts_with("::")) {
    text = trim(text.substr(2));
    take_word(text);
  }
  skip_template_arguments(text);
  while (!text.empty() && text[0] == '&') text = trim(text.substr(1));
  word = take_word(text);
  if (word.empty() || std::isdigit(static_cast<unsigned char>(word[0]))) return {};
  if (assigns(text) || text == ";" || text.starts_with("{")) return std::string(word);
  return {};
}

std::vector<std::string> loop_names(Loc loc, size_t count) {
  const std::string code = code_of(statement_of(loc));
  std::vector<std::string> names;
  const size_t open = code.find('(', std::min(code.find("for"), code.size()));
  if (open != code.npos) {
    std::string_view head = std::string_view(code).substr(open + 1);
    head = head.substr(0, range_colon(head));
    const size_t bracket = head.find('[');
    names = last_words(bracket == head.npos ? head : inside(head, bracket));
  }
  if (names.size() != count) names.assign(count, "");
  return names;
}

std::vector<std::string> parameter_names(Loc loc, size_t count) {
  std::string text;
  for (int i = 0; i < kLambdaLines && loc.known(); ++i, ++loc.line) text += code_of(loc) + " ";
  std::vector<std::string> names = last_words(lambda_parameters(text));
  if (names.size() != count) {
    names.assign(count, "");
    for (size_t i = 0; i < count; ++i) names[i] = fmt::format("arg{}", i);
  }
  return names;
}

}  // namespace tilewright::dsl
