// Configs tried on a real device: compiled here, run by a worker process.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tilewright/autotune/child_process.h"
#include "tilewright/autotune/compile_pool.h"
#include "tilewright/autotune/evaluate.h"
#include "tilewright/autotune/tune.h"
#include "tilewright/autotune/worker_protocol.h"

namespace tilewright::tune {

/// The program that runs candidates: TILEWRIGHT_WORKER; else beside the library (in a build folder)
/// or in the libexec folder it was installed with. Raises worker_missing.
std::string worker_program();

/// How long a worker may be silent, seconds, before it is taken to hang.
struct Patience {
  double setup = 120;     ///< which starts the device's driver and copies the data
  double candidate = 10;  ///< for a run, comparing included
};

struct WorkerOptions {
  int compile_threads = 0;  ///< 0: as the machine has
  Patience patience = {};
  double replay_us = 2000;  ///< of a timed replay, at least
  bool interpret = true;  ///< take the interpreter's result as the verified one, where it is small
  // For tests: in place of the compilers.
  CompilePool::Lower lower = {};
  CompilePool::Compile compile = {};
};

/// Borrows the function. A worker that ends or hangs costs the candidate it was running; another is
/// started for the rest.
class WorkerEvaluator : public Evaluator {
 public:
  /// Raises worker_missing, errors of the device, overlapping_store from the interpreter, which
  /// gives the verified result where the problem is small enough. The worker is started by the
  /// first attempt(), while its candidates are compiled.
  WorkerEvaluator(const TuneRequest& request, const WorkerOptions& options = {});
  ~WorkerEvaluator() override;

  std::string device() const override { return device_name_; }
  double seconds() const override;
  void prefetch(std::span<const Config> configs) override { pool_->want(configs); }
  std::vector<Attempt> attempt(std::span<const Config> configs) override;
  std::vector<std::vector<double>> race(std::span<const Config> configs, int rounds) override;
  Attempt why(const Config& config) const override;
  std::vector<Attempt> recheck(std::span<const Config> configs) override;
  void keep(std::span<const Config> configs) override;

  int restarts() const { return restarts_; }  ///< workers that were started after the first
  int worker_pid() const { return worker_ ? worker_->pid() : -1; }
  /// Whether the result of the interpreter is what candidates are compared with.
  bool interpreted() const { return interpreted_; }

 private:
  struct Known {
    int id = 0;
    bool loaded = false;     // in the worker that runs now
    bool disproved = false;  // by candidates that agreed on another result
  };

  double default_patience() const;
  void describe_params(const TuneRequest& request);
  void write_data(const TuneRequest& request);
  void interpret_reference();
  int64_t append_data(const void* bytes, int64_t count);
  void start();
  void ensure_worker();
  std::optional<WorkerAnswer> ask(const WorkerJob& job, double seconds);
  WorkerJob attempt_job(const Known& known, const CompiledCandidate& candidate) const;
  Attempt attempt_one(const Config& config);
  bool load_again(const Config& config);
  Attempt recheck_one(const Config& config);
  std::vector<std::vector<double>> race_ids(std::span<const Config> configs, int rounds);
  Attempt ended() const;
  Known& known(const Config& config);

  const ir::Function& fn_;
  Target target_;
  Device device_;
  std::string device_name_;
  WorkerOptions options_;
  std::stop_token stop_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::string program_;
  int data_file_ = -1;
  int64_t data_bytes_ = 0;
  std::vector<WorkerParam> params_;
  bool interpreted_ = false;
  std::unique_ptr<runtime::CubinCache> cache_;
  std::unique_ptr<CompilePool> pool_;
  std::optional<ChildProcess> worker_;
  std::string last_end_;  // why the worker ended
  bool last_timed_out_ = false;
  std::map<std::string, Known> known_;
  std::optional<Config> reference_;  // whose result is verified
  int restarts_ = -1;
};

}  // namespace tilewright::tune
