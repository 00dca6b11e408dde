#include "tilewright/codegen/print_cuda_wrap.h"

#include <algorithm>

namespace tilewright::codegen {
namespace {

constexpr char kMark = '\x01';  // followed by '\x10' + depth
constexpr int kContinuation = 4;
constexpr int kShortestComment = 20;  // columns of text in a line, however deep it is indented

/// Where to break `text`, which is longer than `width`: the index of a mark, npos when it has none.
/// Outer places are better, later ones too: breaking one level deeper costs as much as leaving
/// two ninths of the line empty. When no place is early enough, the first one has to do.
size_t best_break(std::string_view text, int width) {
  size_t best = std::string_view::npos;
  double best_cost = 0;
  int column = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == kMark) {
      if (column > width && best != std::string_view::npos) return best;
      const int depth = text[i + 1] - '\x10';
      const double cost = 20 * depth + 90.0 * (width - column) / std::max(width, 1);
      if (best == std::string_view::npos || cost <= best_cost) {
        best = i;
        best_cost = cost;
      }
      if (column > width) return best;
      ++i;
    }
    if ((text[i] & 0xc0) != 0x80) ++column;
  }
  return best;
}

/// Where to end a comment's line: the last space within `width`, or in a word that is longer than a
/// line, behind a comma or else between two characters.
size_t comment_break(std::string_view text, size_t width) {
  size_t at = text.rfind(' ', width);
  const size_t word = at == std::string_view::npos ? 0 : at + 1;
  const size_t comma = text.substr(0, width).rfind(',');
  if (std::min(text.find(' ', word), text.size()) - word > width && comma < width && comma > word)
    return comma + 1;
  if (at != std::string_view::npos && text.find_first_not_of(' ') < at) return at;
  for (at = width; at > 1 && (text[at] & 0xc0) == 0x80;) --at;
  return at;
}

/// Position after the literal that starts at text[i] (a quote); `raw` for R"x(..)x".
size_t literal_end(std::string_view text, size_t i, bool raw) {
  if (raw) {
    const size_t open = text.find('(', i);
    if (open == std::string_view::npos) return text.size();
    const std::string close = ")" + std::string(text.substr(i + 1, open - i - 1)) + "\"";
    const size_t end = text.find(close, open);
    return end == std::string_view::npos ? text.size() : end + close.size();
  }
  const char quote = text[i];
  for (++i; i < text.size() && text[i] != quote && text[i] != '\n'; ++i)
    if (text[i] == '\\') ++i;
  return std::min(i + 1, text.size());
}

/// Position after the comment that starts at text[i], its newline kept.
size_t comment_end(std::string_view text, size_t i) {
  if (text[i + 1] == '*') {
    const size_t end = text.find("*/", i + 2);
    return end == std::string_view::npos ? text.size() : end + 2;
  }
  // A backslash before the newline continues the comment.
  size_t end = text.find('\n', i);
  while (end != std::string_view::npos && text[end - 1] == '\\') end = text.find('\n', end + 1);
  return end == std::string_view::npos ? text.size() : end;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Appends the newline, dropping trailing spaces and a line that is blank.
void end_line(std::string& out) {
  while (!out.empty() && (out.back() == ' ' || out.back() == '\t')) out.pop_back();
  if (!out.empty() && out.back() != '\n') out += '\n';
}

}  // namespace

std::string break_mark(int depth) {
  return {kMark, static_cast<char>('\x10' + std::clamp(depth, 0, 60))};
}

std::string unmarked(std::string_view marked) {
  std::string text;
  for (size_t i = 0; i < marked.size(); ++i) {
    if (marked[i] == kMark) ++i;
    text += i > 0 && marked[i - 1] == kMark ? ' ' : marked[i];
  }
  return text;
}

int columns(std::string_view text) {
  return static_cast<int>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::vector<std::string> wrap(std::string_view marked, int indent) {
  std::vector<std::string> lines;
  int spaces = indent;
  while (columns(unmarked(marked)) > kLineWidth - spaces) {
    const size_t at = best_break(marked, kLineWidth - spaces);
    if (at == std::string_view::npos) break;
    lines.push_back(std::string(spaces, ' ') + unmarked(marked.substr(0, at)));
    marked.remove_prefix(at + 2);
    spaces = indent + kContinuation;
  }
  lines.push_back(std::string(spaces, ' ') + unmarked(marked));
  return lines;
}

std::string comment_text(std::string_view text) {
  std::string safe(text);
  for (char& c : safe)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  while (!safe.empty() && (safe.back() == ' ' || safe.back() == '\\')) safe.pop_back();
  return safe;
}

std::vector<std::string> wrap_comment(std::string_view text, int indent, int hang) {
  std::vector<std::string> lines;
  const std::string safe = comment_text(text);
  std::string_view rest = safe;
  std::string start = std::string(indent, ' ') + "// ";
  while (columns(rest) > std::max(kLineWidth - columns(start), kShortestComment)) {
    const size_t width = std::max(kLineWidth - columns(start), kShortestComment);
    const size_t at = comment_break(rest, width);
    lines.push_back(start + comment_text(rest.substr(0, at)));
    rest.remove_prefix(std::min(rest.find_first_not_of(' ', at), rest.size()));
    start = std::string(indent, ' ') + "// " + std::string(hang, ' ');
  }
  lines.push_back(start + std::string(rest));
  for (std::string& line : lines) line.erase(line.find_last_not_of(' ') + 1);
  return lines;
}

std::string strip_comments(std::string_view cuda) {
  std::string out;
  size_t i = 0;
  while (i < cuda.size()) {
    const char c = cuda[i];
    if (c == '/' && i + 1 < cuda.size() && (cuda[i + 1] == '/' || cuda[i + 1] == '*')) {
      if (cuda[i + 1] == '*') out += ' ';
      i = comment_end(cuda, i);
    } else if (c == '"' || c == '\'') {
      // A ' inside a number (1'000) opens no literal.
      const bool separator = c == '\'' && i > 0 && is_word(cuda[i - 1]);
      const bool raw = c == '"' && i > 0 && cuda[i - 1] == 'R';
      const size_t end = separator ? i + 1 : literal_end(cuda, i, raw);
      out += cuda.substr(i, end - i);
      i = end;
    } else {
      if (c == '\n')
        end_line(out);
      else
        out += c;
      ++i;
    }
  }
  end_line(out);
  return out;
}

}  // namespace tilewright::codegen
