#include "tilewright/runtime/nvrtc_note.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdlib>
#include <sstream>

#include "tilewright/ir/error.h"
#include "tilewright/runtime/file.h"
#include "tilewright/runtime/hash.h"
#include "tilewright/runtime/nvrtc.h"

namespace tilewright::runtime {
namespace {

// Size and time of a file, or "absent".
std::string stamp(const std::string& path) {
  struct stat info {};
  if (path.empty() || stat(path.c_str(), &info) != 0) return "absent";
  return fmt::format("{} {}.{}", info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

// Everything that decides which file the search finds.
std::string search_settings() {
  std::string text;
  for (const std::string& candidate : nvrtc_candidates()) text += candidate + "\n";
  const char* loader = std::getenv("LD_LIBRARY_PATH");
  text += loader != nullptr ? loader : "";
  return text + "\n" + stamp("/etc/ld.so.cache");
}

std::string identity_of(int version, const std::string& path) {
  struct stat info {};
  stat(path.c_str(), &info);
  return fmt::format("nvrtc {} {}", version, info.st_size);
}

// The note's three lines: library path, its stamp, identity.
std::string read_note(const std::string& file) {
  std::istringstream note(read_file(file).value_or(""));
  std::string path, seen, identity;
  std::getline(note, path);
  std::getline(note, seen);
  std::getline(note, identity);
  return !path.empty() && seen != "absent" && seen == stamp(path) ? identity : std::string();
}

}  // namespace

std::string nvrtc_identity(const std::string& folder) {
  std::string file;
  if (!folder.empty()) {
    file = folder + "/nvrtc-" + hash_bytes(search_settings()).hex() + ".note";
    if (std::string identity = read_note(file); !identity.empty()) return identity;
  }
  const NvrtcStatus& status = nvrtc_status();
  if (status.version == 0) raise(ErrorId::missing_nvrtc, {}, status.problem);
  std::string identity = identity_of(status.version, status.path);
  if (!file.empty()) {
    make_private_folder(folder);
    std::string problem;  // without the note the next process only starts slower
    write_file_atomically(file, status.path + "\n" + stamp(status.path) + "\n" + identity + "\n",
                          problem);
  }
  return identity;
}

}  // namespace tilewright::runtime
