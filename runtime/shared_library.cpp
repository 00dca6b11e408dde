#include "tilewright/runtime/shared_library.h"

#include <dlfcn.h>
#include <link.h>

namespace tilewright::runtime {

SharedLibrary::~SharedLibrary() {
  if (handle_ != nullptr) dlclose(handle_);
}

SharedLibrary SharedLibrary::open(const std::string& name, std::string& problem) {
  SharedLibrary library;
  library.handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library.handle_ == nullptr) {
    const char* message = dlerror();
    problem = message != nullptr ? message : name + " cannot be loaded";
  }
  return library;
}

std::string SharedLibrary::path() const {
  link_map* map = nullptr;
  if (handle_ == nullptr || dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr)
    return {};
  return map->l_name;
}

void* SharedLibrary::address(const char* symbol) const { return dlsym(handle_, symbol); }

}  // namespace tilewright::runtime
