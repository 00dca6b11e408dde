#include "tilewright/codegen/print_cuda_shared.h"

#include <fmt/format.h>

#include <algorithm>

#include "tilewright/codegen/prelude.h"
#include "tilewright/codegen/print_cuda_wrap.h"
#include "tilewright/ir/error.h"

namespace tilewright::codegen {
namespace {

using Buffers = std::vector<const SharedBuffer*>;

int64_t end_of(const SharedBuffer& buffer) { return buffer.offset + buffer.bytes(); }

int64_t align_up(int64_t value, int64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

/// The alignment C++ gives a struct of these: that of the largest element.
int64_t alignment_of(const Buffers& buffers) {
  int64_t alignment = 1;
  for (const SharedBuffer* buffer : buffers)
    alignment = std::max<int64_t>(alignment, buffer->element_bytes());
  return alignment;
}

/// Sorted buffers cut into runs whose bytes overlap, directly or through others.
std::vector<Buffers> overlapping_runs(const Buffers& sorted) {
  std::vector<Buffers> runs;
  int64_t end = -1;
  for (const SharedBuffer* buffer : sorted) {
    if (buffer->offset >= end) runs.emplace_back();
    runs.back().push_back(buffer);
    end = std::max(end, end_of(*buffer));
  }
  return runs;
}

/// The buffers of one run as sequences without overlap, each one alternative of a union.
std::vector<Buffers> alternatives(const Buffers& run) {
  std::vector<Buffers> sequences;
  for (const SharedBuffer* buffer : run) {
    const auto fits = [&](const Buffers& s) { return end_of(*s.back()) <= buffer->offset; };
    auto sequence = std::ranges::find_if(sequences, fits);
    if (sequence == sequences.end()) sequence = sequences.emplace(sequences.end());
    sequence->push_back(buffer);
  }
  return sequences;
}

class StructPrinter {
 public:
  /// Appends the members for `sorted`, the first of them following byte `cursor` of the struct.
  /// Returns the end of the last one.
  int64_t members(const Buffers& sorted, int64_t cursor, int indent) {
    for (const Buffers& run : overlapping_runs(sorted)) {
      const int64_t begin = run.front()->offset;
      cursor = pad(cursor, begin, alignment_of(run), indent);
      cursor = run.size() == 1 ? member(*run.front(), indent) : union_of(run, indent);
    }
    return cursor;
  }

  std::string text;

 private:
  void line(int indent, const std::string& code) { text += std::string(indent, ' ') + code + "\n"; }

  int64_t pad(int64_t cursor, int64_t begin, int64_t alignment, int indent) {
    internal_check(begin % alignment == 0, "a shared buffer's offset splits its elements");
    internal_check(cursor <= begin, "a shared buffer begins inside the padding of another");
    if (align_up(cursor, alignment) != begin)
      line(indent, fmt::format("unsigned char gap{}[{}];", gaps_++, begin - cursor));
    return begin;
  }

  int64_t member(const SharedBuffer& buffer, int indent) {
    std::string code =
        (buffer.type.empty() ? cuda_type(buffer.dtype) : buffer.type) + " " + buffer.name;
    for (const int64_t extent : buffer.extents) code += fmt::format("[{}]", extent);
    code += ";";
    const std::string comment = comment_text(buffer.comment);
    if (indent + columns(code) + columns(comment) + 5 > kLineWidth) {
      for (const std::string& line : wrap_comment(comment, indent)) text += line + "\n";
      line(indent, code);
    } else {
      line(indent, comment.empty() ? code : code + "  // " + comment);
    }
    return end_of(buffer);
  }

  int64_t union_of(const Buffers& run, int indent) {
    const int64_t begin = run.front()->offset;
    int64_t end = begin;
    line(indent, "union {  // the same bytes, used one after the other");
    for (const Buffers& sequence : alternatives(run)) {
      const bool plain = sequence.size() == 1 && sequence.front()->offset == begin;
      if (!plain) line(indent + 2, "struct {");
      const int64_t last = members(sequence, begin, indent + (plain ? 2 : 4));
      if (!plain) line(indent + 2, "};");
      end = std::max(end, begin + align_up(last - begin, alignment_of(sequence)));
    }
    line(indent, "};");
    return begin + align_up(end - begin, alignment_of(run));
  }

  int gaps_ = 0;
};

}  // namespace

std::string shared_struct_text(const std::vector<SharedBuffer>& buffers, int64_t shared_bytes) {
  Buffers sorted;
  for (const SharedBuffer& buffer : buffers) {
    internal_check(buffer.offset >= 0, "a shared buffer has no place");
    sorted.push_back(&buffer);
  }
  std::ranges::stable_sort(sorted, {}, &SharedBuffer::offset);
  StructPrinter printer;
  printer.text = "struct Shared {\n";
  const int64_t end = printer.members(sorted, 0, 2);
  const int64_t size = align_up(end, alignment_of(sorted));
  internal_check(size <= shared_bytes, "the shared buffers are larger than the memory planned");
  return fmt::format("{}}};\nstatic_assert(sizeof(Shared) == {});\n", printer.text, size);
}

}  // namespace tilewright::codegen
