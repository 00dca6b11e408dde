#include "tilewright/ir/parse_tokens.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

namespace tilewright::ir {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word_char(char c) { return is_letter(c) || is_digit(c); }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

class Tokenizer {
 public:
  explicit Tokenizer(std::string_view text) : text_(text) {}

  std::vector<Token> run() {
    for (skip_blanks(); at_ < text_.size(); skip_blanks()) {
      begin_ = at_;
      next();
      starts_line_ = false;
    }
    push(Token::Kind::end, "");
    return std::move(tokens_);
  }

 private:
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void push(Token::Kind kind, std::string text) {
    tokens_.push_back({kind, std::move(text), line_, starts_line_});
  }

  std::string taken() const { return std::string(text_.substr(begin_, at_ - begin_)); }

  void skip_blanks() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') {
        ++line_;
        starts_line_ = true;
      } else if (c == '/' && peek(1) == '/') {
        at_ = std::min(text_.find('\n', at_), text_.size()) - 1;
      } else if (c != ' ' && c != '\t' && c != '\r') {
        return;
      }
    }
  }

  void next() {
    const char c = peek();
    if (is_letter(c)) return word();
    if (c == '%') return value();
    if (c == '"') return string();
    if (is_digit(c) || (c == '-' && (is_digit(peek(1)) || peek(1) == 'i'))) return number();
    if (c == '-' && peek(1) == '>') return mark(2);
    if (std::string_view("(){}[]<>,:=@?").find(c) != std::string_view::npos) return mark(1);
    fail_parse(line_, "unexpected character '{}'",
               std::isprint(static_cast<unsigned char>(c))
                   ? std::string(1, c)
                   : fmt::format("\\x{:02x}", static_cast<unsigned char>(c)));
  }

  void mark(size_t length) {
    at_ += length;
    push(Token::Kind::mark, taken());
  }

  void word() {
    while (is_word_char(peek())) ++at_;
    const std::string text = taken();
    push(text == "inf" || text == "nan" ? Token::Kind::number : Token::Kind::word, text);
  }

  void value() {
    ++at_;
    begin_ = at_;
    while (is_word_char(peek()) || peek() == '.') ++at_;
    if (at_ == begin_) fail_parse(line_, "'%' must be followed by a name");
    push(Token::Kind::value, taken());
  }

  void number() {
    if (peek() == '-') ++at_;
    while (is_word_char(peek()) || peek() == '.' ||
           ((peek() == '-' || peek() == '+') && text_[at_ - 1] == 'e'))
      ++at_;
    push(Token::Kind::number, taken());
  }

  void string() {
    std::string content;
    for (++at_; peek() != '"'; ++at_) {
      if (at_ >= text_.size() || peek() == '\n') fail_parse(line_, "a string does not end");
      content += peek() == '\\' ? escape() : peek();
    }
    ++at_;
    push(Token::Kind::string, std::move(content));
  }

  /// The character of the escape at the current backslash; moves to the escape's last character.
  char escape() {
    ++at_;
    if (peek() == '"' || peek() == '\\') return peek();
    const int high = hex_digit(peek(1)), low = high < 0 ? -1 : hex_digit(peek(2));
    if (peek() != 'x' || low < 0) fail_parse(line_, "unknown escape in a string");
    at_ += 2;
    return static_cast<char>(high * 16 + low);
  }

  std::string_view text_;
  size_t at_ = 0, begin_ = 0;
  int line_ = 1;
  bool starts_line_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::string Token::described() const {
  switch (kind) {
    case Kind::end:
      return "the end of the text";
    case Kind::value:
      return "'%" + text + "'";
    case Kind::string:
      return "a string";
    default:
      return "'" + text + "'";
  }
}

std::vector<Token> tokenize(std::string_view text) { return Tokenizer(text).run(); }

bool is_integer_text(const Token& token) {
  return token.kind == Token::Kind::number &&
         token.text.find_first_not_of("-0123456789") == std::string::npos;
}

int64_t integer_of(const Token& token, int64_t min, int64_t max) {
  if (!is_integer_text(token))
    fail_parse(token.line, "expected an integer, found {}", token.described());
  int64_t value = 0;
  const char* end = token.text.data() + token.text.size();
  const auto [stop, error] = std::from_chars(token.text.data(), end, value);
  if (error != std::errc() || stop != end || value < min || value > max)
    fail_parse(token.line, "{} is out of range", token.text);
  return value;
}

double real_of(const Token& token) {
  if (token.kind != Token::Kind::number)
    fail_parse(token.line, "expected a number, found {}", token.described());
  if (token.text == "nan") return std::numeric_limits<double>::quiet_NaN();
  double value = 0;
  const char* end = token.text.data() + token.text.size();
  const auto [stop, error] = std::from_chars(token.text.data(), end, value);
  if (error != std::errc() || stop != end)
    fail_parse(token.line, "'{}' is not a number", token.text);
  return value;
}

}  // namespace tilewright::ir
