#include "tilewright/autotune/compile_pool.h"

#include <algorithm>

#include "tilewright/ir/error.h"
#include "tilewright/runtime/hash.h"

namespace tilewright::tune {

struct CompilePool::Source {
  std::mutex mutex;
  bool made = false;
  std::string problem;
  std::vector<std::shared_ptr<const runtime::CompiledCuda>> binaries;
};

CompilePool::CompilePool(Lower lower, Compile compile, int threads)
    : lower_(std::move(lower)), compile_(std::move(compile)) {
  for (int i = 0; i < std::max(threads, 1); ++i) threads_.emplace_back([this] { work(); });
}

CompilePool::~CompilePool() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
    queue_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void CompilePool::want(std::span<const Config> configs) {
  {
    std::lock_guard lock(mutex_);
    queue_.clear();
    configs_.clear();
    for (const Config& config : configs) {
      std::string name = to_json(config);
      if (done_.contains(name) || running_.contains(name) || configs_.contains(name)) continue;
      configs_.emplace(name, config);
      queue_.push_back(std::move(name));
    }
  }
  changed_.notify_all();
}

std::shared_ptr<const CompiledCandidate> CompilePool::get(const Config& config) {
  const std::string name = to_json(config);
  std::unique_lock lock(mutex_);
  if (!done_.contains(name) && !running_.contains(name)) {
    // Before all others: somebody waits for it.
    std::erase(queue_, name);
    configs_.insert_or_assign(name, config);
    queue_.push_front(name);
    changed_.notify_all();
  }
  changed_.wait(lock, [&] { return done_.contains(name); });
  return done_.at(name);
}

void CompilePool::keep(std::span<const Config> configs) {
  std::vector<std::string> names;
  for (const Config& config : configs) names.push_back(to_json(config));
  std::lock_guard lock(mutex_);
  std::erase_if(done_, [&](const auto& entry) {
    return std::ranges::find(names, entry.first) == names.end();
  });
  sources_.clear();
}

int64_t CompilePool::compiled() const {
  std::lock_guard lock(mutex_);
  return static_cast<int64_t>(sources_.size());
}

void CompilePool::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ending_ || !queue_.empty(); });
    if (ending_) return;
    const std::string name = std::move(queue_.front());
    queue_.pop_front();
    const Config config = configs_.at(name);
    configs_.erase(name);
    running_.emplace(name, config);
    lock.unlock();
    auto made = std::make_shared<const CompiledCandidate>(make(config));
    lock.lock();
    running_.erase(name);
    done_[name] = std::move(made);
    changed_.notify_all();
  }
}

CompiledCandidate CompilePool::make(const Config& config) {
  CompiledCandidate candidate;
  candidate.status = Trial::Status::refused;
  try {
    candidate.plan = std::make_shared<const codegen::Plan>(lower_(config));
  } catch (const std::exception& error) {
    candidate.message = error.what();
    return candidate;
  }
  std::string text;
  for (const codegen::Step& step : candidate.plan->steps) text += step.kernel.source;
  std::shared_ptr<Source> source;
  {
    std::lock_guard lock(mutex_);
    std::shared_ptr<Source>& known = sources_[runtime::hash_bytes(text).hex()];
    if (known == nullptr) known = std::make_shared<Source>();
    source = known;
  }
  std::lock_guard lock(source->mutex);  // who comes second waits for the first
  if (!source->made) {
    try {
      source->binaries = compile_(*candidate.plan);
    } catch (const std::exception& error) {
      source->problem = error.what();
    }
    source->made = true;
  }
  candidate.message = source->problem;
  candidate.binaries = source->binaries;
  candidate.status = source->problem.empty() ? Trial::Status::ok : Trial::Status::failed_compile;
  return candidate;
}

}  // namespace tilewright::tune
