#include "tilewright/runtime/emulator_module.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "tilewright/ir/error.h"
#include "tilewright/runtime/cubin_cache.h"
#include "tilewright/runtime/emulator_cluster.h"
#include "tilewright/runtime/file.h"
#include "tilewright/runtime/hash.h"

namespace tilewright::runtime {
namespace {

namespace fs = std::filesystem;

std::string quoted(const std::string& argument) {
  std::string text = "'";
  for (const char c : argument) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

// What a command prints, and its exit status.
struct CommandResult {
  int status = -1;
  std::string output;
};

CommandResult run_command(const std::string& command) {
  CommandResult result;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return result;
  std::array<char, 4096> buffer;
  while (const size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe))
    result.output.append(buffer.data(), n);
  result.status = ::pclose(pipe);
  return result;
}

bool on_path(const std::string& program) {
  if (program.find('/') != std::string::npos) return ::access(program.c_str(), X_OK) == 0;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (::access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  return false;
}

// The folder of emulated kernels; made.
std::string object_folder() {
  const std::string cache = cache_folder();
  std::error_code failed;
  if (!cache.empty()) {
    make_private_folder(cache);
    const fs::path folder = fs::path(cache) / "emulator";
    fs::create_directories(folder, failed);
    if (!failed && ::access(folder.c_str(), W_OK) == 0) return folder;
  }
  const fs::path folder =
      fs::temp_directory_path(failed) / fmt::format("tilewright-{}", ::getuid());
  if (!failed) fs::create_directories(folder, failed);
  if (failed) raise(ErrorId::emulator_folder, {}, folder.string(), failed.message());
  return folder;
}

bool has_own_sanitizer(const std::vector<std::string>& flags) {
  return std::ranges::any_of(flags, [](const std::string& flag) {
    return flag.starts_with("-fsanitize=") && flag.find("thread") == std::string::npos;
  });
}

// How kernels are compiled. Contraction would round otherwise than the GPU; type punning through
// words is what the device helpers do.
std::string compile_command(const std::string& compiler, const std::vector<std::string>& flags) {
  std::string command =
      compiler +
      " -std=c++20 -x c++ -w -Wno-psabi -O1 -g -fPIC -shared -nostdlib -ffp-contract=off"
      " -fno-strict-aliasing -fno-exceptions -fno-stack-protector";
  // Compilers combine no two sanitizers; the user's own takes the place of our checks.
  const bool instrumented = !has_own_sanitizer(flags);
  if (instrumented) command += " -fsanitize=thread -DTW_INSTRUMENTED";
  for (const std::string& flag : flags) command += " " + quoted(flag);
  // Without optimization g++ does not instrument stores of a structure that a call returns.
  if (instrumented) command += " -O1";
  return command;
}

void compile(const std::string& command, const std::string& source, const std::string& object,
             const std::string& kernel) {
  const std::string fresh = fmt::format("{}.{}", object, ::getpid());
  const CommandResult result =
      run_command(fmt::format("{} -o {} {} -x none -lm", command, quoted(fresh), quoted(source)));
  if (result.status != 0)
    throw_error(ErrorId::emulator_compile, {},
                fmt::format(fmt::runtime(message_of(ErrorId::emulator_compile)), kernel, command),
                result.output);
  fs::rename(fresh, object);
}

// Not synced to the disk: what is lost is made again.
void write(const std::string& path, std::string_view text) {
  const std::string fresh = fmt::format("{}.{}", path, ::getpid());
  std::ofstream file(fresh, std::ios::binary);
  file << text;
  file.close();
  std::error_code failed;
  if (file) fs::rename(fresh, path, failed);
  if (!file || failed)
    raise(ErrorId::emulator_folder, {}, path, failed ? failed.message() : "writing failed");
}

// The extent of a loaded object in memory.
struct Extent {
  uintptr_t base = 0, end = 0;
};

int extend(dl_phdr_info* info, size_t, void* data) {
  Extent& extent = *static_cast<Extent*>(data);
  if (info->dlpi_addr != extent.base) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_LOAD)
      extent.end = std::max<uintptr_t>(
          extent.end, extent.base + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz);
  return 1;
}

std::string trimmed(const std::string& line) {
  const size_t begin = line.find_first_not_of(' ');
  if (begin == std::string::npos) return {};
  return line.substr(begin, line.find_last_not_of(' ') - begin + 1);
}

// The program of the compiler's tools that tells lines of addresses.
std::string line_tool() {
  static const std::string tool = [] {
    for (const char* name : {"addr2line", "llvm-addr2line"})
      if (on_path(name)) return std::string(name);
    return std::string();
  }();
  return tool;
}

}  // namespace

std::string host_compiler() {
  const char* wanted = std::getenv("CXX");
  std::vector<std::string> candidates;
  if (wanted != nullptr && *wanted != '\0') candidates.emplace_back(wanted);
  candidates.insert(candidates.end(), {"c++", "g++", "clang++"});
  for (const std::string& candidate : candidates)
    if (on_path(candidate.substr(0, candidate.find(' ')))) return candidate;
  raise(ErrorId::emulator_compiler, {}, fmt::join(candidates, ", "));
}

std::vector<std::string> emulator_flags() {
  const char* value = std::getenv("TILEWRIGHT_EMULATOR_FLAGS");
  std::string text = value != nullptr ? value : "";
  std::ranges::replace(text, ',', ' ');
  std::istringstream words(text);
  std::vector<std::string> flags;
  for (std::string flag; words >> flag;) flags.push_back(flag);
  return flags;
}

std::shared_ptr<const EmulatorModule> EmulatorModule::get(const codegen::KernelStep& step,
                                                          const std::vector<std::string>& flags) {
  static std::mutex mutex;
  static std::map<Hash128, std::shared_ptr<const EmulatorModule>> modules;
  const std::string command = compile_command(host_compiler(), flags);
  const Hash128 key = hash_bytes(command + "\n" + host_source(step, ""));
  {
    std::lock_guard lock(mutex);
    if (const auto known = modules.find(key); known != modules.end()) return known->second;
  }
  std::shared_ptr<EmulatorModule> made(new EmulatorModule);
  const std::string stem = object_folder() + "/" + key.hex();
  made->object_ = stem + ".so";
  made->file_ = stem + ".cu";
  made->checked_ = !has_own_sanitizer(flags);
  std::istringstream lines(step.source);
  for (std::string line; std::getline(lines, line);) made->lines_.push_back(line);
  if (!fs::exists(made->object_)) {
    write(made->file_, step.source);
    write(stem + ".cpp", host_source(step, made->file_));
    compile(command, stem + ".cpp", made->object_, step.symbol);
  }
  made->load(made->object_, step.symbol);
  std::lock_guard lock(mutex);
  return modules.try_emplace(key, std::move(made)).first->second;
}

void EmulatorModule::load(const std::string& object, const std::string& kernel) {
  std::string problem;
  library_ = SharedLibrary::open(object, problem);
  if (!library_)
    throw_error(ErrorId::emulator_compile, {},
                fmt::format(fmt::runtime(message_of(ErrorId::emulator_compile)), kernel,
                            "loading " + object),
                problem);
  internal_check(library_.find("tw_entry", entry_), "an emulated kernel has no entry");
  Dl_info info;
  internal_check(dladdr(reinterpret_cast<void*>(entry_), &info) != 0, "an object has no address");
  begin_ = reinterpret_cast<uintptr_t>(info.dli_fbase);
  Extent extent{begin_, begin_};
  dl_iterate_phdr(extend, &extent);
  end_ = extent.end;
  fill_hooks(library_);
}

std::vector<int> EmulatorModule::lines_of(std::span<const uint32_t> offsets) const {
  std::lock_guard lock(mutex_);
  std::string addresses;
  for (const uint32_t offset : offsets)
    if (!known_lines_.contains(offset)) {
      known_lines_[offset] = 0;
      addresses += fmt::format(" {:#x}", offset - 1);  // of the call, not of what follows it
    }
  if (!addresses.empty() && !line_tool().empty()) {
    // An address, then the lines of the call and of those it is inlined in.
    std::istringstream output(
        run_command(fmt::format("{} -a -i -e {}{}", line_tool(), quoted(object_), addresses))
            .output);
    uint32_t offset = 0;
    for (std::string line; std::getline(output, line);) {
      if (line.starts_with("0x")) {
        offset = static_cast<uint32_t>(std::strtoul(line.c_str(), nullptr, 16)) + 1;
      } else if (line.starts_with(file_ + ":") && known_lines_[offset] == 0) {
        known_lines_[offset] = std::atoi(line.c_str() + file_.size() + 1);
      }
    }
  }
  std::vector<int> result;
  for (const uint32_t offset : offsets) result.push_back(known_lines_.at(offset));
  return result;
}

std::string EmulatorModule::text_of(int number) const {
  if (number < 1 || number > static_cast<int>(lines_.size())) return {};
  return trimmed(lines_[static_cast<size_t>(number - 1)]);
}

std::string EmulatorModule::user_line_of(int number) const {
  // "// code      file.h:12", the place perhaps alone on a second comment line.
  static const std::regex place(R"(^//(.*?)\s+([\w.+-]+:\d+)$)");
  for (int at = number - 1; at >= 1; --at) {
    const std::string line = text_of(at);
    std::smatch match;
    if (!std::regex_match(line, match, place)) continue;
    std::string code = trimmed(match[1]);
    if (code.empty() && at > 1 && text_of(at - 1).starts_with("//"))
      code = trimmed(text_of(at - 1).substr(2));
    return fmt::format("{}: {}", match[2].str(), code);
  }
  return {};
}

}  // namespace tilewright::runtime
