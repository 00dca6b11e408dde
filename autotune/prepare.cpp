// KernelHandle::prepare: compiling for many calls at the same time.
#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

#include "tilewright/autotune/choose_config.h"
#include "tilewright/autotune/dynamic_sizes.h"
#include "tilewright/autotune/kernel_handle.h"

namespace tilewright {
namespace {

// Runs `work(i)` for i below `count` on `threads` threads; rethrows what the first i that failed
// threw, when all are done.
template <class Work>
void in_parallel(size_t count, size_t threads, const Work& work) {
  std::atomic<size_t> next = 0;
  std::vector<std::exception_ptr> failures(count);
  const auto run = [&] {
    for (size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> others;
    for (size_t i = 1; i < std::min(threads, count); ++i) others.emplace_back(run);
    run();
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace

void KernelHandle::prepare(const std::vector<std::vector<CompileArg>>& given,
                           const CompileOptions& options) const {
  for (const std::vector<CompileArg>& call : given)
    for (size_t i = 0; i < call.size(); ++i)
      if (call[i].dynamic_spec() != nullptr) set_dynamic(static_cast<int>(i));
  const std::vector<std::vector<CompileArg>> calls = by_limits(given);
  const Device device = options.target ? Device::cpu() : default_device(false);
  const bool interpreted = !options.target && device.is_cpu();
  const TunePolicy policy = tune::effective_policy(options.tune, device);
  const bool searches = policy == TunePolicy::quick || policy == TunePolicy::full;
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  in_parallel(calls.size(), searches ? 1 : cores, [&](size_t i) {
    if (interpreted) {
      trace(calls[i]);
    } else {
      const CompiledKernel compiled = compile(calls[i], options);
      if (options.target) compiled.binaries();
    }
  });
}

}  // namespace tilewright
