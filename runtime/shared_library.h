// A library opened at run time.
#pragma once

#include <string>
#include <utility>

namespace tilewright::runtime {

/// Owns a dlopen handle. Symbols found in it die with it.
class SharedLibrary {
 public:
  SharedLibrary() = default;
  SharedLibrary(SharedLibrary&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  SharedLibrary& operator=(SharedLibrary&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~SharedLibrary();

  /// Opens `name` (a path, or a name on the loader's path); an empty library and the loader's
  /// message in `problem` on failure.
  static SharedLibrary open(const std::string& name, std::string& problem);

  explicit operator bool() const { return handle_ != nullptr; }
  /// The file that was loaded; empty when the loader does not say.
  std::string path() const;
  /// Sets `function` to the symbol's address; false and null when there is none.
  template <class Function>
  bool find(const char* symbol, Function*& function) const {
    function = reinterpret_cast<Function*>(address(symbol));
    return function != nullptr;
  }

 private:
  void* address(const char* symbol) const;
  void* handle_ = nullptr;
};

}  // namespace tilewright::runtime
