#include "tilewright/ir/host_function.h"

#include <fmt/format.h>

#include <map>
#include <mutex>

#include "tilewright/ir/hash.h"

namespace tilewright::ir {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, HostFunction, std::less<>> functions;
};

Registry& registry() {
  static Registry made;
  return made;
}

}  // namespace

std::string register_host_function(std::string_view identity, HostFunction function) {
  Registry& known = registry();
  const std::string base = "host_" + hex8(hash_text(identity));
  std::lock_guard lock(known.mutex);
  std::string name = base;
  // Two functions of one identity: lambdas at the same place of two source files.
  for (int suffix = 2;; ++suffix) {
    const auto [at, fresh] = known.functions.try_emplace(name, function);
    if (fresh || at->second == function) return name;
    name = fmt::format("{}_{}", base, suffix);
  }
}

HostFunction find_host_function(std::string_view name) {
  Registry& known = registry();
  std::lock_guard lock(known.mutex);
  const auto found = known.functions.find(name);
  return found == known.functions.end() ? nullptr : found->second;
}

}  // namespace tilewright::ir
