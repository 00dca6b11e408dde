#include "tilewright/runtime/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace tilewright::runtime {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int value) : value_(value) {}
  ~FileDescriptor() { close(); }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return value_; }
  bool close() { return value_ < 0 || ::close(std::exchange(value_, -1)) == 0; }

 private:
  int value_;
};

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> count = 0;
  return fmt::format("{}.{}.{}.tmp", path, getpid(), count++);
}

}  // namespace

std::optional<std::string> read_file(const std::string& path) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return std::nullopt;
  std::string bytes;
  char chunk[1 << 16];
  for (;;) {
    const ssize_t got = ::read(file.get(), chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return bytes;
    bytes.append(chunk, static_cast<size_t>(got));
  }
}

bool make_private_folder(const std::string& path) {
  const std::filesystem::path folder(path);
  std::error_code ignored;
  if (folder.empty() || std::filesystem::is_directory(folder, ignored)) return true;
  if (folder.has_parent_path() && folder.parent_path() != folder)
    make_private_folder(folder.parent_path().string());
  constexpr mode_t user_alone = 0700;
  return ::mkdir(path.c_str(), user_alone) == 0 || std::filesystem::is_directory(folder, ignored);
}

bool write_file_atomically(const std::string& path, std::string_view bytes, std::string& problem) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  const std::string temporary = temporary_name(path);
  FileDescriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  const bool written = file.get() >= 0 && write_all(file.get(), bytes) && fsync(file.get()) == 0 &&
                       file.close() && rename(temporary.c_str(), path.c_str()) == 0;
  if (!written) {
    problem = fmt::format("{}: {}", path, std::strerror(errno));
    unlink(temporary.c_str());
  }
  return written;
}

}  // namespace tilewright::runtime
