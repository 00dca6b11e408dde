// Where the worker program is.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "tilewright/autotune/worker_evaluator.h"
#include "tilewright/ir/error.h"

#ifndef TILEWRIGHT_WORKER_FOLDER
#define TILEWRIGHT_WORKER_FOLDER "../libexec/tilewright"
#endif

namespace tilewright::tune {
namespace {

constexpr const char* kName = "tilewright-worker";

bool is_program(const std::filesystem::path& path) {
  return ::access(path.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(path);
}

// The folder that this library was loaded from.
std::filesystem::path library_folder() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&worker_program), &info) == 0 ||
      info.dli_fname == nullptr)
    return {};
  std::error_code problem;
  const std::filesystem::path file = std::filesystem::canonical(info.dli_fname, problem);
  return problem ? std::filesystem::path(info.dli_fname).parent_path() : file.parent_path();
}

}  // namespace

std::string worker_program() {
  if (const char* own = std::getenv("TILEWRIGHT_WORKER"); own != nullptr && *own != '\0') {
    if (is_program(own)) return own;
    raise(ErrorId::worker_missing, {},
          fmt::format("TILEWRIGHT_WORKER is {}, which is no program", own));
  }
  const std::filesystem::path folder = library_folder();
  const std::filesystem::path places[] = {folder / kName,
                                          folder / TILEWRIGHT_WORKER_FOLDER / kName};
  for (const std::filesystem::path& place : places)
    if (is_program(place)) return place.lexically_normal().string();
  raise(ErrorId::worker_missing, {},
        fmt::format("neither {} nor {} is there", places[0].string(),
                    places[1].lexically_normal().string()));
}

}  // namespace tilewright::tune
