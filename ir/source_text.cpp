#include "tilewright/ir/source_text.h"

#include <fstream>
#include <map>
#include <mutex>
#include <vector>

namespace tilewright {
namespace {

using Lines = std::vector<std::string>;

Lines read_lines(const std::string& path) {
  Lines lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(std::move(line));
  }
  return lines;
}

/// The files read so far; an unreadable one counts as empty.
class Files {
 public:
  const Lines& lines(std::string_view path) {
    const std::lock_guard lock(mutex_);
    auto found = files_.find(path);
    if (found == files_.end())
      found = files_.emplace(std::string(path), read_lines(std::string(path))).first;
    return found->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Lines, std::less<>> files_;
};

}  // namespace

std::optional<std::string> source_line(Loc loc) {
  static Files files;  // entries are never removed, so references stay valid without the lock
  if (!loc.known() || loc.file.empty()) return std::nullopt;
  const Lines& lines = files.lines(loc.file);
  if (static_cast<size_t>(loc.line) > lines.size()) return std::nullopt;
  return lines[loc.line - 1];
}

}  // namespace tilewright
