#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "tilewright/codegen/print_cuda.h"
#include "tilewright/codegen/print_cuda_expr.h"
#include "tilewright/codegen/print_cuda_wrap.h"
#include "tilewright/ir/error.h"
#include "tilewright/ir/source_text.h"

namespace tilewright::codegen {
namespace {

using Kind = Stmt::Kind;
using Stmts = std::vector<Stmt>;

constexpr int kTabWidth = 4;    // of the user's source
constexpr int kJoinWidth = 80;  // declarations share a line up to here

bool prints(const Stmt& stmt);

bool any_prints(const Stmts& stmts) { return std::ranges::any_of(stmts, prints); }

/// Whether the statement leaves any text: ordering edges and what holds only them do not.
bool prints(const Stmt& stmt) {
  switch (stmt.kind) {
    case Kind::order:
      return false;
    case Kind::loop:
      return stmt.value || any_prints(stmt.body);
    case Kind::branch:
      return any_prints(stmt.body) || any_prints(stmt.otherwise);
    default:
      return true;
  }
}

/// The statement that is all that `stmts` print; null when there are more or none.
const Stmt* only_statement(const Stmts& stmts) {
  if (std::ranges::count_if(stmts, prints) != 1) return nullptr;
  return &*std::ranges::find_if(stmts, prints);
}

/// A type with the const that a declaration wants.
std::string qualified_type(const Stmt& stmt) {
  if (!stmt.is_const || stmt.type.starts_with("const")) return stmt.type;
  return stmt.type.ends_with('*') ? stmt.type + " const" : "const " + stmt.type;
}

/// What a declaration or array adds behind its type: "name = value" or "name[8]".
std::string declarator(const Stmt& stmt) {
  std::string text = stmt.name;
  if (stmt.kind == Kind::array) {
    for (const int64_t extent : stmt.extents) text += fmt::format("[{}]", extent);
    return stmt.zero ? text + " = {}" : text;
  }
  return stmt.value ? text + " =" + break_mark(3) + marked_expr_text(*stmt.value) : text;
}

/// A statement of one line, without indentation or comment; nullopt for the other kinds.
std::optional<std::string> simple_text(const Stmt& stmt) {
  switch (stmt.kind) {
    case Kind::declare:
      return qualified_type(stmt) + " " + declarator(stmt) + ";";
    case Kind::array:
      return stmt.type + " " + declarator(stmt) + ";";
    case Kind::assign:
      return expr_text(*stmt.target) + " " + stmt.op + break_mark(3) +
             marked_expr_text(*stmt.value) + ";";
    case Kind::call:
      return marked_expr_text(*stmt.value) + ";";
    case Kind::barrier:
      return stmt.value ? marked_expr_text(*stmt.value) + ";" : "__syncthreads();";
    default:
      return std::nullopt;
  }
}

bool is_declaration(const Stmt& stmt) {
  return stmt.kind == Kind::declare || stmt.kind == Kind::array;
}

/// Whether two declarations can share a line: "const int row = .., col = ..;".
bool can_join(const Stmt& a, const Stmt& b) {
  return is_declaration(a) && a.kind == b.kind && a.type == b.type && a.is_const == b.is_const &&
         a.comment.empty() && b.comment.empty() && !a.type.ends_with('*') && !a.zero && !b.zero;
}

/// The limit of a loop, in parentheses where `<` binds more tightly.
std::string limit_text(const Expr& limit) {
  const std::string text = marked_expr_text(limit);
  const bool loose = limit.kind == Expr::Kind::conditional ||
                     (limit.kind == Expr::Kind::binary &&
                      limit.text.find_first_of("<>=!&|^") != std::string::npos);
  return loose ? "(" + text + ")" : text;
}

std::string loop_head(const Stmt& stmt) {
  if (stmt.value) return "while (" + marked_expr_text(*stmt.value) + ")";
  const std::string type = stmt.type.empty() ? "int" : stmt.type;
  const std::string begin = stmt.begin ? marked_expr_text(*stmt.begin) : "0";
  const std::string step = !stmt.step || is_integer(stmt.step, 1)
                               ? "++" + stmt.name
                               : stmt.name + " += " + marked_expr_text(*stmt.step);
  return fmt::format("for ({} {} = {};{}{} < {};{}{})", type, stmt.name, begin, break_mark(1),
                     stmt.name, limit_text(*stmt.limit), break_mark(1), step);
}

/// Leading spaces of a source line and its text, trimmed.
struct SourceText {
  int indent = 0;
  std::string text;
};

SourceText split_source(const std::string& line) {
  SourceText result;
  size_t i = 0;
  for (; i < line.size() && (line[i] == ' ' || line[i] == '\t'); ++i)
    result.indent += line[i] == '\t' ? kTabWidth - result.indent % kTabWidth : 1;
  result.text = comment_text(std::string_view(line).substr(i));
  return result;
}

class StatementPrinter {
 public:
  explicit StatementPrinter(const PrintOptions& options) : options_(options) {}

