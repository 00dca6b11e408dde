#include "tilewright/autotune/registry.h"

#include <algorithm>
#include <mutex>
#include <string>

#include "tilewright/ir/equal.h"
#include "tilewright/ir/error.h"

namespace tilewright {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<KernelHandle> kernels;  // in the order of registration
};

// Never destroyed: kernels of libraries are forgotten after statics of this one are gone.
Registry& registry() {
  static auto* const instance = new Registry;
  return *instance;
}

std::vector<KernelHandle> kernels_named(std::string_view name) {
  std::lock_guard lock(registry().mutex);
  std::vector<KernelHandle> found;
  for (const KernelHandle& kernel : registry().kernels)
    if (kernel.name() == name) found.push_back(kernel);
  return found;
}

}  // namespace

void register_kernel(const KernelHandle& kernel) {
  std::lock_guard lock(registry().mutex);
  registry().kernels.push_back(kernel);
}

RegisterKernel::RegisterKernel(const KernelHandle& kernel) : kernel_(kernel) {
  register_kernel(kernel);
}

RegisterKernel::~RegisterKernel() {
  std::lock_guard lock(registry().mutex);
  std::vector<KernelHandle>& kernels = registry().kernels;
  const auto own = std::ranges::find(kernels, kernel_);
  if (own != kernels.end()) kernels.erase(own);
}

std::vector<KernelHandle> registered_kernels() {
  std::vector<KernelHandle> kernels;
  {
    std::lock_guard lock(registry().mutex);
    kernels = registry().kernels;
  }
  std::ranges::stable_sort(kernels, {}, &KernelHandle::name);
  return kernels;
}

KernelHandle find_kernel(std::string_view name) {
  const std::vector<KernelHandle> found = kernels_named(name);
  if (!found.empty()) return found.front();
  std::vector<std::string> known;
  for (const KernelHandle& kernel : registered_kernels()) known.push_back(kernel.name());
  raise(ErrorId::unknown_kernel, {}, name, fmt::join(known, ", "));
}

void check_one_definition(std::string_view name, std::span<const CompileArg> args) {
  const std::vector<KernelHandle> found = kernels_named(name);
  for (size_t i = 1; i < found.size(); ++i) {
    const KernelHandle &first = found.front(), &other = found[i];
    if (other == first) continue;
    bool same = first.params().size() == other.params().size();
    if (same) {
      const auto a = first.trace(args);
      try {
        same = !ir::first_difference(*a, *other.trace(args));
      } catch (const Error&) {
        same = false;  // arguments that only one of them takes
      }
    }
    if (!same)
      raise(ErrorId::kernel_redefined, other.loc(), name, first.loc().file, first.loc().line);
  }
}

}  // namespace tilewright
