#include "tilewright/runtime/cache_size.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <vector>

#include "tilewright/ir/log.h"

namespace tilewright::runtime {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kDefaultCapacity = int64_t{2} << 30;
constexpr time_t kHour = 3600;

struct Unit {
  std::string_view name;
  int64_t bytes;
};

constexpr int64_t kKilo = 1000, kKibi = 1024;
constexpr Unit kUnits[] = {
    {"", 1},
    {"B", 1},
    {"K", kKibi},
    {"KiB", kKibi},
    {"KB", kKilo},
    {"M", kKibi* kKibi},
    {"MiB", kKibi* kKibi},
    {"MB", kKilo* kKilo},
    {"G", kKibi* kKibi* kKibi},
    {"GiB", kKibi* kKibi* kKibi},
    {"GB", kKilo* kKilo* kKilo},
    {"T", kKibi* kKibi* kKibi* kKibi},
    {"TiB", kKibi* kKibi* kKibi* kKibi},
    {"TB", kKilo* kKilo* kKilo* kKilo},
};

struct File {
  std::string path;
  int64_t bytes = 0;
  timespec used = {};
};

bool is_older(const File& a, const File& b) {
  if (a.used.tv_sec != b.used.tv_sec) return a.used.tv_sec < b.used.tv_sec;
  if (a.used.tv_nsec != b.used.tv_nsec) return a.used.tv_nsec < b.used.tv_nsec;
  return a.path < b.path;
}

std::optional<File> file_at(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  return File{path, info.st_size, info.st_mtim};
}

// The file of CUDA text that TILEWRIGHT_LINEINFO keeps beside an entry.
std::string source_beside(const std::string& path) {
  return fs::path(path).replace_extension(".cu").string();
}

// The compiled kernels of a folder; leftovers of writers are removed on the way.
std::vector<File> kernels_in(const std::string& folder) {
  std::vector<File> files;
  const time_t now = time(nullptr);
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const fs::path& path = it->path();
    const bool leftover = path.extension() == ".tmp";
    if (!leftover && path.extension() != ".twc") continue;
    auto file = file_at(path.string());
    if (!file) continue;
    if (!leftover) {
      if (const auto source = file_at(source_beside(file->path))) file->bytes += source->bytes;
      files.push_back(std::move(*file));
    } else if (now - file->used.tv_sec > kHour) {
      std::error_code ignored;
      fs::remove(path, ignored);
    }
  }
  return files;
}

}  // namespace

std::optional<int64_t> parse_bytes(std::string_view text) {
  int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || count < 0) return std::nullopt;
  std::string_view rest(end, static_cast<size_t>(text.data() + text.size() - end));
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  for (const Unit& unit : kUnits)
    if (unit.name == rest) {
      int64_t bytes = 0;
      if (__builtin_mul_overflow(count, unit.bytes, &bytes)) return std::nullopt;
      return bytes;
    }
  return std::nullopt;
}

int64_t cache_capacity() {
  const char* text = std::getenv("TILEWRIGHT_CACHE_SIZE");
  if (text == nullptr || *text == '\0') return kDefaultCapacity;
  if (const auto bytes = parse_bytes(text)) return *bytes;
  log(LogLevel::warning,
      "TILEWRIGHT_CACHE_SIZE is '{}', which is no size such as 500M or 2GiB; compiled kernels "
      "may take 2GiB",
      text);
  return kDefaultCapacity;
}

void mark_used(const std::string& path) {
  const auto file = file_at(path);
  if (file && time(nullptr) - file->used.tv_sec > kHour)
    utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
}

int64_t trim_cache(const std::string& folder, int64_t bytes) {
  std::vector<File> files = kernels_in(folder);
  int64_t total = 0;
  for (const File& file : files) total += file.bytes;
  if (total <= bytes) return total;
  std::ranges::sort(files, is_older);
  const int64_t goal = bytes - bytes / 10;
  for (const File& file : files) {
    if (total <= goal) break;
    std::error_code ignored;
    fs::remove(file.path, ignored);
    fs::remove(source_beside(file.path), ignored);
    total -= file.bytes;
  }
  return total;
}

}  // namespace tilewright::runtime
