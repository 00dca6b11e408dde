#include "tilewright/runtime/nvrtc.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "tilewright/ir/error.h"
#include "tilewright/ir/log.h"
#include "tilewright/runtime/driver.h"
#include "tilewright/runtime/shared_library.h"

#ifndef TILEWRIGHT_NVRTC_DIR
#define TILEWRIGHT_NVRTC_DIR ""
#endif

namespace tilewright::runtime {
namespace {

// The few functions used, declared here so that building does not need nvrtc.h.
struct Functions {
  int (*version)(int* major, int* minor) = nullptr;
  const char* (*error_text)(int code) = nullptr;
  int (*create)(void** program, const char* source, const char* name, int headers,
                const char* const* header_texts, const char* const* header_names) = nullptr;
  int (*destroy)(void** program) = nullptr;
  int (*compile)(void* program, int count, const char* const* options) = nullptr;
  int (*log_size)(void* program, size_t* size) = nullptr;
  int (*log)(void* program, char* text) = nullptr;
  int (*ptx_size)(void* program, size_t* size) = nullptr;
  int (*ptx)(void* program, char* text) = nullptr;
  int (*cubin_size)(void* program, size_t* size) = nullptr;
  int (*cubin)(void* program, char* bytes) = nullptr;
};

bool resolve(const SharedLibrary& library, Functions& call) {
  return library.find("nvrtcVersion", call.version) &&
         library.find("nvrtcGetErrorString", call.error_text) &&
         library.find("nvrtcCreateProgram", call.create) &&
         library.find("nvrtcDestroyProgram", call.destroy) &&
         library.find("nvrtcCompileProgram", call.compile) &&
         library.find("nvrtcGetProgramLogSize", call.log_size) &&
         library.find("nvrtcGetProgramLog", call.log) &&
         library.find("nvrtcGetPTXSize", call.ptx_size) && library.find("nvrtcGetPTX", call.ptx) &&
         library.find("nvrtcGetCUBINSize", call.cubin_size) &&
         library.find("nvrtcGetCUBIN", call.cubin);
}

struct Nvrtc {
  NvrtcStatus status;
  SharedLibrary library;
  SharedLibrary builtins;  // loaded for NVRTC, which would look on the loader's path only
  Functions call;
};

constexpr const char* kNames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

bool is_folder(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

void add_folder(std::vector<std::string>& candidates, const std::string& folder) {
  for (const char* name : kNames) candidates.push_back(folder + "/" + name);
}

// NVRTC opens its other half by name. Where that lies beside it in a folder that the loader does
// not know (a package of PyPI, say), loading it by path first makes the name known.
SharedLibrary open_builtins(const std::string& nvrtc_path, int version) {
  const std::string folder = nvrtc_path.substr(0, nvrtc_path.rfind('/') + 1);
  std::string ignored;  // NVRTC itself says when it finds none
  return SharedLibrary::open(
      fmt::format("{}libnvrtc-builtins.so.{}", folder, version_text(version)), ignored);
}

bool open_candidate(Nvrtc& nvrtc, const std::string& candidate, std::string& tried) {
  std::string problem;
  nvrtc.library = SharedLibrary::open(candidate, problem);
  if (nvrtc.library && !resolve(nvrtc.library, nvrtc.call)) {
    problem = candidate + " lacks functions of NVRTC 11.1 and newer";
    nvrtc.library = {};
  }
  if (!nvrtc.library) {
    tried += (tried.empty() ? "" : "; ") + problem;
    return false;
  }
  int major = 0, minor = 0;
  nvrtc.call.version(&major, &minor);
  nvrtc.status.version = major * 1000 + minor * 10;
  nvrtc.status.path = nvrtc.library.path();
  nvrtc.builtins = open_builtins(nvrtc.status.path, nvrtc.status.version);
  log(LogLevel::info, "NVRTC {} from {}", version_text(nvrtc.status.version), nvrtc.status.path);
  return true;
}

// Never destroyed: NVRTC's threads may outlive statics.
Nvrtc& nvrtc() {
  static Nvrtc* const instance = [] {
    auto* fresh = new Nvrtc;
    std::string tried;
    for (const std::string& candidate : nvrtc_candidates())
      if (open_candidate(*fresh, candidate, tried)) return fresh;
    fresh->status.problem = tried;
    return fresh;
  }();
  return *instance;
}

// A program that dies with its scope.
class Program {
 public:
  Program(const Functions& call, const std::string& source, const std::string& file) : call_(call) {
    const int code = call.create(&program_, source.c_str(), file.c_str(), 0, nullptr, nullptr);
    internal_check(code == 0, "NVRTC refused to create a program");
  }
  ~Program() { call_.destroy(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  int compile(const std::vector<std::string>& options) {
    std::vector<const char*> pointers;
    for (const std::string& option : options) pointers.push_back(option.c_str());
    return call_.compile(program_, static_cast<int>(pointers.size()), pointers.data());
  }
  std::string text(int (*size)(void*, size_t*), int (*read)(void*, char*)) const {
    size_t length = 0;
    if (size(program_, &length) != 0 || length == 0) return {};
    std::string result(length, '\0');
    if (read(program_, result.data()) != 0) return {};
    return result;
  }

 private:
  const Functions& call_;
  void* program_ = nullptr;
};

// NVRTC's texts end with one or more zero bytes.
std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.pop_back();
  return text;
}

// The number that stands before `words`, or 0.
int number_before(std::string_view line, std::string_view words) {
  const size_t at = line.find(words);
  if (at == std::string_view::npos || at == 0) return 0;
  size_t begin = at;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int value = 0;
  std::from_chars(line.data() + begin, line.data() + at, value);
  return value;
}

template <class Visit>
void for_each_line(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

bool mentions(const std::string& text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

}  // namespace

std::vector<std::string> nvrtc_candidates() {
  std::vector<std::string> candidates;
  const char* chosen = std::getenv("TILEWRIGHT_NVRTC_PATH");
  if (chosen != nullptr && *chosen != '\0') {
    if (is_folder(chosen))
      add_folder(candidates, chosen);
    else
      candidates.push_back(chosen);
    return candidates;
  }
  for (const char* name : kNames) candidates.push_back(name);
  for (const char* variable : {"CUDA_PATH", "CUDA_HOME"})
    if (const char* root = std::getenv(variable))
      add_folder(candidates, std::string(root) + "/lib64");
  add_folder(candidates, "/usr/local/cuda/lib64");
  if (std::string_view(TILEWRIGHT_NVRTC_DIR) != "") add_folder(candidates, TILEWRIGHT_NVRTC_DIR);
  return candidates;
}

const NvrtcStatus& nvrtc_status() { return nvrtc().status; }

std::vector<std::string> nvrtc_options(const Target& target, const CudaOptions& options,
                                       int version) {
  std::vector<std::string> result = {"--gpu-architecture=" + target.name(), "-std=c++17",
                                     "-fmad=false", "--ptxas-options=-v"};
  if (options.lineinfo) result.push_back("-lineinfo");
  constexpr int has_own_disk_cache = 13000;
  if (version >= has_own_disk_cache) result.push_back("--no-cache");
  return result;
}

CompiledCuda compile_cuda(const std::string& source, const std::string& name, const Target& target,
                          const CudaOptions& options) {
  const Nvrtc& library = nvrtc();
  if (!library.library) raise(ErrorId::missing_nvrtc, {}, library.status.problem);
  const std::string file = options.file.empty() ? name + ".cu" : options.file;
  Program program(library.call, source, file);
  const int code = program.compile(nvrtc_options(target, options, library.status.version));
  std::string text = trimmed(program.text(library.call.log_size, library.call.log));
  if (code != 0)
    raise_compile_failure({code, library.call.error_text(code), std::move(text), name, target,
                           library.status.version, library.status.path});
  CompiledCuda result;
  result.cubin = program.text(library.call.cubin_size, library.call.cubin);
  result.ptx = trimmed(program.text(library.call.ptx_size, library.call.ptx));
  result.resources = parse_resources(text);
  result.log = std::move(text);
  result.compiler = library.status.version;
  internal_check(!result.cubin.empty(), "NVRTC gave no machine code");
  for (const std::string& note : result.notes())
    log(mentions(note, "Performance Loss") ? LogLevel::warning : LogLevel::info, "kernel {}: {}",
        name, note);
  return result;
}

std::vector<std::string> CompiledCuda::notes() const {
  std::vector<std::string> found;
  for_each_line(log, [&](std::string_view line) {
    // "ptxas info    : (C7511) Potential Performance Loss: .." and "ptxas warning : .."; figures
    // have no number in brackets.
    if (!line.starts_with("ptxas")) return;
    const size_t text = line.find(": ");
    if (text == line.npos) return;
    const bool warning = line.substr(0, text).find("warning") != line.npos;
    if (warning || line.substr(text + 2).starts_with("(C"))
      found.emplace_back(line.substr(text + 2));
  });
  return found;
}

Resources parse_resources(std::string_view log) {
  Resources most;
  for_each_line(log, [&](std::string_view line) {
    most.registers = std::max(most.registers, number_before(line, " registers"));
    most.spill_bytes = std::max(most.spill_bytes, number_before(line, " bytes spill stores"));
    most.shared_bytes = std::max(most.shared_bytes, number_before(line, " bytes smem"));
    most.local_bytes = std::max(most.local_bytes, number_before(line, " bytes stack frame"));
  });
  return most;
}

void raise_compile_failure(const CompileFailure& failure) {
  const std::string version = version_text(failure.version);
  constexpr int builtin_operation_failure = 7, invalid_option = 5;
  if (failure.code == builtin_operation_failure || mentions(failure.log, "nvrtc-builtins"))
    throw_error(ErrorId::missing_nvrtc_builtins, {},
                fmt::format(fmt::runtime(message_of(ErrorId::missing_nvrtc_builtins)), version,
                            failure.path, version),
                failure.log);
  if (failure.code == invalid_option && mentions(failure.log, "gpu-architecture"))
    raise(ErrorId::nvrtc_target, {}, version, failure.path, failure.target.name());
  throw_error(ErrorId::nvrtc_compile, {},
              fmt::format(fmt::runtime(message_of(ErrorId::nvrtc_compile)), version, failure.name,
                          failure.target.name(), failure.text),
              failure.log);
}

}  // namespace tilewright::runtime
