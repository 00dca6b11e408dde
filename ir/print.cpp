#include "tilewright/ir/print.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <cmath>
#include <unordered_map>

#include "tilewright/ir/opspec.h"

namespace tilewright::ir {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

bool is_identifier(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0]))) return false;
  for (char c : text)
    if (!is_word(c)) return false;
  return true;
}

/// `name` with everything that the text form does not allow replaced; dots mark made-up suffixes.
std::string clean_name(std::string_view name) {
  std::string result(name);
  for (char& c : result)
    if (!is_word(c)) c = '_';
  if (!result.empty() && std::isdigit(static_cast<unsigned char>(result[0])))
    result.insert(result.begin(), '_');
  return result;
}

class Printer {
 public:
  Printer(const Function& fn, const PrintOptions& options) : fn_(fn), options_(options) {}

  std::string run() {
    header();
    for (size_t i = 0; i < fn_.axes.size(); ++i) axis(i);
    for (const Tunable& tunable : fn_.tunables)
      text_ += fmt::format("  tunable {} = {} of [{}]\n", quoted(tunable.name), tunable.value,
                           fmt::join(tunable.values, ","));
    region(fn_.body(), 1);
    text_ += "}\n";
    return std::move(text_);
  }

 private:
  void header() {
    text_ += "func";
    if (options_.names && !fn_.name.empty())
      text_ += " @" + (is_identifier(fn_.name) ? fn_.name : quoted(fn_.name));
    text_ += "(";
    for (size_t i = 0; i < fn_.params.size(); ++i) {
      if (i > 0) text_ += ", ";
      param(fn_.params[i]);
    }
    text_ += ")";
    if (!fn_.results.empty()) {
      std::vector<std::string> names;
      for (int i : fn_.results)
        names.push_back(i >= 0 && i < static_cast<int>(fn_.params.size()) ? use(fn_.params[i].value)
                                                                          : "%<no parameter>");
      text_ += fmt::format(" -> ({})", fmt::join(names, ", "));
    }
    location(fn_.loc);
    text_ += " {\n";
  }

  void param(const Param& param) {
    const std::string& name = param.name.empty() ? param.value->name : param.name;
    text_ += define(param.value, name) + ": ";
    if (param.is_tensor())
      text_ += to_string(options_.limits ? param.spec : without_limit(param.spec));
    else
      text_ += to_string(param.value->type);
    if (const Value* size = fn_.size_value(param, 0)) text_ += " sized " + use(size);
    if (param.allocated) text_ += " allocated";
    if (param.fill) text_ += " = " + to_string(*param.fill);
  }

  void axis(size_t i) {
    const Axis& axis = fn_.axes[i];
    text_ += fmt::format("  axis B{}", i);
    if (options_.names && !axis.name.empty()) text_ += " " + quoted(axis.name);
    if (axis.block != 0) text_ += fmt::format(" = {}", axis.block);
    if (axis.pinned) text_ += " pinned";
    location(axis.loc);
    text_ += "\n";
  }

  void region(const Region& region, int depth) {
    for (const Op* op : region.ops) {
      text_.append(2 * depth, ' ');
      operation(*op, depth);
      text_ += "\n";
    }
  }

  void operation(const Op& op, int depth) {
    // Operands first: an operation does not see its own results.
    const std::string operands = operand_text(op);
    for (size_t i = 0; i < op.results.size(); ++i)
      text_ += (i ? ", " : "") + define(op.results[i], op.results[i]->name);
    if (!op.results.empty()) text_ += " = ";
    text_ += info(op.kind).name;
    attributes_after_name(op);
    if (!operands.empty()) text_ += " " + operands;
    attributes_in_braces(op);
    for (size_t i = 0; i < op.results.size(); ++i)
      text_ += (i ? ", " : " : ") + to_string(op.results[i]->type);
    location(op.loc);
    regions(op, depth);
  }

  /// "%a, %b"; grouped by ops.def, "(%b) (%e) (%i)", when the groups could not be told apart.
  std::string operand_text(const Op& op) const {
    const OpSpec& spec = spec_of(op.kind);
    const auto named = named_operands(op);
    if (spec.variadic_operands() < 2 || named.size() != op.operands.size()) {
      std::string text;
      for (const Value* operand : op.operands) text += (text.empty() ? "" : ", ") + use(operand);
      return text;
    }
    std::vector<std::string> groups(spec.operands.size());
    for (const auto& [operand, value] : named) {
      std::string& group = groups[operand - spec.operands.data()];
      group += (group.empty() ? "" : ", ") + use(value);
    }
    return fmt::format("({})", fmt::join(groups, ") ("));
  }

  void attributes_after_name(const Op& op) {
    for (const auto& [key, value] : op.attributes)
      if (stands_after_name(key)) text_ += " " + to_string(value);
  }

  void attributes_in_braces(const Op& op) {
    const char* separator = " {";
    for (const auto& [key, value] : op.attributes) {
      if (stands_after_name(key)) continue;
      text_ += fmt::format("{}{}={}", separator, to_string(key), to_string(value));
      separator = ", ";
    }
    if (separator[0] == ',') text_ += "}";
  }

  void regions(const Op& op, int depth) {
    size_t count = op.regions.size();
    while (count > 0 && op.regions[count - 1]->empty()) --count;
    for (size_t i = 0; i < count; ++i) {
      const Region& inner = *op.regions[i];
      text_ += " ";
      if (!inner.args.empty()) {
        text_ += "(";
        for (size_t a = 0; a < inner.args.size(); ++a)
          text_ += (a ? ", " : "") + define(inner.args[a], inner.args[a]->name) + ": " +
                   to_string(inner.args[a]->type);
        text_ += ") ";
      }
      text_ += "{\n";
      region(inner, depth + 1);
      text_.append(2 * depth, ' ');
      text_ += "}";
    }
  }

  void location(const Loc& loc) {
    if (options_.locations && loc.known())
      text_ += fmt::format(" loc({}:{})", quoted(loc.file), loc.line);
  }

  std::string define(const Value* value, std::string_view wanted) {
    std::string name = options_.names ? clean_name(wanted) : "";
    if (name.empty()) {
      name = std::to_string(numbered_++);
    } else {
      int& suffix = suffixes_[name];
      if (suffix > 0) name += fmt::format(".{}", suffix);
      ++suffix;
    }
    return names_[value] = "%" + name;
  }

  std::string use(const Value* value) const {
    const auto found = names_.find(value);
    return found == names_.end() ? "%<undefined>" : found->second;
  }

  const Function& fn_;
  PrintOptions options_;
  std::string text_;
  std::unordered_map<const Value*, std::string> names_;
  std::unordered_map<std::string, int> suffixes_;
  int numbered_ = 0;
};

struct AttrText {
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return float_text(value); }
  std::string operator()(Fn fn) const { return std::string(info(fn).name); }
  std::string operator()(const std::vector<int64_t>& values) const {
    return fmt::format("[{}]", fmt::join(values, ","));
  }
  std::string operator()(const Shape& shape) const { return to_string(shape); }
  std::string operator()(const std::string& text) const { return quoted(text); }
};

}  // namespace

std::string print(const Function& fn, const PrintOptions& options) {
  return Printer(fn, options).run();
}

std::string to_string(const Attr& attr) { return std::visit(AttrText{}, attr); }

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      result += {'\\', c};
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      result += c;
  }
  return result + "\"";
}

}  // namespace tilewright::ir
