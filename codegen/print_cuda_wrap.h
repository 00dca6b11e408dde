// Breaking long lines of printed CUDA.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilewright::codegen {

/// The widest line printed, in columns.
inline constexpr int kLineWidth = 100;

/// A place where a line may be broken: a space otherwise. Two characters inside a text that wrap()
/// and unmarked() understand; a smaller depth (nesting of the expression) makes a better place.
std::string break_mark(int depth);
/// The text with each mark turned into a space.
std::string unmarked(std::string_view marked);

/// `marked` as lines of at most kLineWidth columns where its marks allow, the first indented by
/// `indent` spaces, the others by `indent` + 4.
std::vector<std::string> wrap(std::string_view marked, int indent);

/// Words of a comment as lines "// ..", the first indented by `indent`; later ones have `hang` more
/// spaces after the slashes. Newlines become spaces, and no line ends in a backslash, which would
/// make the next line of code a comment.
std::vector<std::string> wrap_comment(std::string_view text, int indent, int hang = 0);
/// The text of a comment made safe for one line, as above.
std::string comment_text(std::string_view text);

/// Columns that UTF-8 text takes, one for each code point.
int columns(std::string_view text);

/// CUDA text without comments, blank lines and trailing spaces: what decides the compiled code, for
/// cache keys. Literals, raw strings included, are kept as they are.
std::string strip_comments(std::string_view cuda);

}  // namespace tilewright::codegen
