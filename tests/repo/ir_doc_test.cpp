// docs/ir.md describes the operations, attributes and functions that there are, and its examples
// are tile IR.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "tests/repo/source_tree.h"
#include "tilewright/ir/parse.h"
#include "tilewright/ir/print.h"

namespace tilewright::repo {
namespace {

struct OpRow {
  const char *name, *operands, *attributes;
};
constexpr OpRow kOps[] = {
#define TW_OP(name, operands, attributes, regions, effect) {#name, operands, attributes},
#include "tilewright/ir/ops.def"
#undef TW_OP
};

struct AttrRow {
  const char *name, *type;
};
constexpr AttrRow kAttributes[] = {
#define TW_ATTR(name, type) {#name, #type},
#include "tilewright/ir/attributes.def"
#undef TW_ATTR
};

struct FnRow {
  const char *name, *kind, *operands;
  int ulp;
};
constexpr FnRow kFunctions[] = {
#define TW_FN(name, kind, operands, ulp) {#name, #kind, #operands, ulp},
#include "tilewright/ir/functions.def"
#undef TW_FN
};

const std::string& document() {
  static const std::string text = file("docs/ir.md").text;
  return text;
}

/// The lines of the section under `heading` that begin a row with a name in backquotes.
std::vector<std::string> rows_of(std::string_view heading) {
  const std::string& text = document();
  const size_t begin = text.find(fmt::format("\n## {}\n", heading));
  if (begin == std::string::npos) return {};
  const std::string section = text.substr(begin + 1, text.find("\n## ", begin + 1) - begin);
  const std::regex row("(^|\n)(\\| `[a-z0-9_]+` \\|[^\n]*)");
  std::vector<std::string> rows;
  for (std::sregex_iterator it(section.begin(), section.end(), row), end; it != end; ++it)
    rows.push_back((*it)[2]);
  return rows;
}

int count_starting(const std::vector<std::string>& rows, std::string_view prefix) {
  return static_cast<int>(std::count_if(
      rows.begin(), rows.end(), [&](const std::string& row) { return row.starts_with(prefix); }));
}

std::string cell(std::string_view text) {
  return text.empty() ? std::string("-") : fmt::format("`{}`", text);
}

TEST(IrDoc, OperationsAreThoseOfOpsDef) {
  const std::vector<std::string> rows = rows_of("Operations");
  for (const OpRow& op : kOps) {
    const std::string row =
        fmt::format("| `{}` | {} | {} | ", op.name, cell(op.operands), cell(op.attributes));
    EXPECT_EQ(count_starting(rows, row), 1) << "docs/ir.md lacks the row " << row;
  }
  EXPECT_EQ(rows.size(), std::size(kOps));
}

TEST(IrDoc, AttributesAreThoseOfAttributesDef) {
  const std::vector<std::string> rows = rows_of("Attributes");
  for (const AttrRow& attribute : kAttributes) {
    const std::string row = fmt::format("| `{}` | {} | ", attribute.name, attribute.type);
    EXPECT_EQ(count_starting(rows, row), 1) << "docs/ir.md lacks the row " << row;
  }
  EXPECT_EQ(rows.size(), std::size(kAttributes));
}

// Which operations an attribute is said to be of: those that list it in ops.def.
TEST(IrDoc, AttributesNameTheirOperations) {
  const std::vector<std::string> rows = rows_of("Attributes");
  for (const AttrRow& attribute : kAttributes) {
    std::string expected;
    const std::regex key(fmt::format("(^| ){}[?]?( |$)", attribute.name));
    for (const OpRow& op : kOps)
      if (std::regex_search(op.attributes, key))
        expected += fmt::format("{}`{}`", expected.empty() ? "" : " ", op.name);
    const std::string row =
        fmt::format("| `{}` | {} | {} |", attribute.name, attribute.type, expected);
    EXPECT_EQ(count_starting(rows, row), 1) << "docs/ir.md lacks the row " << row;
  }
}

TEST(IrDoc, FunctionsAreThoseOfFunctionsDef) {
  const std::vector<std::string> rows = rows_of("Functions");
  for (const FnRow& fn : kFunctions) {
    const std::string row =
        fmt::format("| `{}` | {} | {} | {} | ", fn.name, fn.kind, fn.operands, fn.ulp);
    EXPECT_EQ(count_starting(rows, row), 1) << "docs/ir.md lacks the row " << row;
  }
  EXPECT_EQ(rows.size(), std::size(kFunctions));
}

TEST(IrDoc, NamesEveryElementType) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const std::string name(to_string(static_cast<DType>(i)));
    EXPECT_NE(document().find("`" + name + "`"), std::string::npos) << name;
  }
}

// Blocks marked tile-ir, in any document.
TEST(IrDoc, ExamplesAreTileIr) {
  const std::string fence = "```tile-ir\n";
  int examples = 0;
  for (const SourceFile& source : files_under({"docs"}, {".md"}))
    for (size_t at = source.text.find(fence); at != std::string::npos;
         at = source.text.find(fence, at + 1)) {
      const size_t begin = at + fence.size();
      const std::string text = source.text.substr(begin, source.text.find("```", begin) - begin);
      EXPECT_NO_THROW(ir::parse(ir::print(ir::parse(text)))) << source.path << ":\n" << text;
      ++examples;
    }
  EXPECT_GE(examples, 2);
}

}  // namespace
}  // namespace tilewright::repo
