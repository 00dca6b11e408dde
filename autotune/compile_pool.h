// Candidates compiled ahead, on all cores.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "tilewright/autotune/store.h"
#include "tilewright/codegen/plan.h"
#include "tilewright/runtime/cubin_cache.h"

namespace tilewright::tune {

/// A config lowered and compiled, or why not.
struct CompiledCandidate {
  Trial::Status status = Trial::Status::ok;  ///< or refused (when lowered), failed_compile
  std::string message = {};
  std::shared_ptr<const codegen::Plan> plan = {};
  std::vector<std::shared_ptr<const runtime::CompiledCuda>> binaries = {};
};

/// Compiles in threads of its own. Configs that give the same source are compiled once.
class CompilePool {
 public:
  using Lower = std::function<codegen::Plan(const Config&)>;
  using Compile = std::function<std::vector<std::shared_ptr<const runtime::CompiledCuda>>(
      const codegen::Plan&)>;

  /// `lower` and `compile` are called by several threads; what they throw becomes the candidate's
  /// message. `threads` is at least one.
  CompilePool(Lower lower, Compile compile, int threads);
  /// Drops what has not begun, and waits for what has.
  ~CompilePool();
  CompilePool(const CompilePool&) = delete;

  /// What will be asked for, in this order. What was wanted before, is not wanted now and has not
  /// begun is dropped.
  void want(std::span<const Config> configs);
  /// The result for a config, which is waited for; wanted first when nobody did.
  std::shared_ptr<const CompiledCandidate> get(const Config& config);
  /// Forgets results except those of these configs and what is wanted.
  void keep(std::span<const Config> configs);

  int64_t compiled() const;  ///< sources given to the compiler so far, the same one once

 private:
  void work();
  CompiledCandidate make(const Config& config);

  Lower lower_;
  Compile compile_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> queue_;  // JSON of configs
  std::map<std::string, Config> running_;
  std::map<std::string, std::shared_ptr<const CompiledCandidate>> done_;
  std::map<std::string, Config> configs_;  // of the queue
  struct Source;                           // being compiled, or compiled
  std::map<std::string, std::shared_ptr<Source>> sources_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tilewright::tune
