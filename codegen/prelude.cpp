#include "tilewright/codegen/prelude.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>

#include "tilewright/codegen/prelude_atomics.h"
#include "tilewright/codegen/prelude_wgmma.h"
#include "tilewright/codegen/print_cuda_wrap.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

constexpr std::string_view kNamespace = "tw::";

/// The plain name in "tw::load<4>" and in "tma_load:2".
std::string_view plain_name(std::string_view name) {
  if (name.starts_with(kNamespace)) name.remove_prefix(kNamespace.size());
  return name.substr(0, name.find_first_of("<:"));
}

bool is_made(std::string_view name) { return parse_wgmma(name) || parse_atomic(name); }

std::vector<Helper> make_helpers(const std::string& name) {
  return parse_atomic(name) ? atomic_helpers(name) : wgmma_helpers(name);
}

/// The helpers that are made on request, each once.
const std::vector<Helper>& made_helpers(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, std::vector<Helper>> made;
  std::lock_guard lock(mutex);
  const auto known = made.find(name);
  return known != made.end() ? known->second : made.emplace(name, make_helpers(name)).first->second;
}

/// The helpers of that name: "load", "tma_load:2".
std::vector<const Helper*> find_all(std::string_view name) {
  if (name.starts_with(kNamespace)) name.remove_prefix(kNamespace.size());
  const std::string_view plain = plain_name(name);
  const size_t colon = name.find(':');
  const std::string_view overload = colon == name.npos ? "" : name.substr(colon + 1);
  std::vector<const Helper*> found;
  const auto add = [&](const std::vector<Helper>& from) {
    for (const Helper& helper : from)
      if (helper.name == plain && (overload.empty() || overload == helper.overload))
        found.push_back(&helper);
  };
  add(helpers());
  if (found.empty() && is_made(plain)) add(made_helpers(std::string(plain)));
  return found;
}

/// `used` and everything that it needs; `made` gets those that are not in the table.
std::set<const Helper*> with_needs(const std::set<std::string>& used,
                                   std::vector<const Helper*>& made) {
  std::set<const Helper*> all;
  const std::function<void(std::string_view)> add = [&](std::string_view name) {
    const std::vector<const Helper*> found = find_all(name);
    if (found.empty()) throw InternalError(fmt::format("there is no device helper {}", name));
    for (const Helper* helper : found) {
      if (!all.insert(helper).second) continue;
      if (is_made(helper->name)) made.push_back(helper);
      std::ranges::for_each(helper->needs, add);
    }
  };
  for (const std::string& name : used) add(name);
  return all;
}

std::string_view text_for(const Helper& helper, const Target& target) {
  if (!has_helper(target, helper))
    throw InternalError(fmt::format("device helper {} needs sm_{}{}, the target is {}", helper.name,
                                    helper.min_sm, helper.specific ? "a" : "", target.name()));
  return target.sm >= helper.min_sm ? helper.text : helper.older_text;
}

/// The arguments of the call whose parenthesis is at `open`.
std::vector<std::string_view> call_arguments(std::string_view code, size_t open) {
  std::vector<std::string_view> arguments;
  int depth = 0;
  size_t begin = open + 1;
  for (size_t at = open; at < code.size(); ++at) {
    const char c = code[at];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (depth == 0 || (depth == 1 && c == ',')) {
      arguments.push_back(code.substr(begin, at - begin));
      begin = at + 1;
    }
    if (depth == 0) break;
  }
  return arguments;
}

bool is_word(unsigned char c) { return std::isalnum(c) || c == '_'; }

/// Whether `expression` begins with the name of an array of words that the code declares.
bool names_words(std::string_view expression, std::string_view code) {
  const size_t begin = expression.find_first_not_of(" \n");
  if (begin == expression.npos) return false;
  size_t end = begin;
  while (end < expression.size() && is_word(expression[end])) ++end;
  const std::string name(expression.substr(begin, end - begin));
  return !name.empty() && code.find("unsigned " + name + "[") != code.npos;
}

/// ":<overload>" of a call whose arguments begin at `open`, for names whose overloads calls tell
/// apart.
std::string overload_of(std::string_view name, std::string_view code, size_t open) {
  constexpr std::pair<std::string_view, size_t> kBeforeCoordinates[] = {
      {"tma_load", 3}, {"tma_load_multicast", 4}, {"tma_store", 2}};
  if (open >= code.size() || code[open] != '(') return {};
  if (parse_wgmma(name)) {
    const std::vector<std::string_view> arguments = call_arguments(code, open);
    if (arguments.size() < 2) return {};
    return names_words(arguments[1], code) ? ":registers" : ":shared";
  }
  for (const auto& [helper, before] : kBeforeCoordinates)
    if (name == helper) return fmt::format(":{}", call_arguments(code, open).size() - before);
  return {};
}

}  // namespace

const Helper* find_helper(std::string_view name) {
  const std::vector<const Helper*> found = find_all(plain_name(name));
  return found.empty() ? nullptr : found.front();
}

bool has_helper(const Target& target, const Helper& helper) {
  if (target.sm < helper.min_sm) return !helper.older_text.empty();
  return target.sm <= helper.max_sm && (target.specific || !helper.specific);
}

std::set<std::string> helpers_used(std::string_view cuda) {
  const std::string code = strip_comments(cuda);
  std::set<std::string> used;
  for (size_t at = code.find(kNamespace); at != std::string::npos; at = code.find(kNamespace, at)) {
    at += kNamespace.size();
    size_t end = at;
    while (end < code.size() && is_word(static_cast<unsigned char>(code[end]))) ++end;
    const std::string name = code.substr(at, end - at);
    used.insert(name + overload_of(name, code, end));
  }
  return used;
}

std::string prelude_text(const std::set<std::string>& used, const Target& target) {
  if (used.empty()) return "";
  std::vector<const Helper*> made;
  const std::set<const Helper*> all = with_needs(used, made);
  std::string text = "namespace tw {  // only what this kernel uses\n";
  std::string_view doc;  // overloads in a row have it once
  const auto print = [&](const Helper& helper) {
    if (!helper.doc.empty() && helper.doc != doc)
      for (const std::string& line : wrap_comment(helper.doc, 0)) text += line + "\n";
    doc = helper.doc;
    text += fmt::format("{}\n", text_for(helper, target));
  };
  for (const Helper& helper : helpers()) {
    const auto is_used = [&](const Helper* other) { return other->name == helper.only_with; };
    if (all.contains(&helper) && (helper.only_with.empty() || std::ranges::any_of(all, is_used)))
      print(helper);
  }
  for (const Helper* helper : made) print(*helper);
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
