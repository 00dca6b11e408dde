#include "tilewright/codegen/prelude.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "tilewright/codegen/print_cuda_wrap.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

constexpr std::string_view kNamespace = "tw::";

/// The plain name in "tw::load<4>".
std::string_view plain_name(std::string_view name) {
  if (name.starts_with(kNamespace)) name.remove_prefix(kNamespace.size());
  return name.substr(0, name.find('<'));
}

/// `used` and everything that it needs.
std::set<std::string> with_needs(const std::set<std::string>& used) {
  std::set<std::string> all;
  const std::function<void(std::string_view)> add = [&](std::string_view name) {
    if (!find_helper(name)) throw InternalError(fmt::format("there is no device helper {}", name));
    if (!all.insert(std::string(name)).second) return;
    for (const Helper& helper : helpers())
      if (helper.name == name) std::ranges::for_each(helper.needs, add);
  };
  for (const std::string& name : used) add(plain_name(name));
  return all;
}

std::string_view text_for(const Helper& helper, const Target& target) {
  if (target.sm >= helper.min_sm) return helper.text;
  if (helper.older_text.empty())
    throw InternalError(fmt::format("device helper {} needs sm_{}, the target is {}", helper.name,
                                    helper.min_sm, target.name()));
  return helper.older_text;
}

}  // namespace

const Helper* find_helper(std::string_view name) {
  const std::string_view plain = plain_name(name);
  for (const Helper& helper : helpers())
    if (helper.name == plain) return &helper;
  return nullptr;
}

std::set<std::string> helpers_used(std::string_view cuda) {
  const std::string code = strip_comments(cuda);
  std::set<std::string> used;
  for (size_t at = code.find(kNamespace); at != std::string::npos; at = code.find(kNamespace, at)) {
    at += kNamespace.size();
    const auto is_word = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
    size_t end = at;
    while (end < code.size() && is_word(code[end])) ++end;
    used.insert(code.substr(at, end - at));
  }
  return used;
}

std::string prelude_text(const std::set<std::string>& used, const Target& target) {
  if (used.empty()) return "";
  const std::set<std::string> all = with_needs(used);
  std::string text = "namespace tw {  // only what this kernel uses\n";
  for (const Helper& helper : helpers()) {
    if (!all.contains(std::string(helper.name))) continue;
    if (!helper.only_with.empty() && !all.contains(std::string(helper.only_with))) continue;
    if (!helper.doc.empty())
      for (const std::string& line : wrap_comment(helper.doc, 0)) text += line + "\n";
    text += fmt::format("{}\n", text_for(helper, target));
  }
  return text + "}  // namespace tw\n";
}

std::string cuda_type(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return "bool";
    case DType::i8:
      return "signed char";
    case DType::u8:
      return "unsigned char";
    case DType::i16:
      return "short";
    case DType::i32:
      return "int";
    case DType::i64:
      return "long long";
    case DType::f8e4m3:
      return "tw::f8e4m3";
    case DType::f8e5m2:
      return "tw::f8e5m2";
    case DType::f16:
      return "tw::f16";
    case DType::bf16:
      return "tw::bf16";
    case DType::f32:
      return "float";
    case DType::f64:
      return "double";
  }
  throw InternalError("cuda_type: unknown dtype");
}

}  // namespace tilewright::codegen