  void statements(const Stmts& stmts, int indent) {
    for (size_t i = 0; i < stmts.size();) i += join(stmts, i, indent);
  }

  std::vector<std::string> lines;

 private:
  /// Prints statement i, and the declarations that fit on its line; returns how many that were.
  size_t join(const Stmts& stmts, size_t i, int indent) {
    std::optional<std::string> text = simple_text(stmts[i]);
    if (!text) {
      compound(stmts[i], indent);
      return 1;
    }
    size_t count = 1;
    while (i + count < stmts.size() && can_join(stmts[i], stmts[i + count])) {
      const std::string longer = text->substr(0, text->size() - 1) + "," + break_mark(2) +
                                 declarator(stmts[i + count]) + ";";
      if (indent + columns(unmarked(longer)) > kJoinWidth) break;
      text = longer;
      ++count;
    }
    commented(*text, stmts[i].comment, indent);
    return count;
  }

  void compound(const Stmt& stmt, int indent) {
    switch (stmt.kind) {
      case Kind::loop:
        if (prints(stmt)) loop(stmt, indent);
        break;
      case Kind::branch:
        if (prints(stmt)) branch(stmt, indent);
        break;
      case Kind::lambda:
        lambda(stmt, indent);
        break;
      case Kind::source:
        source(stmt, indent);
        break;
      case Kind::comment:
        append(wrap_comment(stmt.comment, indent));
        break;
      case Kind::order:
        break;
      default:
        throw InternalError("kernel IR statement of an unknown kind");
    }
  }

