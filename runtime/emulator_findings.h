// Collects what emulated blocks report, each mistake once.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tilewright/runtime/emulator.h"
#include "tilewright/runtime/emulator_module.h"

namespace tilewright::runtime {

/// Who made an access, and where: `code` is an offset in the module, 0 for none; `line`, when set,
/// is used instead.
struct AccessSite {
  uint32_t code = 0;
  int64_t block = 0;
  int thread = 0;
  std::string what = {};  ///< "write", "read", "asynchronous copy", "waits at"
  int line = 0;
};

/// Thread-safe.
class Findings {
 public:
  /// `what` is the sentence; it is kept for the first of findings of one kind and place.
  void add(FindingKind kind, std::string what, std::vector<AccessSite> sites);
  /// The findings with places and statements of the module's source.
  std::vector<Finding> resolve(const EmulatorModule& module) const;

 private:
  struct Entry {
    std::string what;
    std::vector<AccessSite> sites;
    int64_t count = 0;
  };
  struct Key {
    FindingKind kind;
    std::array<uint32_t, 2> code;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  mutable std::mutex mutex_;
  std::map<Key, Entry> entries_;
};

}  // namespace tilewright::runtime
