// Child processes that do what may crash or hang: each is this program again, which reads jobs and
// writes answers as lines of text.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tilewright/autotune/child_process.h"

namespace tilewright::bench {

/// What a child runs: this program unless it says otherwise.
struct Command {
  std::vector<std::string> arguments;
  std::string program = "/proc/self/exe";
};

/// One child process, killed when this is destroyed. Move-only. Throws std::runtime_error when none
/// can be started.
class Worker {
 public:
  explicit Worker(const Command& command) : child_(command.program, command.arguments) {}

  /// Hands over a job: a line. A child that has ended shows at the next receive().
  void send(const std::string& line) { child_.send(line + "\n"); }
  /// The next line of an answer. Nothing after `seconds` without one, or when the child has ended:
  /// why() tells. The child is then killed.
  std::optional<std::string> receive(double seconds);
  const std::string& why() const { return child_.why(); }
  bool alive() const { return child_.alive(); }
  int answers() const { return child_.file(); }

 private:
  tune::ChildProcess child_;
};

/// What became of a job: a line, or a problem.
struct Answer {
  std::string line, problem;
};

/// Hands jobs to `count` children and calls `done` with the job's position as each is answered. A
/// child that ends, or needs more than `seconds` for a job, costs only that job.
void run_jobs(std::span<const std::string> jobs, int count, double seconds, const Command& command,
              const std::function<void(size_t, const Answer&)>& done);

/// What a child does: answers each line of the standard input until it ends. `answer` gets the job
/// and may write several lines.
void serve(const std::function<void(const std::string& job,
                                    const std::function<void(const std::string&)>& write)>& answer);

}  // namespace tilewright::bench