  void append(std::vector<std::string> more) {
    lines.insert(lines.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
  }

  /// Code with its comment behind it, or above it when the line would be too long.
  void commented(const std::string& marked, const std::string& comment, int indent) {
    const std::string safe = comment_text(comment);
    if (safe.empty()) return append(wrap(marked, indent));
    const std::string code = unmarked(marked);
    if (indent + columns(code) + 5 + columns(safe) <= kLineWidth) {
      lines.push_back(std::string(indent, ' ') + code + "  // " + safe);
      return;
    }
    append(wrap_comment(safe, indent));
    append(wrap(marked, indent));
  }

  /// An empty line between groups of statements, not at the beginning of a block.
  void blank() {
    if (lines.empty() || lines.back().empty()) return;
    const std::string code = strip_comments(lines.back());
    if (code.ends_with("{\n")) return;
    lines.emplace_back();
  }

  /// `head` with its body: on one line, below it, or in braces.
  void with_body(const std::string& head, const std::string& comment, const Stmts& body,
                 int indent) {
    const Stmt* only = only_statement(body);
    if (only && only->comment.empty() && !is_declaration(*only) && comment.empty()) {
      if (const std::optional<std::string> text = simple_text(*only)) {
        const std::string line = head + " " + *text;
        if (indent + columns(unmarked(line)) <= kLineWidth) {
          lines.push_back(std::string(indent, ' ') + unmarked(line));
          return;
        }
      }
      // A loop or an if that is all of a loop's body needs no braces.
      const bool nests =
          only->kind == Kind::loop || (only->kind == Kind::branch && !any_prints(only->otherwise));
      if (nests && head.starts_with("for")) {
        append(wrap(head, indent));
        return compound(*only, indent + 2);
      }
    }
    commented(head + " {", comment, indent);
    statements(body, indent + 2);
    lines.push_back(std::string(indent, ' ') + "}");
  }

  void loop(const Stmt& stmt, int indent) {
    if (stmt.unroll) lines.emplace_back("#pragma unroll");
    with_body(loop_head(stmt), stmt.comment, stmt.body, indent);
  }

  static std::string condition_head(const ExprRef& condition) {
    return "if (" + (condition ? marked_expr_text(*condition) : "true") + ")";
  }

  void branch(const Stmt& stmt, int indent) {
    if (!any_prints(stmt.otherwise))
      return with_body(condition_head(stmt.value), stmt.comment, stmt.body, indent);
    if (!stmt.value) return statements(stmt.body, indent);
    if (!any_prints(stmt.body))
      return with_body(condition_head(unary("!", stmt.value)), stmt.comment, stmt.otherwise,
                       indent);
    commented(condition_head(stmt.value) + " {", stmt.comment, indent);
    statements(stmt.body, indent + 2);
    lines.push_back(std::string(indent, ' ') + "} else {");
    statements(stmt.otherwise, indent + 2);
    lines.push_back(std::string(indent, ' ') + "}");
  }

  void lambda(const Stmt& stmt, int indent) {
    std::string head = "auto " + stmt.name + " = [&](";
    for (size_t i = 0; i < stmt.params.size(); ++i)
      head += (i > 0 ? "," + break_mark(1) : "") + stmt.params[i];
    blank();
    commented(head + ") {", stmt.comment, indent);
    statements(stmt.body, indent + 2);
    lines.push_back(std::string(indent, ' ') + "};");
    blank();
  }

  /// The user's line as a comment, as far indented as it is in the kernel's source, with its place
  /// at the right end.
  void source(const Stmt& stmt, int indent) {
    const std::optional<std::string> line =
        options_.user_lines ? tilewright::source_line(stmt.loc) : std::nullopt;
    if (!line) return;
    SourceText source = split_source(*line);
    if (source.text.empty()) return;
    if (!base_indent_) base_indent_ = source.indent;
    const int extra = std::clamp(source.indent - *base_indent_, 0, 24);
    if (!after_source_ || lines.size() != after_source_) blank();

    const std::string_view path = stmt.loc.file;
    const std::string place =
        fmt::format("{}:{}", path.substr(path.find_last_of('/') + 1), stmt.loc.line);
    std::vector<std::string> comment =
        wrap_comment(std::string(extra, ' ') + source.text, indent, extra + 4);
    const int room = kLineWidth - columns(comment.back()) - columns(place);
    if (room >= 2)
      comment.back() += std::string(room, ' ') + place;
    else
      comment.push_back(std::string(indent, ' ') + "//" +
                        std::string(std::max(1, kLineWidth - indent - 2 - columns(place)), ' ') +
                        place);
    append(std::move(comment));
    after_source_ = lines.size();
  }

  const PrintOptions& options_;
  std::optional<int> base_indent_;      // of the kernel's first source line
  std::optional<size_t> after_source_;  // number of lines when one was printed last
};

}  // namespace

std::vector<std::string> print_statements(const std::vector<Stmt>& stmts, int indent,
                                          const PrintOptions& options) {
  StatementPrinter printer(options);
  printer.statements(stmts, indent);
  while (!printer.lines.empty() && printer.lines.back().empty()) printer.lines.pop_back();
  return std::move(printer.lines);
}

}  // namespace tilewright::codegen
