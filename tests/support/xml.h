// Whether a text is well-formed XML, as far as pages of ours use it.
#pragma once

#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::testing {

/// What parse_xml finds.
struct XmlPage {
  std::string problem;                                          ///< empty: well-formed
  std::vector<std::string> names;                               ///< of all elements, in order
  std::vector<std::pair<std::string, std::string>> attributes;  ///< of all elements
  std::string text;                                             ///< between tags
};

/// Reads elements, attributes in double quotes, the five entities and a document type. Comments,
/// processing instructions and CDATA are problems.
class XmlReader {
 public:
  explicit XmlReader(std::string_view text) : text_(text) {}

  XmlPage read() {
    if (text_.starts_with("<!DOCTYPE")) at_ = text_.find('>') + 1;
    while (page_.problem.empty() && at_ < text_.size()) text_[at_] == '<' ? tag() : character();
    if (page_.problem.empty() && !open_.empty()) fail("not closed: " + open_.back());
    if (page_.problem.empty() && roots_ != 1) fail("not one root element");
    return std::move(page_);
  }

 private:
  void fail(const std::string& what) {
    if (page_.problem.empty()) page_.problem = what + " at: " + std::string(text_.substr(at_, 60));
  }
  void space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  std::string name() {
    const size_t begin = at_;
    const auto fits = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == ':';
    };
    while (at_ < text_.size() && fits(text_[at_])) ++at_;
    if (at_ == begin) fail("no name");
    return std::string(text_.substr(begin, at_ - begin));
  }
  std::string entity() {
    const size_t end = text_.find(';', at_);
    const std::string_view found =
        text_.substr(at_, end == std::string_view::npos ? 8 : end + 1 - at_);
    const std::pair<std::string_view, const char*> known[] = {
        {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&apos;", "'"}};
    for (const auto& [entity, value] : known)
      if (found == entity) {
        at_ += entity.size();
        return value;
      }
    fail("unknown entity");
    return {};
  }
  void character() {
    if (open_.empty() && std::isspace(static_cast<unsigned char>(text_[at_])) == 0)
      return fail("text outside of the root");
    page_.text += text_[at_] == '&' ? entity() : std::string(1, text_[at_++]);
  }
  void tag() {
    ++at_;
    if (text_.substr(at_, 1) == "/") {
      ++at_;
      const std::string closed = name();
      if (open_.empty() || open_.back() != closed) return fail("closes " + closed);
      open_.pop_back();
      if (text_.substr(at_++, 1) != ">") fail("no end of a tag");
      return;
    }
    const std::string opened = name();
    page_.names.push_back(opened);
    if (open_.empty()) ++roots_;
    attributes();
    const bool closed = text_.substr(at_, 1) == "/";
    at_ += closed ? 1 : 0;
    if (text_.substr(at_++, 1) != ">") return fail("no end of a tag");
    if (!closed) open_.push_back(opened);
  }
  void attributes() {
    std::set<std::string> seen;
    for (space();
         page_.problem.empty() && at_ < text_.size() && text_[at_] != '>' && text_[at_] != '/';
         space()) {
      const std::string key = name();
      if (!seen.insert(key).second) fail("twice: " + key);
      if (text_.substr(at_, 2) != "=\"") return fail("no quoted value of " + key);
      at_ += 2;
      std::string value;
      while (page_.problem.empty() && at_ < text_.size() && text_[at_] != '"') {
        if (text_[at_] == '<') return fail("< in a value");
        value += text_[at_] == '&' ? entity() : std::string(1, text_[at_++]);
      }
      ++at_;
      page_.attributes.emplace_back(key, value);
    }
  }

  std::string_view text_;
  size_t at_ = 0;
  int roots_ = 0;
  std::vector<std::string> open_;
  XmlPage page_;
};

inline XmlPage parse_xml(std::string_view text) { return XmlReader(text).read(); }

}  // namespace tilewright::testing
