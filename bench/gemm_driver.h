// Runs the jobs of the products in child processes, and goes on where one of them ended.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/gemm_protocol.h"
#include "bench/worker.h"

namespace tilewright::bench {

/// What became of a variant.
struct Outcome {
  std::string problem = {};  ///< why it has no time
  std::string config = {};   ///< JSON, defaults filled in
  std::string note = {};     ///< registers and spills
  double error = 0;          ///< over what is allowed
  Timing ours = {}, theirs = {};
  bool tried = false;  ///< it ran, or has a problem
};

/// What became of a job.
struct JobResult {
  std::vector<Outcome> outcomes;  ///< one for each variant
  std::string rival = {};         ///< its name
  std::string rival_problem = {};
};

/// Owns the child that uses the device.
class GemmDriver {
 public:
  /// How long a child may be silent, seconds.
  struct Patience {
    double setup = 90;  ///< before the first variant
    double variant = 10;
    double racing = 60;
  };
  explicit GemmDriver(Command command = {{"--worker"}}) : command_(std::move(command)) {}

  /// Does a job of kind heats or race. A variant that ends the child or hangs costs only itself:
  /// the others are given to another child. `tried` hears of each variant as it comes.
  JobResult run(const Job& job, const std::function<void(size_t, const Outcome&)>& tried = {});
  /// The answer to a job of kind copy: TB/s; 0 when it failed.
  double copy_rate();

  Patience patience = {};

 private:
  struct Pass;
  bool listen(Pass& pass);
  void hear(Pass& pass, const Message& message);
  std::vector<std::vector<size_t>> after_end(Pass& pass);
  void settle(Pass& pass, size_t variant, const std::string& problem);

  Command command_;
  std::optional<Worker> worker_;
};

/// A row's variant to be compiled.
struct Compilation {
  std::string row;
  Variant variant = {};
  std::string problem = {};  ///< afterwards: why it does not compile
  std::string note = {};     ///< registers and spills
  std::string config = {};
  double seconds = 0;
};

/// Compiles all of them by `count` child processes, into the cache on disk; each for at most
/// `seconds`. `done` hears of each result, which it may keep while the others go on.
void compile_all(const std::vector<Compilation>& all, const Target& target, int count,
                 double seconds, const std::function<void(size_t, const Compilation&)>& done);

}  // namespace tilewright::bench
