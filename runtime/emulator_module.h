// Printed kernels compiled by the system's C++ compiler and loaded.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "tilewright/codegen/plan.h"
#include "tilewright/runtime/emulator_prelude.h"
#include "tilewright/runtime/shared_library.h"

namespace tilewright::runtime {

/// A kernel as a shared object of this process. Immutable once made.
class EmulatorModule {
 public:
  using Entry = void(void** params);

  /// The kernel of `step`, compiled with `flags` behind our own ones, from memory or the cache
  /// folder where it was made before. Raises emulator_compiler or emulator_compile.
  static std::shared_ptr<const EmulatorModule> get(const codegen::KernelStep& step,
                                                   const std::vector<std::string>& flags);

  Entry* entry() const { return entry_; }
  /// Whether the address belongs to the object's own code and constants.
  bool contains(uintptr_t address) const { return address - begin_ < end_ - begin_; }
  uintptr_t begin() const { return begin_; }
  /// Whether its accesses are checked; a sanitizer among the flags takes that place.
  bool checked() const { return checked_; }

  /// For code that continues at these offsets from begin(): the line of the printed source that
  /// it comes from, innermost call first; 0 where that is not known.
  std::vector<int> lines_of(std::span<const uint32_t> offsets) const;
  /// Line `number` of the printed source, from 1, without the spaces around it.
  std::string text_of(int number) const;
  /// The user's line that the printed source names above line `number`: "file.h:12: code".
  std::string user_line_of(int number) const;

 private:
  EmulatorModule() = default;
  void load(const std::string& object, const std::string& kernel);

  SharedLibrary library_;
  Entry* entry_ = nullptr;
  uintptr_t begin_ = 0, end_ = 0;
  bool checked_ = true;
  std::string object_, file_;       // paths: the shared object, the printed source
  std::vector<std::string> lines_;  // of the printed source
  mutable std::mutex mutex_;
  mutable std::map<uint32_t, int> known_lines_;
};

/// The command that compiles C++ here: $CXX, c++, g++ or clang++, the first that there is. Raises
/// emulator_compiler.
std::string host_compiler();

/// Extra flags from $TILEWRIGHT_EMULATOR_FLAGS, separated by commas or spaces.
std::vector<std::string> emulator_flags();

}  // namespace tilewright::runtime
