#include "cli/disassembler.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "tilewright/ir/error.h"

namespace tilewright::cli {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> folders() {
  std::vector<std::string> found;
  const char* path = std::getenv("PATH");
  std::istringstream list(path == nullptr ? "" : path);
  for (std::string folder; std::getline(list, folder, ':');) found.push_back(folder);
  if (const char* root = std::getenv("CUDA_PATH")) found.push_back(std::string(root) + "/bin");
  found.push_back("/usr/local/cuda/bin");
  return found;
}

// A file that is deleted when this dies.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& contents)
      : path_(
            (fs::temp_directory_path() / fmt::format("tilewright-{}.cubin", ::getpid())).string()) {
    std::ofstream(path_, std::ios::binary) << contents;
  }
  ~TemporaryFile() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

std::optional<std::string> find_disassembler() {
  for (const auto& [program, options] :
       {std::pair{"nvdisasm", "--print-code"}, std::pair{"cuobjdump", "--dump-sass"}})
    for (const std::string& folder : folders()) {
      const std::string path = folder + "/" + program;
      if (::access(path.c_str(), X_OK) == 0) return fmt::format("'{}' {}", path, options);
    }
  return std::nullopt;
}

std::string disassemble(const std::string& cubin, const std::optional<std::string>& command) {
  if (!command) raise(ErrorId::missing_disassembler, {}, kDisassemblerHint);
  const TemporaryFile file(cubin);
  FILE* pipe = ::popen(fmt::format("{} '{}' 2>&1", *command, file.path()).c_str(), "r");
  std::string text;
  std::array<char, 4096> buffer;
  while (pipe != nullptr) {
    const size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe);
    if (n == 0) break;
    text.append(buffer.data(), n);
  }
  if (pipe == nullptr || ::pclose(pipe) != 0)
    raise(ErrorId::disassembler_failed, {}, *command, text);
  return text;
}

}  // namespace tilewright::cli
